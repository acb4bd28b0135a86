"""Webhooks as payment gateways send them, really signed: for trying out what the shop does about them."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from skincare.payments.gateways import doku, midtrans, standard_webhooks
from skincare.payments.models import EventStatus

_ROOT = "/v1/payments/webhook"

# What a gateway calls it. A word that is not here is sent as it is.
_WORDS: dict[str, dict[str, str]] = {
    "midtrans": {
        EventStatus.PAID: "settlement",
        EventStatus.FAILED: "deny",
        EventStatus.EXPIRED: "expire",
        EventStatus.REFUNDED: "refund",
        EventStatus.PARTIALLY_REFUNDED: "partial_refund",
        EventStatus.VOIDED: "cancel",
    },
    "xendit": {str(each): each.upper() for each in EventStatus},
    "doku": {str(each): each.upper() for each in EventStatus} | {"paid": "SUCCESS"},
}

TIMED = frozenset({"standard_webhooks", "doku"})
"""Gateways that sign a time."""


ASKED = frozenset({"midtrans", "xendit"})
"""Gateways that the shop asks before it believes a webhook: they must know what the webhook says."""


@dataclass(frozen=True)
class Occurrence:
    """What happened at the gateway. `event_id` makes it one event, however often it is sent."""

    event_id: str
    order_number: str
    transaction_id: str
    status: str
    amount_rupiah: int
    occurred_at: datetime
    refund_id: str | None = None
    total_rupiah: int | None = None
    """What the whole payment is about, where that is known."""
    fee_rupiah: int = 0
    """What the customer pays to Midtrans on top of the order's price."""

    @property
    def refund_key(self) -> str | None:
        """What names a refund; None for any other occurrence."""
        is_refund = self.status in {EventStatus.REFUNDED, EventStatus.PARTIALLY_REFUNDED}
        return self.refund_id or (self.event_id if is_refund else None)

    def about(self, reference: str, *, total_rupiah: int) -> "Occurrence":
        """Return it as a gateway tells it that knows an attempt by its reference."""
        return replace(self, order_number=reference, total_rupiah=total_rupiah)


@dataclass(frozen=True)
class SignedRequest:
    """A request that a gateway would make."""

    path: str
    body: bytes
    headers: dict[str, str]


def signed(gateway: str, what: Occurrence, *, secret: str, sent_at: datetime) -> SignedRequest:
    """Return the request of a gateway about an occurrence."""
    return _GATEWAYS[gateway](what, word_of(gateway, what.status), secret, sent_at)


def word_of(gateway: str, status: str) -> str:
    """Return what a gateway calls a status; a word of its own stays."""
    return _WORDS.get(gateway, {}).get(status, status)


def status_of(gateway: str, word: str) -> str:
    """Return what a gateway's word means where it is one that we send; otherwise the word."""
    return next((status for status, other in _WORDS.get(gateway, {}).items() if other == word), word)


def with_fee(price_rupiah: int, fee_rupiah: int) -> dict[str, Any]:
    """Return how Midtrans tells of a fee that it put on top of a price, nothing where it put none.

    https://docs.midtrans.com/docs/snap-advanced-feature#automatic-fee-imposition
    """
    if not fee_rupiah:
        return {}
    told = {
        "original_amount": str(price_rupiah),
        "gross_amount": str(price_rupiah + fee_rupiah),
        "customer_imposed_payment_fee": str(fee_rupiah),
    }
    return {"metadata": {"extra_info": {"gross_amount_info": told}}}


def _standard_webhooks(what: Occurrence, word: str, secret: str, sent_at: datetime) -> SignedRequest:
    body = _json(
        event_id=what.event_id,
        order_number=what.order_number,
        status=word,
        amount_rupiah=what.amount_rupiah,
        currency="IDR",
        occurred_at=what.occurred_at.isoformat(),
        transaction_id=what.transaction_id,
        **({} if what.refund_id is None else {"refund_id": what.refund_id}),
    )
    timestamp = str(int(sent_at.timestamp()))
    headers = {
        "webhook-id": what.event_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": standard_webhooks.sign(secret, what.event_id, timestamp, body),
    }
    return SignedRequest(_ROOT, body, headers)


def _midtrans(what: Occurrence, word: str, secret: str, _: datetime) -> SignedRequest:
    is_refund = word in {"refund", "partial_refund"}
    # The amount of a refund has a member of its own.
    total = what.total_rupiah if is_refund and what.total_rupiah is not None else what.amount_rupiah
    amount = f"{total + what.fee_rupiah}.00"
    content: dict[str, Any] = {
        "transaction_time": what.occurred_at.astimezone(midtrans.JAKARTA).strftime("%Y-%m-%d %H:%M:%S"),
        "transaction_status": word,
        "transaction_id": what.transaction_id,
        "status_code": "200",
        "order_id": what.order_number,
        "gross_amount": amount,
        "currency": "IDR",
        "signature_key": midtrans.sign(secret, what.order_number, "200", amount),
    } | with_fee(total, what.fee_rupiah)
    if is_refund:
        content |= {"refund_key": what.refund_id or what.event_id, "refund_amount": f"{what.amount_rupiah}.00"}
    return SignedRequest(f"{_ROOT}/midtrans", _json(**content), {})


def _xendit(what: Occurrence, word: str, secret: str, _: datetime) -> SignedRequest:
    body = _json(
        id=what.transaction_id,
        external_id=what.order_number,
        status=word,
        amount=what.amount_rupiah,
        currency="IDR",
        updated=what.occurred_at.isoformat(),
    )
    return SignedRequest(f"{_ROOT}/xendit", body, {"x-callback-token": secret, "webhook-id": what.event_id})


def _doku(what: Occurrence, word: str, secret: str, sent_at: datetime) -> SignedRequest:
    path = f"{_ROOT}/doku"
    body = _json(
        order={"invoice_number": what.order_number, "amount": what.amount_rupiah},
        transaction={
            "status": word,
            "date": what.occurred_at.isoformat(),
            "original_request_id": what.transaction_id,
        },
    )
    timestamp = sent_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    signature = doku.sign(secret, body, client_id="local", request_id=what.event_id, timestamp=timestamp, path=path)
    headers = {
        "client-id": "local",
        "request-id": what.event_id,
        "request-timestamp": timestamp,
        "signature": signature,
    }
    return SignedRequest(path, body, headers)


def _json(**content: Any) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode()


_GATEWAYS: dict[str, Callable[[Occurrence, str, str, datetime], SignedRequest]] = {
    "standard_webhooks": _standard_webhooks,
    "midtrans": _midtrans,
    "xendit": _xendit,
    "doku": _doku,
}
