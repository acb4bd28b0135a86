"""A job type takes 3 places, a route 2, an on-call command 4: added to a copy of the tree as CONTRIBUTING says."""

import json
import subprocess
import textwrap
from pathlib import Path

import pytest
from psycopg import Connection

from skincare.app import App
from tests.support.copied_tree import copied_tree, replace_once, run
from tests.support.factories import make_product
from tests.support.guide import blocks
from tests.support.oncall import audit
from tests.support.payments import take_in

SHARED = "layers/shared/python/skincare"
# The service is the shop's own business, whatever enqueues the job.
SERVICE = '''"""Thanks to customers."""

from skincare.database.connection import Database
from skincare.identifiers import OrderNumber
from skincare.notifications.ports import EmailSender


def send_thank_you(number: OrderNumber, *, database: Database, email: EmailSender) -> None:
    """Thank the customer of an order."""
    del database, email
    print(f"thanked for {number}")
'''
TEST = '''"""Thanks."""

from worker.handlers import send_thank_you_email


def test_customers_are_thanked() -> None:
    assert send_thank_you_email.handle
'''

ENQUEUED_AND_RUN = """
import sys
from dataclasses import replace
from datetime import timedelta
from skincare.bootstrap import build_app
from skincare.config import Settings
from skincare.deployment.queues import QueueName
from skincare.identifiers import new_job_id
from skincare.jobs.catalog import SendThankYouEmail
from skincare.jobs.ports import QueuePair, ReceivedMessage
from skincare.jobs.publisher import Publisher
from skincare.jobs.repository import outbox
from worker.wiring import make_worker

class Sent(list):
    def enqueue(self, messages):
        self.extend(messages)
        return []

queues = {name: QueuePair(Sent(), Sent()) for name in QueueName}
app = build_app(Settings.from_env({"DATABASE_URL": sys.argv[1], "MAIL_FROM": "shop@example.com"}))
app = replace(app, queues=queues, publisher=Publisher(app.database, queues))
with app.database.connection() as conn, conn.transaction():
    job = outbox.insert(conn, new_job_id(), SendThankYouEmail(order_number="SKN-4T9QX-0M7KD"))
app.publisher.publish_now([job])
sent = [
    ReceivedMessage(str(number), str(number), message.body, attributes=message.attributes)
    for number, message in enumerate(queues[QueueName.NOTIFICATIONS].source)
]
print(len(sent), make_worker(app, QueueName.NOTIFICATIONS).answer(sent, time_left=lambda: timedelta(minutes=1)))
"""

ASKED_FOR = """
import json, sys
from aws_lambda_powertools.utilities.typing import LambdaContext
from pathlib import Path
from werkzeug.test import Client
from datetime import timedelta
from api.app import handle
from emulator.gateway.gateway import Gateway
from emulator.gateway.tokens import new_signing_key
from emulator.log.logbook import LogBook
from local.http_api import http_api
from local.tokens import token_issuer
from infra.routes import api_routes
from skincare.bootstrap import build_app
from skincare.config import Settings

app = build_app(Settings.from_env({"DATABASE_URL": sys.argv[1], "MAIL_FROM": "shop@example.com"}))

class Api:
    def invoke(self, payload, *, timeout, trace_id=None):
        return json.dumps(handle(json.loads(payload), LambdaContext(), lambda: app)).encode()

tokens = token_issuer(new_signing_key())
log = LogBook(Path(sys.argv[2]), None)
gateway = Gateway(Api(), api=http_api(), tokens=tokens, missing=list, mails=list, log=log)
gateway.open.set()
client = Client(gateway)

def ask(method, path, headers, **words):
    return client.open(path, method=method, headers=headers, base_url="http://127.0.0.1:8000", **words)

signed_in = {"Authorization": f"Bearer {tokens.issue('ani@example.com', expires_in=timedelta(hours=1))}"}
ask("PUT", "/v1/cart/items/SERUM", signed_in, json={"quantity": 2})
known = ask("GET", "/v1/cart/size", signed_in)
stranger = ask("GET", "/v1/cart/size", {})
log.close()
print(json.dumps({
    "known": [known.status_code, known.json],
    "stranger": stranger.status_code,
    "deployed": [route.public for route in api_routes() if route.path == "/v1/cart/size"],
}))
"""

TYPED = """
import json, sys
from typer.testing import CliRunner
from cli.main import app as cli
from cli.oncall import OnCall
from skincare.bootstrap import build_app
from skincare.config import Settings
from tests.support.oncall import InProcess

app = build_app(Settings.from_env({"DATABASE_URL": sys.argv[1], "MAIL_FROM": "shop@example.com"}))
OnCall._functions = InProcess(app)

def typed(*words):
    done = CliRunner().invoke(cli, ["payments", *words, "--stage", "tests"], catch_exceptions=False)
    return [done.exit_code, done.stdout]

event, *why = sys.argv[2], "--reason", "a slip"
print(json.dumps([
    typed("review", event, *why),
    typed("unreview", event, *why),
    typed("unreview", event, *why, "--json"),
]))
"""

MODULE = "import runpy, sys; runpy.run_module(sys.argv[1], run_name='__main__')"
ABOUT_ADDITIONS = (
    "test_commands.py",
    "test_documents.py::TestTheHttpDocument",
    "test_imports.py",
    "test_job_types.py",
    "test_sources.py",
)


def append_before(file: Path, mark: str, block: str) -> None:
    replace_once(file, mark, f"{block}\n\n{mark}")


def append(file: Path, block: str) -> None:
    file.write_text(f"{file.read_text()}\n\n{block}")


def add_job_type(copy: Path) -> None:
    payload, handler, line = blocks("A job type")
    append_before(copy / SHARED / "jobs/catalog.py", "PAYLOADS: ", payload)
    (copy / "functions/worker/handlers/send_thank_you_email.py").write_text(handler)
    imports, _, line = line.partition("\n\n")
    registry = copy / "functions/worker/registry.py"
    replace_once(registry, "\n\nREGISTRY: ", f"\n{imports}\n\nREGISTRY: ")
    registry.write_text(registry.read_text() + line)


def add_route(copy: Path) -> None:
    model, handler, line = blocks("A route")
    append_before(copy / "functions/api/schemas.py", "class OrderRequest(", model)
    routes = copy / "functions/api/routes/cart.py"
    replace_once(routes, "import CartAnswer, CartItemChange", "import CartAnswer, CartItemChange, CartSizeAnswer")
    append_before(routes, "ROUTES = (\n", handler)
    replace_once(routes, "ROUTES = (\n", f"ROUTES = (\n    {line.rstrip()},\n")
    (copy / "docs/openapi.json").write_text(run(copy, MODULE, "api.openapi"))
    run(copy, MODULE, "infra.routes_page")


def add_command(copy: Path) -> None:
    query, change, request, command = blocks("An on-call command")
    append(copy / SHARED / "operations/repository/backlog.py", query)
    append(copy / SHARED / "operations/payment_changes.py", textwrap.indent(change, "    "))
    append(copy / "functions/oncall/payment_requests.py", request)
    append(copy / "cli/payments.py", command)
    page = copy / "docs/operations.md"
    row = '| `skincare payments unreview EVENT --reason "…"` | it was not looked at after all |\n'
    replace_once(page, "| `skincare payments resolve ", f"{row}| `skincare payments resolve ")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the product with one more job type, one more route and one more on-call command."""
    copy = copied_tree(tmp_path_factory.mktemp("tree-"), whole=True)
    add_job_type(copy)
    add_route(copy)
    add_command(copy)
    (copy / SHARED / "orders/thanks.py").write_text(SERVICE)
    (copy / "tests/unit/test_thanks.py").write_text(TEST)
    return copy


def test_a_job_of_a_new_type_is_enqueued_and_run(tree: Path, database_url: str, conn: Connection) -> None:
    said = run(tree, ENQUEUED_AND_RUN, database_url).splitlines()
    assert "thanked for SKN-4T9QX-0M7KD" in said
    assert said[-1] == "1 []"
    assert conn.execute("SELECT job_type, state FROM jobs").fetchall() == [("send_thank_you_email", "completed")]


def test_a_new_route_is_answered_through_the_gateway_to_who_has_a_token(
    tree: Path, database_url: str, conn: Connection, tmp_path: Path
) -> None:
    make_product(conn, sku="SERUM", stock=5)
    *_, last = run(tree, ASKED_FOR, database_url, str(tmp_path)).splitlines()
    assert json.loads(last) == {"known": [200, {"units": 2}], "stranger": 401, "deployed": [False]}


def test_a_new_route_is_in_the_documents(tree: Path) -> None:
    document = json.loads((tree / "docs/openapi.json").read_text())
    assert document["paths"]["/v1/cart/size"]["get"]["summary"] == "Count the units in the caller's cart"
    assert (
        "| `GET /v1/cart/size` | yes | 200 | Count the units in the caller's cart |"
        in (tree / "docs/http.md").read_text()
    )


def test_a_new_oncall_command_is_typed_run_and_audited(
    tree: Path, app: App, database_url: str, conn: Connection
) -> None:
    take_in(app, order_number="\x00")
    (event,) = conn.execute("SELECT id::text FROM payment_events").fetchone() or ()
    *_, last = run(tree, TYPED, database_url, event).splitlines()
    reviewed, undone, again = json.loads(last)
    assert (reviewed, undone) == ([0, "Reviewed.\n"], [0, "It waits for a person again.\n"])
    assert (again[0], json.loads(again[1])) == (1, {"unreviewed": 0, "not_reviewed": 1})
    assert conn.execute("SELECT reviewed_at FROM payment_events").fetchall() == [(None,)]
    changes = [operation for operation, *_ in audit(conn)]
    assert changes == ["review_event", "unreview_event"]


def test_the_rules_of_the_tree_ask_for_no_other_place(tree: Path) -> None:
    subprocess.run(["git", "init", "--quiet", "."], cwd=tree, check=True)
    files = [f"tests/architecture/{name}" for name in ABOUT_ADDITIONS]
    words = ["-q", "-x", "-n", "0", "-p", "no:cacheprovider", *files]
    run(tree, "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))", *words)
