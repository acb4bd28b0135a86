"""What payment gateways tell us. They have no token: their signature is checked instead."""

from dataclasses import dataclass
from datetime import UTC, datetime

from api import problems
from api.route import Request, Route
from api.schemas import WebhookAnswer
from skincare.app import App
from skincare.payments import service
from skincare.payments.gateways.standard_webhooks import StandardWebhooks
from skincare.payments.models import Webhook

_PATH = "/v1/payments/webhook"


@dataclass(frozen=True)
class Taken:
    status: str = "ok"


def take_payment_event(request: Request[bytes, None], app: App) -> Taken:
    """Take in an event signed by the scheme of Standard Webhooks.

    The body is `{event_id, order_number, status, amount_rupiah, currency, occurred_at, transaction_id}`, the
    signature is in `webhook-signature`. A copy of an event gets the same answer; after any 5xx send it again.
    """
    return _take(StandardWebhooks.name, _PATH, request, app)


def take_gateway_event(request: Request[bytes, None], app: App) -> Taken:
    """Take in an event of one payment gateway, in its own form and with its own signature.

    A copy of an event gets the same answer; after any 5xx send it again.
    """
    gateway = request.path["gateway"]
    return _take(gateway, f"{_PATH}/{gateway}", request, app)


def _take(gateway: str, path: str, request: Request[bytes, None], app: App) -> Taken:
    service.receive(
        gateway,
        Webhook(request.body, request.headers, app.settings.public_path_prefix + path),
        secrets=app.webhook_secrets,
        database=app.database,
        publisher=app.publisher,
        request_id=request.request_id,
        now=datetime.now(UTC),
        merchant_ids=app.settings.merchant_ids,
    )
    return Taken()


ROUTES = (
    Route[bytes, None](
        "POST",
        _PATH,
        take_payment_event,
        WebhookAnswer,
        takes_bytes=True,
        public=True,
        problems=(problems.SIGNATURE_INVALID, problems.GATEWAY_UNKNOWN),
    ),
    Route[bytes, None](
        "POST",
        f"{_PATH}/{{gateway}}",
        take_gateway_event,
        WebhookAnswer,
        takes_bytes=True,
        public=True,
        problems=(problems.SIGNATURE_INVALID, problems.GATEWAY_UNKNOWN),
    ),
)
