"""Midtrans as its documentation describes it: Snap, status, expire and refund, with statuses and bodies of the sandbox.

https://docs.midtrans.com/reference/backend-integration, …/get-transaction-status and …/expire-api
"""

import re
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

from emulator.gateway.problems import Refused
from local.payment_gateway.answer import Answer
from local.payment_gateway.payment_store import Entry, Payment, PaymentStore
from skincare.payments.gateways.midtrans.sample import with_fee
from skincare.payments.gateways.midtrans.webhook import JAKARTA
from skincare.payments.gateways.samples import native_status
from skincare.payments.models import EventStatus

NAME = "midtrans"
_PATH = re.compile(r"/v2/([^/]+)/(status|refund|expire)")
_CODES = {"pending": "201", "deny": "202", "expire": "407"}
_TRIES = {EventStatus.PENDING, EventStatus.FAILED, EventStatus.EXPIRED}
_LONGEST = timedelta(days=1)


class StandIn:
    """Answers the shop; the caller has checked its server key."""

    gives_back = True

    def __init__(self, store: PaymentStore, *, page_url: str) -> None:
        """`page_url` is where a customer pays; the reference is added to it."""
        self._store = store
        self._page_url = page_url

    def answer(self, method: str, path: str, read: Callable[[], Mapping[str, Any]], _query: str = "") -> Answer | None:
        """Return the answer to a request whose JSON body `read` gives, None where there is nothing."""
        if (method, path) == ("POST", "/snap/v1/transactions"):
            return self._snap(read())
        named = _PATH.fullmatch(path)
        if named is None:
            return None
        payment = self._store.known(named[1], gateway=NAME)
        # Nobody has chosen how to pay before something happened.
        if payment is None or not payment.entries:
            return Answer(404, _refusal("404", "Transaction doesn't exist."))
        return self._about(payment, method, named[2], read)

    def _about(self, payment: Payment, method: str, what: str, read: Callable[[], Mapping[str, Any]]) -> Answer | None:
        match method, what:
            case "GET", "status":
                return Answer(200, transaction(payment))
            case "POST", "expire":
                return self._expire(payment)
            case "POST", "refund":
                return self._refund(payment, read())
        return None

    def _snap(self, body: Mapping[str, Any]) -> Answer:
        try:
            details = body["transaction_details"]
            reference, amount = str(details["order_id"]), int(details["gross_amount"])
            minutes = int(body.get("expiry", {}).get("duration", _LONGEST.total_seconds() / 60))
        except (KeyError, TypeError, ValueError, AttributeError):
            return Answer(400, {"error_messages": ["transaction_details is required"]})
        known = self._store.known(reference, gateway=NAME)
        if known is not None and known.entries:
            return Answer(400, {"error_messages": ["transaction_details.order_id has already been taken"]})
        until = datetime.now(UTC) + timedelta(minutes=minutes)
        self._store.open(reference, amount, until.isoformat(), gateway=NAME)
        url = f"{self._page_url}?reference={quote(reference)}"
        return Answer(201, {"token": str(uuid.uuid4()), "redirect_url": url})

    def _expire(self, payment: Payment) -> Answer:
        if payment.waiting is None:
            return _unchangeable()
        try:
            payment, entry = self._store.expire(payment.reference)
        except Refused:
            return _unchangeable()
        content = transaction(payment) | {"status_message": "Success, transaction has expired"}
        return Answer(200, content, event=(payment, entry))

    def _refund(self, payment: Payment, body: Mapping[str, Any]) -> Answer:
        key, amount = body.get("refund_key"), body.get("amount")
        if payment.paid is None or not isinstance(key, str) or not isinstance(amount, int):
            return _unchangeable()
        try:
            _, entry, is_new = self._store.refund(payment.paid.transaction_id, amount, key)
        except Refused:
            return _unchangeable()
        content = {"status_code": "200", "refund_key": key, "order_id": payment.reference}
        return Answer(200, content, event=(payment, entry) if is_new else None)


def transaction(payment: Payment) -> dict[str, Any]:
    """Return what a status call reports of a payment to which something happened: its newest state, and all refunds."""
    refunds = [entry for entry in payment.entries if entry.refund_id is not None]
    # What was paid stays paid, whatever other tries come to.
    newest = [entry for entry in payment.entries if not payment.paid or entry.status not in _TRIES][-1]
    word = native_status(NAME, newest.status)
    is_made_of_a_payment = bool(refunds) or newest.status == EventStatus.CHARGEBACK
    total = payment.amount_rupiah if is_made_of_a_payment else newest.amount_rupiah
    price, fee = payment.paid.amount_rupiah if payment.paid else total, (payment.paid or newest).fee_rupiah
    content: dict[str, Any] = {
        "status_code": _CODES.get(word, "200"),
        "status_message": "Success, transaction is found",
        "transaction_id": (payment.paid or newest).transaction_id,
        "order_id": payment.reference,
        "gross_amount": f"{price + fee}.00",
        "currency": "IDR",
        "payment_type": "qris",
        "transaction_time": _naive(newest.occurred_at),
        "transaction_status": word,
        "fraud_status": "accept",
        "merchant_id": "G000000000",
    } | with_fee(price, fee)
    if payment.paid:
        content["settlement_time"] = _naive(payment.paid.occurred_at)
    if refunds:
        content["refund_amount"] = f"{sum(each.amount_rupiah for each in refunds)}.00"
        content["refunds"] = [_refund(number, each) for number, each in enumerate(refunds, start=1)]
    return content


def _refund(number: int, entry: Entry) -> dict[str, Any]:
    return {
        "refund_chargeback_id": number,
        "refund_amount": f"{entry.amount_rupiah}.00",
        "created_at": _naive(entry.occurred_at),
        "reason": "",
        "refund_key": entry.refund_id,
    }


def _naive(moment: str) -> str:
    """Return a time as Midtrans writes it: Jakarta's, without a zone."""
    return datetime.fromisoformat(moment).astimezone(JAKARTA).strftime("%Y-%m-%d %H:%M:%S")


def _unchangeable() -> Answer:
    """Refuse, as it does over HTTP with 200, also the refund of a card that is charged and not yet settled."""
    return Answer(200, _refusal("412", "Merchant cannot modify the status of the transaction"))


def _refusal(code: str, message: str) -> dict[str, Any]:
    return {"status_code": code, "status_message": message, "id": str(uuid.uuid4())}
