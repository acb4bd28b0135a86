"""Sending a customer to a payment gateway, and what gateways tell us.

Gateways have no token: their signature is checked instead. The services are imported at their first call: they are a
sixth of what a start would load, and a checkout needs none of it.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from api import problems
from api.route import Request, Route
from api.schemas import PaymentAnswer, PaymentQuery, WebhookAnswer
from skincare.app import App
from skincare.config import require
from skincare.observability import logger
from skincare.orders.terms import terms_of
from skincare.payments.gateways.settings import WEBHOOK_PATH
from skincare.payments.gateways.standard_webhooks.settings import SETTINGS as OURS

if TYPE_CHECKING:
    from skincare.payments.attempts.models import PaymentStart


@dataclass(frozen=True)
class Taken:
    status: str = "ok"


def start_payment(request: Request[None, PaymentQuery], app: App) -> "PaymentStart":
    """Start the payment of a pending order.

    It answers the gateway's page. While that can be used every call answers the same one; after `expires_at`, or
    once the gateway has closed it, the next call opens another. A page is open until the order's `expires_at`, which
    `way_to_pay` may put off.
    """
    from skincare.payments.attempts import service

    order_number = request.order_number
    started = service.start_payment(
        request.customer.user_id,
        order_number,
        gateway=require(app.settings.payment_gateway, "PAYMENT_GATEWAY"),
        window=terms_of(app.settings).window_of(request.query.way_to_pay),
        database=app.database,
        gateways=app.gateways,
        publisher=app.publisher,
    )
    logger.append_keys(order_number=order_number)
    return started


def take_payment_event(request: Request[bytes, None], app: App) -> Taken:
    """Take in an event signed by the scheme of Standard Webhooks.

    The body is `{event_id, order_number, status, amount_rupiah, currency, occurred_at, transaction_id}`, the
    signature is in `webhook-signature`. A copy of an event gets the same answer; after any 5xx send it again.
    """
    return _take(OURS.name, OURS.webhook_path, request, app)


def take_gateway_event(request: Request[bytes, None], app: App) -> Taken:
    """Take in an event of one payment gateway, in its own form and with its own signature.

    A copy of an event gets the same answer; after any 5xx send it again.
    """
    gateway = request.path["gateway"]
    return _take(gateway, f"{WEBHOOK_PATH}/{gateway}", request, app)


def _take(gateway: str, path: str, request: Request[bytes, None], app: App) -> Taken:
    from skincare.payments import service
    from skincare.payments.models import Webhook

    service.receive(
        gateway,
        Webhook(request.body, request.headers, app.settings.public_path_prefix + path),
        secrets=app.webhook_secrets,
        database=app.database,
        publisher=app.publisher,
        request_id=request.request_id,
        trace_id=request.trace_id,
        now=datetime.now(UTC),
        merchant_ids=app.settings.merchant_ids,
    )
    return Taken()


ROUTES = (
    Route[None, PaymentQuery](
        "POST",
        "/v1/orders/{order_number}/payment",
        start_payment,
        PaymentAnswer,
        query=PaymentQuery,
        problems=(
            problems.ORDER_UNKNOWN,
            problems.ORDER_NOT_PAYABLE,
            problems.PAYMENT_REFUSED,
            problems.CONCURRENT_REQUEST,
        ),
    ),
    Route[bytes, None](
        "POST",
        OURS.webhook_path,
        take_payment_event,
        WebhookAnswer,
        takes_bytes=True,
        public=True,
        problems=(problems.SIGNATURE_INVALID, problems.GATEWAY_UNKNOWN),
    ),
    Route[bytes, None](
        "POST",
        f"{WEBHOOK_PATH}/{{gateway}}",
        take_gateway_event,
        WebhookAnswer,
        takes_bytes=True,
        public=True,
        problems=(problems.SIGNATURE_INVALID, problems.GATEWAY_UNKNOWN),
    ),
)
