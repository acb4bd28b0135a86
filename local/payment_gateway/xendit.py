"""Xendit's invoices as its documentation describes them: https://developers.xendit.co/api-reference/#create-invoice.

Its refunds are not here, for the shop asks for none there.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, quote

from local.payment_gateway.answer import Answer
from local.payment_gateway.book import Book, Payment
from local.webhooks import word_of

NAME = "xendit"
_INVOICES = "/v2/invoices"
_DAY_S = 24 * 60 * 60


class Xendit:
    """Answers the shop; the caller has checked its secret key."""

    def __init__(self, book: Book, *, page_url: str) -> None:
        """`page_url` is where a customer pays; the reference is added to it."""
        self._book = book
        self._page_url = page_url

    def answer(self, method: str, path: str, read: Callable[[], Mapping[str, Any]], query: str = "") -> Answer | None:
        """Return the answer to a request whose JSON body `read` gives, None where there is nothing."""
        if path != _INVOICES:
            return None
        if method == "POST":
            return self._create(read())
        if method == "GET":
            references = parse_qs(query).get("external_id", [])
            found = [self._book.known(reference, gateway=NAME) for reference in references]
            return Answer(200, [self._invoice(payment) for payment in found if payment])
        return None

    def _create(self, body: Mapping[str, Any]) -> Answer:
        reference, amount = body.get("external_id"), body.get("amount")
        seconds = body.get("invoice_duration", _DAY_S)
        if not isinstance(reference, str) or not isinstance(amount, int) or not isinstance(seconds, int):
            return Answer(400, {"error_code": "API_VALIDATION_ERROR", "message": "external_id and amount are required"})
        until = datetime.now(UTC) + timedelta(seconds=seconds)
        return Answer(200, self._invoice(self._book.open(reference, amount, until.isoformat(), gateway=NAME)))

    def _invoice(self, payment: Payment) -> dict[str, Any]:
        entry = payment.paid or (payment.entries[-1] if payment.entries else None)
        told = {
            "id": entry.transaction_id if entry else f"invoice-{payment.reference}",
            "external_id": payment.reference,
            "status": word_of(NAME, entry.status) if entry else "PENDING",
            "amount": entry.amount_rupiah if entry else payment.amount_rupiah,
            "currency": "IDR",
            "expiry_date": payment.expires_at,
            "invoice_url": f"{self._page_url}?reference={quote(payment.reference)}",
            "updated": entry.occurred_at if entry else payment.expires_at,
        }
        if payment.paid:
            told |= {"paid_amount": payment.paid.amount_rupiah, "paid_at": payment.paid.occurred_at}
        return told
