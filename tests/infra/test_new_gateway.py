"""A payment gateway is added by a folder and one line: tried in a copy of the tree."""

import json
from pathlib import Path
from typing import Any

from tests.infra.templates import Templates
from tests.support.copied_tree import run
from tests.support.http import http_event

PLAYED = """
import base64, json, sys
from pathlib import Path
from werkzeug import Request
from werkzeug.test import EnvironBuilder
from emulator.log.logbook import LogBook
from local.functions import LocalEnvironment
from local.payment_gateway import PaymentSite
from local.payment_gateway.payment_store import PaymentStore
from local.settings import PAYMENT_API, LocalSettings

site = PaymentSite(
    PaymentStore(Path(sys.argv[1]) / "payments.json"), None, shop_url="http://shop", api_keys={"tukar": "key"}, log=None
)
authorization = "Basic " + base64.b64encode(b"key:").decode()
builder = EnvironBuilder(f"{PAYMENT_API}/tukar/v1/bills?a=b", method="POST", headers={"authorization": authorization})
print(json.dumps({
    "chosen": LocalSettings.from_env({"PAYMENT_GATEWAY": "tukar"}).payment_gateway,
    "url": LocalEnvironment("", "", "http://gateway").api().environment["GATEWAY_URL_TUKAR"],
    "answer": json.loads(site.answer(builder.get_request(Request)).get_data()),
}))
"""

SHOWN = """
import json
from api.openapi import document
from cli.webhook import GatewayName
from local.page.state import GATEWAYS
from local.webhook_secrets import secret_ids
from skincare.payments.gateways.clients import client, connect

clients = connect({"tukar": "https://api.tukar.example.com"}, None)
(words,) = {
    parameter["description"]
    for path in document()["paths"].values()
    for operation in path.values()
    for parameter in operation["parameters"]
    if parameter["name"] == "gateway"
}
print(json.dumps({
    "document": words,
    "command": [name.value for name in GatewayName],
    "page": [each.title for each in GATEWAYS.values()],
    "secrets": sorted(secret_ids()),
    "asked": client(clients, "tukar").name,
}))
"""

# The database is nobody's: whoever is let in meets that, and whoever is not is told so first.
TAKEN = """
import json, sys
from dataclasses import replace
from datetime import UTC, datetime
from aws_lambda_powertools.utilities.typing import LambdaContext
from api.app import handle
from skincare.bootstrap import build_app
from skincare.config import Settings
from skincare.deployment.queues import QueueName
from skincare.payments.gateways.samples import Occurrence, signed
from skincare.payments.gateways.webhooks import READERS
from skincare.payments.models import Webhook

class Secrets:
    def secrets(self, gateway, *, fresh=False):
        return ("right",)

event, names = json.loads(sys.argv[1]), [name.upper() for name in QueueName]
kinds = ("QUEUE_URL", "DEAD_LETTER_QUEUE_URL")
urls = {f"{kind}_{name}": "https://sqs.example.com/1" for kind in kinds for name in names}
app = replace(
    build_app(Settings.from_env(
        {"DATABASE_URL": "postgresql://app@127.0.0.1:1/shop", "MAIL_FROM": "shop@example.com", **urls}
    )),
    webhook_secrets=Secrets(),
)
now = datetime.now(UTC)
what = Occurrence("event-1", "SKN-4T9QX-0M7KD", "transaction-1", "paid", 150_000, now)
answers = {}
for secret in ("right", "wrong"):
    request = signed("tukar", what, secret=secret, sent_at=now)
    sent = event | {"rawPath": request.path, "body": request.body.decode(), "headers": request.headers}
    sent["requestContext"]["http"]["path"] = request.path
    answers[secret] = handle(sent, LambdaContext(), lambda: app)["statusCode"]
    if secret == "right":
        read = READERS["tukar"].read(Webhook(request.body, request.headers, request.path), ["right"], now)
        answers["amount"] = read.report.amount_rupiah
sent["rawPath"] = sent["requestContext"]["http"]["path"] = "/v1/payments/webhook/tukang"
answers["unknown"] = handle(sent, LambdaContext(), lambda: app)["statusCode"]
print(json.dumps(answers))
"""


def test_is_offered_everywhere(tree: Path) -> None:
    shown: dict[str, Any] = json.loads(run(tree, SHOWN))
    assert shown["document"] == "A payment gateway: midtrans, xendit, doku or tukar."
    assert shown["command"][-1] == "tukar"
    assert shown["page"][-1] == "Tukar"
    assert {"WEBHOOK_SECRET_ID_TUKAR", "WEBHOOK_SECRET_ID_TUKAR_API"} <= set(shown["secrets"])
    assert shown["asked"] == "tukar"


def test_is_played_where_its_stand_in_is_there(tree: Path, tmp_path: Path) -> None:
    assert json.loads(run(tree, PLAYED, str(tmp_path))) == {
        "chosen": "tukar",
        "url": "http://gateway/tukar",
        "answer": {"url": "http://shop/_local/pay/", "asked": ["POST", "/v1/bills", "a=b"]},
    }


def test_sends_webhooks_that_are_taken_and_forged_ones_that_are_not(tree: Path) -> None:
    event = http_event("POST", "/v1/payments/webhook/tukar", body={})
    *_, last = run(tree, TAKEN, json.dumps(event)).splitlines()
    assert json.loads(last) == {"right": 503, "wrong": 401, "unknown": 404, "amount": 150_000}


def test_is_deployed_with_its_secrets(grown: Templates) -> None:
    secrets = {secret.properties.get("Name") for secret in grown.of("AWS::SecretsManager::Secret")}
    assert {"skincare/dev/webhooks/tukar", "skincare/dev/webhooks/tukar_api"} <= secrets
    given = grown.function("api").properties["Environment"]["Variables"]
    assert given["GATEWAY_URL_TUKAR"] == "https://api.tukar.example.com"
    assert {"WEBHOOK_SECRET_ID_TUKAR", "WEBHOOK_SECRET_ID_TUKAR_API"} <= set(given)
