"""Midtrans and Xendit of the local system: what they refuse, and of what they tell the shop by a webhook."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from local.payment_gateway.answer import Answer
from local.payment_gateway.payment_store import Entry, PaymentStore
from local.payment_gateway.stand_ins import midtrans, xendit

REFERENCE = "SKN-4T9QX-0M7KD.1"
TOTAL = 150_000
SOON, OVER = (datetime.now(UTC) + timedelta(hours=hours) for hours in (1, -1))


@pytest.fixture
def store(tmp_path: Path) -> PaymentStore:
    return PaymentStore(tmp_path / "payments.json")


def nothing() -> Mapping[str, Any]:
    return {}


class AtMidtrans:
    def __init__(self, store: PaymentStore, expires_at: datetime = SOON) -> None:
        self.store = store
        self.gateway = midtrans.StandIn(store, page_url="/pay")
        store.open(REFERENCE, TOTAL, expires_at.isoformat(), gateway="midtrans")

    def call(
        self, what: str, *, name: str = REFERENCE, method: str = "POST", read: Callable[[], Mapping[str, Any]] = nothing
    ) -> Answer:
        answer = self.gateway.answer(method, f"/v2/{name}/{what}", read)
        assert answer is not None
        return answer

    def is_now(self, status: str) -> None:
        """Let its one transaction be in a status, by our word or by one of Midtrans's own."""
        self.store.note(REFERENCE, Entry(f"evt-{status}", "trx-1", status, TOTAL, SOON.isoformat()))


class TestMidtransLetsExpire:
    @pytest.mark.parametrize("expires_at", [SOON, OVER])
    @pytest.mark.parametrize("name", [REFERENCE, "trx-1"])
    def test_what_waits_for_its_money_also_when_its_time_is_over(
        self, store: PaymentStore, name: str, expires_at: datetime
    ) -> None:
        at = AtMidtrans(store, expires_at)
        at.is_now("pending")
        answer = at.call("expire", name=name)
        assert (answer.status, answer.body["status_code"], answer.body["transaction_status"]) == (200, "407", "expire")
        assert answer.body["transaction_id"] == "trx-1"
        assert answer.event is not None
        _, reported = answer.event
        assert (reported.transaction_id, reported.status) == ("trx-1", "expired")
        assert PaymentStore(store._file).find(REFERENCE).state == "closed"

    @pytest.mark.parametrize("status", ["paid", "failed", "expired", "capture", "chargeback"])
    def test_nothing_else(self, store: PaymentStore, status: str) -> None:
        at = AtMidtrans(store)
        at.is_now(status)
        before = at.call("status", method="GET").body
        answer = at.call("expire")
        assert (answer.status, answer.body["status_code"], answer.event) == (200, "412", None)
        assert at.call("status", method="GET").body == before

    def test_no_page_where_nobody_has_chosen_how_to_pay(self, store: PaymentStore) -> None:
        answer = AtMidtrans(store).call("expire")
        assert (answer.status, answer.body["status_code"]) == (404, "404")
        assert store.happen(REFERENCE, "paid")

    def test_no_payment_at_another_gateway(self, store: PaymentStore) -> None:
        at = AtMidtrans(store)
        store.open("SKN-4T9QX-0M7KD.2", TOTAL, SOON.isoformat(), gateway="xendit")
        store.happen("SKN-4T9QX-0M7KD.2", "pending")
        assert at.call("expire", name="SKN-4T9QX-0M7KD.2").status == 404


class TestMidtransGivesBack:
    def test_a_card_once_it_is_settled(self, store: PaymentStore) -> None:
        at = AtMidtrans(store)

        def refund() -> Mapping[str, Any]:
            return {"refund_key": "r-1", "amount": TOTAL}

        at.is_now("capture")
        assert at.call("refund", name="trx-1", read=refund).body["status_code"] == "412"
        assert at.call("status", method="GET").body["transaction_status"] == "capture"
        at.is_now("paid")
        assert at.call("refund", name="trx-1", read=refund).body["status_code"] == "200"
        assert at.call("status", method="GET").body["transaction_status"] == "refund"


class TestXenditExpires:
    def at(self, store: PaymentStore, expires_at: datetime = SOON) -> Callable[[str, str], Answer]:
        store.open(REFERENCE, TOTAL, expires_at.isoformat(), gateway="xendit")
        gateway = xendit.StandIn(store, page_url="/pay")

        def call(method: str, path: str) -> Answer:
            answer = gateway.answer(method, path, nothing)
            assert answer is not None
            return answer

        return call

    @pytest.mark.parametrize("waits", [False, True])
    def test_an_open_invoice_once(self, store: PaymentStore, waits: bool) -> None:
        call = self.at(store)
        if waits:
            store.happen(REFERENCE, "pending")
        invoice_id = call("GET", f"/v2/invoices/invoice-{REFERENCE}").body["id"]
        first, second = (call("POST", f"/invoices/{invoice_id}/expire!") for _ in range(2))
        assert (first.status, first.body["status"], first.event is not None) == (200, "EXPIRED", True)
        assert (second.status, second.event) == (400, None)
        assert call("GET", f"/v2/invoices/{invoice_id}").body["status"] == "EXPIRED"

    def test_none_that_is_paid(self, store: PaymentStore) -> None:
        call = self.at(store)
        store.happen(REFERENCE, "paid")
        assert call("POST", f"/invoices/invoice-{REFERENCE}/expire!").status == 400
        assert call("GET", f"/v2/invoices/invoice-{REFERENCE}").body["status"] == "PAID"

    def test_by_itself_what_nobody_paid_in_its_time(self, store: PaymentStore) -> None:
        assert self.at(store, OVER)("GET", f"/v2/invoices/invoice-{REFERENCE}").body["status"] == "EXPIRED"

    def test_none_that_is_not_there(self, store: PaymentStore) -> None:
        call = self.at(store)
        assert call("POST", "/invoices/other/expire!").status == 404
        assert call("GET", "/v2/invoices/other").status == 404
