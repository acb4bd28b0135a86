"""What is added to a copy of the tree, each in as few places as it takes, and one synthesis of all of it."""

from pathlib import Path

from tests.support.copied_tree import replace_once

SHARED = "layers/shared/python/skincare"

MEMBER = """    STOCK = (
        "stock",
        QueueLimits(
            batch_size=10,
            batch_window=timedelta(0),
            threads=2,
            handler_limit=timedelta(seconds=10),
            function_timeout=timedelta(seconds=90),
            maximum_concurrency=2,
            database_connections=1,
            impact="Customers see stock that is not there.",
        ),
    )

"""

FOLDER = {
    "__init__.py": '"""Tukar, which does not exist."""\n',
    "settings.py": """
from skincare.payments.gateways.settings import GatewaySettings

SETTINGS = GatewaySettings(name="tukar", title="Tukar", asked_with="tukar_api", urls=("tukar",))
""",
    "webhook.py": """
from skincare.payments import json_fields
from skincare.payments.errors import SignatureInvalid
from skincare.payments.gateways.standard_webhooks.webhook import report_of
from skincare.payments.gateways.tukar.settings import SETTINGS
from skincare.payments.models import GatewayEvent


class Tukar:
    name = SETTINGS.name
    status_is_signed = True

    def read(self, webhook, secrets, now):
        if webhook.headers.get("x-token") not in secrets:
            raise SignatureInvalid("x-token is not ours")
        content = json_fields.parse(webhook.body)
        return GatewayEvent(content["event_id"], {}, report_of(content))


READER = Tukar()
""",
    "client.py": """
from skincare.payments.gateways.http import GatewayHttp
from skincare.payments.gateways.tukar.settings import SETTINGS


class TukarClient:
    name = SETTINGS.name

    def __init__(self, url, secrets):
        self.api = GatewayHttp(self.name, url, secrets=secrets, secret_name=SETTINGS.asked_with)


def connect(urls, secrets):
    return TukarClient(urls[SETTINGS.name], secrets)
""",
    "sample.py": """
from skincare.payments.gateways.samples import Sample, SignedRequest, compact_json
from skincare.payments.gateways.tukar.settings import SETTINGS


def _request(what, word, secret, sent_at):
    body = compact_json(
        event_id=what.event_id,
        order_number=what.order_number,
        status=word,
        amount_rupiah=what.amount_rupiah,
        currency="IDR",
        occurred_at=what.occurred_at.isoformat(),
        transaction_id=what.transaction_id,
    )
    return SignedRequest(SETTINGS.webhook_path, body, {"x-token": secret})


SAMPLE = Sample(_request)
""",
}

STAND_IN = """
from local.payment_gateway.answer import Answer


class StandIn:
    gives_back = True

    def __init__(self, store, *, page_url):
        self.page_url = page_url

    def answer(self, method, path, read, query=""):
        return Answer(201, {"url": self.page_url, "asked": [method, path, query]})
"""


SYNTHESIZE = """
import json, sys
from dataclasses import replace
from pathlib import Path
from infra.node import use_our_node
from infra.stage import STAGES
use_our_node()
from infra.app import make_app
settings = {**STAGES["dev"].settings, **json.loads(sys.argv[2])}
stage = replace(STAGES["dev"], gateway_urls={"tukar": "https://api.tukar.example.com"}, settings=settings)
make_app(stage, outdir=Path(sys.argv[1]), code=False, rules=False, validation=False).app.synth()
"""
GIVEN = '{"MAIL_GREETING": "Halo"}'
"""Where nothing gives the added setting, its function would not start: the deployment says so."""


def add_queue(copy: Path) -> None:
    """One more member."""
    queues = copy / SHARED / "deployment/queues.py"
    before, mark, after = queues.read_text().partition("\nMAX_RECEIVE_COUNT")
    queues.write_text(before.rstrip() + "\n" + MEMBER + mark + after)


def add_gateway(copy: Path) -> None:
    """One more folder and one more line; and, to play it here, one more file."""
    gateways = copy / SHARED / "payments/gateways"
    (gateways / "tukar").mkdir()
    for name, text in FOLDER.items():
        (gateways / "tukar" / name).write_text(text)
    (copy / "local/payment_gateway/stand_ins/tukar.py").write_text(STAND_IN)
    replace_once(gateways / "__init__.py", '    "doku",\n', '    "doku",\n    "tukar",\n')


def change_facts(copy: Path) -> None:
    """Another threshold, and one more setting of the worker of mails."""
    replace_once(copy / SHARED / "deployment/alarms.py", "    threshold=20,\n", "    threshold=33,\n")
    # The first place: which functions are given it. The second: how it is read.
    replace_once(
        copy / SHARED / "deployment/settings.py",
        "MAIL = (\n",
        'MAIL = (\n    Setting("MAIL_GREETING", "how mails begin", needed=True),\n',
    )
    config = copy / SHARED / "config.py"
    replace_once(config, "    shop_url: str\n", "    shop_url: str\n    mail_greeting: str | None\n")
    replace_once(
        config,
        "            shop_url=",
        '            mail_greeting=env.get("MAIL_GREETING") or None,\n            shop_url=',
    )
