"""Midtrans and Xendit of the local system: what they refuse, and of what they tell the shop by a webhook."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from local.payment_gateway.answer import Answer
from local.payment_gateway.book import Book, Entry
from local.payment_gateway.midtrans import Midtrans
from local.payment_gateway.xendit import Xendit

REFERENCE = "SKN-4T9QX-0M7KD.1"
TOTAL = 150_000
SOON, OVER = (datetime.now(UTC) + timedelta(hours=hours) for hours in (1, -1))


@pytest.fixture
def book(tmp_path: Path) -> Book:
    return Book(tmp_path / "payments.json")


def nothing() -> Mapping[str, Any]:
    return {}


class AtMidtrans:
    def __init__(self, book: Book, expires_at: datetime = SOON) -> None:
        self.book = book
        self.gateway = Midtrans(book, page_url="/pay")
        book.open(REFERENCE, TOTAL, expires_at.isoformat(), gateway="midtrans")

    def call(
        self, what: str, *, name: str = REFERENCE, method: str = "POST", read: Callable[[], Mapping[str, Any]] = nothing
    ) -> Answer:
        answer = self.gateway.answer(method, f"/v2/{name}/{what}", read)
        assert answer is not None
        return answer

    def is_now(self, status: str) -> None:
        """Let its one transaction be in a status, by our word or by one of Midtrans's own."""
        self.book.note(REFERENCE, Entry(f"evt-{status}", "trx-1", status, TOTAL, SOON.isoformat()))


class TestMidtransLetsExpire:
    @pytest.mark.parametrize("expires_at", [SOON, OVER])
    @pytest.mark.parametrize("name", [REFERENCE, "trx-1"])
    def test_what_waits_for_its_money_also_when_its_time_is_over(
        self, book: Book, name: str, expires_at: datetime
    ) -> None:
        at = AtMidtrans(book, expires_at)
        at.is_now("pending")
        answer = at.call("expire", name=name)
        assert (answer.status, answer.body["status_code"], answer.body["transaction_status"]) == (200, "407", "expire")
        assert answer.body["transaction_id"] == "trx-1"
        assert answer.event is not None
        _, told = answer.event
        assert (told.transaction_id, told.status) == ("trx-1", "expired")
        assert Book(book._file).find(REFERENCE).state == "closed"

    @pytest.mark.parametrize("status", ["paid", "failed", "expired", "capture", "chargeback"])
    def test_nothing_else(self, book: Book, status: str) -> None:
        at = AtMidtrans(book)
        at.is_now(status)
        before = at.call("status", method="GET").body
        answer = at.call("expire")
        assert (answer.status, answer.body["status_code"], answer.event) == (200, "412", None)
        assert at.call("status", method="GET").body == before

    def test_no_page_where_nobody_has_chosen_how_to_pay(self, book: Book) -> None:
        answer = AtMidtrans(book).call("expire")
        assert (answer.status, answer.body["status_code"]) == (404, "404")
        assert book.happen(REFERENCE, "paid")

    def test_no_payment_at_another_gateway(self, book: Book) -> None:
        at = AtMidtrans(book)
        book.open("SKN-4T9QX-0M7KD.2", TOTAL, SOON.isoformat(), gateway="xendit")
        book.happen("SKN-4T9QX-0M7KD.2", "pending")
        assert at.call("expire", name="SKN-4T9QX-0M7KD.2").status == 404


class TestMidtransGivesBack:
    def test_a_card_once_it_is_settled(self, book: Book) -> None:
        at = AtMidtrans(book)

        def refund() -> Mapping[str, Any]:
            return {"refund_key": "r-1", "amount": TOTAL}

        at.is_now("capture")
        assert at.call("refund", name="trx-1", read=refund).body["status_code"] == "412"
        assert at.call("status", method="GET").body["transaction_status"] == "capture"
        at.is_now("paid")
        assert at.call("refund", name="trx-1", read=refund).body["status_code"] == "200"
        assert at.call("status", method="GET").body["transaction_status"] == "refund"


class TestXenditExpires:
    def at(self, book: Book, expires_at: datetime = SOON) -> Callable[[str, str], Answer]:
        book.open(REFERENCE, TOTAL, expires_at.isoformat(), gateway="xendit")
        gateway = Xendit(book, page_url="/pay")

        def call(method: str, path: str) -> Answer:
            answer = gateway.answer(method, path, nothing)
            assert answer is not None
            return answer

        return call

    @pytest.mark.parametrize("waits", [False, True])
    def test_an_open_invoice_once(self, book: Book, waits: bool) -> None:
        call = self.at(book)
        if waits:
            book.happen(REFERENCE, "pending")
        invoice_id = call("GET", f"/v2/invoices/invoice-{REFERENCE}").body["id"]
        first, second = (call("POST", f"/invoices/{invoice_id}/expire!") for _ in range(2))
        assert (first.status, first.body["status"], first.event is not None) == (200, "EXPIRED", True)
        assert (second.status, second.event) == (400, None)
        assert call("GET", f"/v2/invoices/{invoice_id}").body["status"] == "EXPIRED"

    def test_none_that_is_paid(self, book: Book) -> None:
        call = self.at(book)
        book.happen(REFERENCE, "paid")
        assert call("POST", f"/invoices/invoice-{REFERENCE}/expire!").status == 400
        assert call("GET", f"/v2/invoices/invoice-{REFERENCE}").body["status"] == "PAID"

    def test_by_itself_what_nobody_paid_in_its_time(self, book: Book) -> None:
        assert self.at(book, OVER)("GET", f"/v2/invoices/invoice-{REFERENCE}").body["status"] == "EXPIRED"

    def test_none_that_is_not_there(self, book: Book) -> None:
        call = self.at(book)
        assert call("POST", "/invoices/other/expire!").status == 404
        assert call("GET", "/v2/invoices/other").status == 404
