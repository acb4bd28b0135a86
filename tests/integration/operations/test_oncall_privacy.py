"""What customers, gateways and strangers said reaches the on-call engineer only where it is meant to."""

import json
import os
import subprocess
import sys

import psycopg
import pytest

from tests.support.factories import make_order
from tests.support.log import LOUD

CANARY = "canary7f3a"

# A job dies in the words of somebody else, a stranger's message lies on the dead-letter queue, a payment event does
# not fit; then everything is asked that can be asked, and done that can be done.
RUN = """
import json, logging, sys
from dataclasses import replace
from datetime import timedelta
from unittest.mock import patch
logging.basicConfig(level=logging.DEBUG)
import psycopg
from typer.testing import CliRunner
from cli.main import app as cli
from cli.oncall import OnCall
from tests.fakes.queue import MemoryQueue
from skincare.jobs.catalog import BUDGETS
from skincare.jobs.ports import OutgoingMessage, QueuePair
from skincare.jobs.publisher import Publisher
from skincare.deployment.queues import QueueName
from skincare.jobs.relay import run_relay
from skincare.jobs.worker import Worker
from tests.support import ledger
from tests.support.http import open_app
from tests.support.oncall import InProcess, invoke
from tests.support.payments import tell
from worker.registry import REGISTRY

C, number = "canary7f3a", sys.argv[2]
plenty = lambda: timedelta(seconds=40)

class ProviderError(Exception):
    pass

with open_app(sys.argv[1], max_connections=4) as app, psycopg.connect(sys.argv[1], autocommit=True) as conn:
    tell(app, number, "paid", amount_rupiah=1, customer={"email": C, "name": C, "card": C})
    pair = QueuePair(MemoryQueue(visibility=timedelta(0)), MemoryQueue())
    queues = dict.fromkeys(QueueName, pair)
    app = replace(app, queues=queues, publisher=Publisher(app.database, queues))
    def relay():
        run_relay(database=app.database, queues=queues, publisher=app.publisher, budgets=BUDGETS, time_left=plenty)
    worker = Worker(app, registry=REGISTRY, database=app.database, queue=pair, publish=app.publisher.publish_now,
                    limits=QueueName.NOTIFICATIONS.limits,
        release="1.2.3")
    conn.execute("UPDATE payment_anomalies SET created_at = created_at")
    conn.execute("SELECT cancel_timer('expire_order:' || %s)", [number])
    ledger.let_pass(conn, timedelta(hours=25))
    relay()
    app.email.fail_next(ProviderError(f"550 no mailbox {C}@example.com"))
    worker.run(pair.source.receive(limit=10, wait=timedelta(0)), time_left=plenty)
    relay()
    letters = [[letter.body, dict(letter.message.attributes)] for letter in pair.dead_letters.all()]
    pair.dead_letters.enqueue([OutgoingMessage(json.dumps({"card": C, "token": C}), {"origin": C})])
    relay()

    address = f"{C}.address@example.com"
    conn.execute("INSERT INTO suppressed_recipients (email, reason) VALUES (%s, 'permanent bounce')", [address])
    conn.execute("INSERT INTO order_notifications (order_id, notification_type, status)"
        " SELECT id, 'payment_received', 'undeliverable' FROM orders")

    (job,) = conn.execute("SELECT id::text FROM jobs WHERE state = 'dead_letter'").fetchone()
    functions = InProcess(app)
    said = []
    with patch.object(OnCall, "_functions", functions):
        for command in (
            ["dlq", "list"], ["dlq", "show", job], ["jobs", "show", job], ["jobs", "list"], ["order", number],
            ["outbox"], ["payments", "list"], ["dlq", "redrive", "--all", "--dry-run"],
            ["dlq", "close", "1", "--reason", "a stranger"], ["payments", "resolve", "1", "--reason", "given back"],
            ["mail", "suppressed"], ["mail", "suppressed", "--email", address],
            ["mail", "resend", number, "--reason", "x"],
            ["mail", "lift", address, "--reason", "asked for"], ["mail", "resend", number, "--reason", "asked for"],
            ["jobs", "watch", job], ["dlq", "redrive", "--all"], ["jobs", "retry-now", job],
            ["jobs", "cancel", job, "--reason", "enough"],
        ):
            for extra in ([], ["--json"]):
                result = CliRunner().invoke(cli, [*command, *extra])
                assert result.exception is None or isinstance(result.exception, SystemExit), (command, result.exception)
                assert result.exit_code in {0, 1}, (command, result.output)
                said.append(result.output)
        meant = CliRunner().invoke(cli, ["dlq", "quarantined", "1"]).output
    assert meant.count(C) == 3, meant
    malformed = {"operation": "show_order", "order_number": C}, {"operation": "redrive", "reason": C}
    for event in ({"operation": C}, *malformed):
        said.append(json.dumps(invoke(app, event)))
    (audited,) = conn.execute("SELECT jsonb_agg(to_jsonb(a)) FROM operations_audit a").fetchone()
    print(json.dumps({"letters": letters, "said": said, "audited": audited}))
"""


@pytest.fixture
def order(database_url: str) -> str:
    """The number of an order whose every personal field is a canary."""
    with psycopg.connect(database_url, autocommit=True) as conn:
        placement = make_order(
            conn,
            user_id=f"user-{CANARY}",
            email=f"{CANARY}.address@example.com",
            recipient_name=f"{CANARY} name",
            shipping_address=f"{CANARY} street 1",
            note=f"{CANARY} note",
        )
        return placement.order.order_number


@pytest.mark.parametrize("loud", [False, True])
def test_a_full_run_tells_nobody_what_others_said(database_url: str, order: str, loud: bool) -> None:
    process = subprocess.run(
        [sys.executable, "-c", RUN, database_url, order],
        env={**os.environ, **(LOUD if loud else {})},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert process.returncode == 0, process.stderr[-3000:]
    assert CANARY not in process.stdout
    assert CANARY not in process.stderr

    # All of that was said, and not by nobody.
    lines = [json.loads(line) for line in process.stdout.splitlines() if line.startswith("{")]
    found = lines[-1]
    events = {line["message"] for line in lines[:-1]}
    assert {"job.dead_letter", "message.quarantined", "operations.done", "oncall.request_malformed"} <= events
    ((body, attributes),) = found["letters"]
    assert json.loads(body)["payload"] == {"order_number": order}
    assert (attributes["error_class"], attributes["release"]) == ("ProviderError", "1.2.3")
    reported = "".join(found["said"])
    for part in ("ProviderError", order, "wrong_amount", "1 of 1 redriven"):
        assert part in reported
    operations = {entry["operation"] for entry in found["audited"]}
    assert operations == {
        *("close_quarantined", "resolve_anomaly", "redrive", "retry_now", "cancel"),
        *("lift_suppressions", "resend_mails"),
    }
