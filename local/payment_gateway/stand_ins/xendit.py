"""Xendit's invoices as its documentation describes them: https://developers.xendit.co/api-reference/#create-invoice.

They are made, found by their reference or by themselves, and expired.

Its refunds are not here, for the shop asks for none there.
"""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, quote

from emulator.gateway.problems import Refused
from local.payment_gateway.answer import Answer
from local.payment_gateway.payment_store import Payment, PaymentStore
from skincare.payments.gateways.samples import native_status

NAME = "xendit"
_INVOICES = "/v2/invoices"
_INVOICE = re.compile(r"/v2/invoices/([^/]+)")
_EXPIRE = re.compile(r"/invoices/([^/]+)/expire!")
_UNPAID_ID = "invoice-"
_DAY_S = 24 * 60 * 60


class StandIn:
    """Answers the shop; the caller has checked its secret key."""

    gives_back = False

    def __init__(self, store: PaymentStore, *, page_url: str) -> None:
        """`page_url` is where a customer pays; the reference is added to it."""
        self._store = store
        self._page_url = page_url

    def answer(self, method: str, path: str, read: Callable[[], Mapping[str, Any]], query: str = "") -> Answer | None:
        """Return the answer to a request whose JSON body `read` gives, None where there is nothing."""
        if (method, path) == ("POST", _INVOICES):
            return self._create(read())
        if (method, path) == ("GET", _INVOICES):
            references = parse_qs(query).get("external_id", [])
            found = [self._store.known(reference, gateway=NAME) for reference in references]
            return Answer(200, [self._invoice(payment) for payment in found if payment])
        if method == "GET" and (match := _INVOICE.fullmatch(path)):
            payment = self._find(match[1])
            return Answer(200, self._invoice(payment)) if payment else _unknown()
        if method == "POST" and (match := _EXPIRE.fullmatch(path)):
            return self._expire(match[1])
        return None

    def _find(self, invoice_id: str) -> Payment | None:
        return self._store.known(invoice_id.removeprefix(_UNPAID_ID), gateway=NAME)

    def _expire(self, invoice_id: str) -> Answer:
        payment = self._find(invoice_id)
        if payment is None:
            return _unknown()
        try:
            payment, entry = self._store.expire(payment.reference)
        except Refused:
            return Answer(400, {"error_code": "INVOICE_NOT_PENDING", "message": "The invoice is not pending"})
        return Answer(200, self._invoice(payment), event=(payment, entry))

    def _create(self, body: Mapping[str, Any]) -> Answer:
        reference, amount = body.get("external_id"), body.get("amount")
        seconds = body.get("invoice_duration", _DAY_S)
        if not isinstance(reference, str) or not isinstance(amount, int) or not isinstance(seconds, int):
            return Answer(400, {"error_code": "API_VALIDATION_ERROR", "message": "external_id and amount are required"})
        until = datetime.now(UTC) + timedelta(seconds=seconds)
        return Answer(200, self._invoice(self._store.open(reference, amount, until.isoformat(), gateway=NAME)))

    def _invoice(self, payment: Payment) -> dict[str, Any]:
        entry = payment.paid or (payment.entries[-1] if payment.entries else None)
        unpaid = "EXPIRED" if payment.state == "closed" else "PENDING"
        content = {
            "id": entry.transaction_id if entry else f"{_UNPAID_ID}{payment.reference}",
            "external_id": payment.reference,
            "status": native_status(NAME, entry.status) if entry else unpaid,
            "amount": entry.amount_rupiah if entry else payment.amount_rupiah,
            "currency": "IDR",
            "expiry_date": payment.expires_at,
            "invoice_url": f"{self._page_url}?reference={quote(payment.reference)}",
            "updated": entry.occurred_at if entry else payment.expires_at,
        }
        if payment.paid:
            content |= {"paid_amount": payment.paid.amount_rupiah, "paid_at": payment.paid.occurred_at}
        return content


def _unknown() -> Answer:
    return Answer(404, {"error_code": "INVOICE_NOT_FOUND_ERROR", "message": "There is no such invoice"})
