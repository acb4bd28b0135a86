"""Our own gateway, which speaks our own words: payments are opened, looked at, closed and given back."""

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from local.payment_gateway.answer import Answer
from local.payment_gateway.body import moment, rupiah, text
from local.payment_gateway.payment_store import Entry, Payment, PaymentStore

_TRANSACTIONS = re.compile(r"/payments/([^/]+)/transactions")
_CLOSE = re.compile(r"/payments/([^/]+)/close")
_REFUNDS = re.compile(r"/transactions/([^/]+)/refunds")


class StandIn:
    """Answers the shop; the caller has checked its key."""

    gives_back = True

    def __init__(self, store: PaymentStore, *, page_url: str) -> None:
        """`page_url` is where a customer pays; the reference is added to it."""
        self._store = store
        self._page_url = page_url

    def answer(self, method: str, path: str, read: Callable[[], dict[str, Any]], _query: str = "") -> Answer | None:
        """Return the answer to a request whose JSON body `read` gives, None where there is nothing."""
        if (method, path) == ("POST", "/payments"):
            body = read()
            payment = self._store.open(
                text(body, "reference"), rupiah(body, "amount_rupiah"), moment(body, "expires_at")
            )
            return Answer(201, {"url": f"{self._page_url}?reference={quote(payment.reference)}"})
        if method == "GET" and (match := _TRANSACTIONS.fullmatch(path)):
            payment = self._store.find(match[1])
            return Answer(200, {"transactions": [_reported(payment, entry) for entry in payment.entries]})
        if method == "POST" and (match := _CLOSE.fullmatch(path)):
            return Answer(200, {"state": self._store.close(match[1]).state})
        if method == "POST" and (match := _REFUNDS.fullmatch(path)):
            body = read()
            payment, entry, is_new = self._store.refund(
                match[1], rupiah(body, "amount_rupiah"), text(body, "refund_id")
            )
            return Answer(201, _reported(payment, entry), event=(payment, entry) if is_new else None)
        return None


def _reported(payment: Payment, entry: Entry) -> dict[str, Any]:
    """Return an entry as the API and the webhooks tell it."""
    return {
        "event_id": entry.event_id,
        "order_number": payment.reference,
        "transaction_id": entry.transaction_id,
        "status": entry.status,
        "amount_rupiah": entry.amount_rupiah,
        "currency": "IDR",
        "occurred_at": entry.occurred_at,
        "refund_id": entry.refund_id,
    }
