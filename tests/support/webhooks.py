"""Webhooks as gateways send them: bodies, headers and true signatures."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from skincare.payments.gateways.doku import webhook as doku
from skincare.payments.gateways.midtrans import webhook as midtrans
from skincare.payments.gateways.standard_webhooks import webhook as standard_webhooks
from skincare.payments.models import Webhook

NOW = datetime(2026, 1, 15, 3, 0, tzinfo=UTC)
ORDER = "SKN-4T9QX-0M7KD"

SECRETS = {
    "standard_webhooks": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "midtrans": "SB-Mid-server-EXAMPLE",
    "xendit": "callback-token-EXAMPLE",
    "doku": "SK-EXAMPLE",
}
OTHER_SECRETS = {
    "standard_webhooks": "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
    "midtrans": "SB-Mid-server-OTHER",
    "xendit": "callback-token-OTHER",
    "doku": "SK-OTHER",
}

BODIES: Mapping[str, Mapping[str, Any]] = {
    "standard_webhooks": {
        "event_id": "event-1",
        "order_number": ORDER,
        "status": "paid",
        "amount_rupiah": 150_000,
        "currency": "IDR",
        "occurred_at": "2026-01-15T02:59:58Z",
        "transaction_id": "transaction-1",
    },
    "midtrans": {
        "transaction_time": "2026-01-15 09:59:58",
        "transaction_status": "settlement",
        "transaction_id": "transaction-1",
        "status_code": "200",
        "order_id": ORDER,
        "gross_amount": "150000.00",
        "currency": "IDR",
        "fraud_status": "accept",
    },
    "xendit": {
        "id": "transaction-1",
        "external_id": ORDER,
        "status": "PAID",
        "amount": 150_000,
        "paid_amount": 150_000,
        "currency": "IDR",
        "paid_at": "2026-01-15T02:59:58.000Z",
    },
    "doku": {
        "order": {"invoice_number": ORDER, "amount": 150_000},
        "transaction": {
            "status": "SUCCESS",
            "date": "2026-01-15T02:59:58Z",
            "original_request_id": "transaction-1",
        },
    },
}


def standard(body: bytes, *, secret: str, at: datetime = NOW, message_id: str = "message-1") -> Webhook:
    timestamp = str(int(at.timestamp()))
    signature = standard_webhooks.sign(secret, message_id, timestamp, body)
    headers = {"webhook-id": message_id, "webhook-timestamp": timestamp, "webhook-signature": signature}
    return Webhook(body, headers, "/v1/payments/webhook")


def of_midtrans(body: bytes, *, secret: str, at: datetime = NOW) -> Webhook:
    """Sign a body that is an object of texts in the place where it ends, so that its spacing stays as it is."""
    content = json.loads(body, parse_int=str, parse_float=str)
    signature = midtrans.sign(secret, content["order_id"], content["status_code"], content["gross_amount"])
    signed = body.rstrip()[:-1] + f',"signature_key":"{signature}"}}'.encode()
    return Webhook(signed, {}, "/v1/payments/webhook/midtrans")


def of_xendit(body: bytes, *, secret: str, at: datetime = NOW) -> Webhook:
    return Webhook(body, {"x-callback-token": secret, "webhook-id": "message-1"}, "/v1/payments/webhook/xendit")


def of_doku(body: bytes, *, secret: str, at: datetime = NOW, request_id: str = "message-1") -> Webhook:
    timestamp = at.strftime("%Y-%m-%dT%H:%M:%SZ")
    path = "/v1/payments/webhook/doku"
    signature = doku.sign(
        secret, body, client_id="MCH-EXAMPLE-1", request_id=request_id, timestamp=timestamp, path=path
    )
    headers = {
        "client-id": "MCH-EXAMPLE-1",
        "request-id": request_id,
        "request-timestamp": timestamp,
        "signature": signature,
    }
    return Webhook(body, headers, path)


SENDERS: Mapping[str, Callable[..., Webhook]] = {
    "standard_webhooks": standard,
    "midtrans": of_midtrans,
    "xendit": of_xendit,
    "doku": of_doku,
}


def body_of(gateway: str, **changes: Any) -> bytes:
    """The gateway's word about a paid order; `changes` replace members of its top level."""
    return json.dumps(dict(BODIES[gateway]) | changes).encode()


def webhook_of(gateway: str, *, secret: str | None = None, at: datetime = NOW, **changes: Any) -> Webhook:
    """A truly signed webhook."""
    return SENDERS[gateway](body_of(gateway, **changes), secret=secret or SECRETS[gateway], at=at)


def with_header(webhook: Webhook, name: str, value: str) -> Webhook:
    return replace(webhook, headers=dict(webhook.headers) | {name: value})


def without_header(webhook: Webhook, name: str) -> Webhook:
    return replace(webhook, headers={key: value for key, value in webhook.headers.items() if key != name})


@dataclass
class FixedSecrets:
    """A store that holds these; `renewed` is what a fresh look finds."""

    by_gateway: Mapping[str, tuple[str, ...]]
    renewed: Mapping[str, tuple[str, ...]] | None = None
    fresh_looks: int = 0

    def secrets(self, gateway: str, *, fresh: bool = False) -> tuple[str, ...]:
        if fresh:
            self.fresh_looks += 1
            self.by_gateway = self.by_gateway if self.renewed is None else self.renewed
        return self.by_gateway[gateway]
