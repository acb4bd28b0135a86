"""Words of gateways about money: voids, refunds without a key, and words that we do not know."""

import itertools
import json
from typing import Any

import psycopg
import pytest
from psycopg import Connection

from skincare.app import App
from skincare.identifiers import OrderNumber
from skincare.operations.repository import backlog, timelines
from skincare.payments import repository
from skincare.payments.anomalies.repository import open_work
from skincare.payments.answers.service import keep
from skincare.payments.errors import RefundNotPossible, WebhookContested
from skincare.payments.models import EventStatus
from skincare.payments.refunds.models import RefundRequest
from skincare.payments.service import receive
from skincare.payments.unknown_statuses.repository import FLAW
from tests.fakes.gateway_client import report_of
from tests.support.payments import (
    KNOWN,
    anomalies,
    ask_for_refund,
    checked,
    events,
    gateway_of,
    make_attempt,
    new_order,
    order_status,
    payments,
    run_jobs,
    take_in,
    tell,
)
from tests.support.webhooks import NOW, SECRETS, of_doku

TOTAL = 150_000

_numbers = itertools.count(1)


def doku(
    app: App, number: OrderNumber, status: str, *, date: str | None = "2026-01-15T03:00:00Z", amount: int = TOTAL
) -> None:
    """Take in a notification with a request id of its own."""
    content = {
        "order": {"invoice_number": number, "amount": amount},
        "transaction": {"status": status, "original_request_id": f"{number}-t", "date": date},
    }
    webhook = of_doku(json.dumps(content).encode(), secret=SECRETS["doku"], request_id=f"request-{next(_numbers)}")
    receive(
        "doku",
        webhook,
        secrets=KNOWN,
        database=app.database,
        publisher=app.publisher,
        request_id="request-1",
        now=NOW,
    )


def midtrans(app: App, conn: Connection, number: OrderNumber, *words: tuple[str, EventStatus]) -> None:
    """Let Midtrans tell words of one attempt, each confirmed as a status."""
    attempt = make_attempt(conn, number)
    for word, status in words:
        gateway_of(app, "midtrans").tell(attempt.reference, report_of(attempt.reference, status=status))
        take_in(app, "midtrans", order_id=attempt.reference, transaction_status=word)
        run_jobs(app)


def flaws(conn: Connection) -> list[str]:
    return [flaw for (flaw,) in conn.execute("SELECT flaw FROM payment_events WHERE flaw IS NOT NULL")]


class TestAVoid:
    def test_of_the_payment_of_an_order_gives_its_money_back(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        midtrans(app, conn, number, ("capture", EventStatus.PAID), ("cancel", EventStatus.VOIDED))
        assert (order_status(conn, number), anomalies(conn)) == ("refunded", [])
        assert payments(conn) == [("transaction-1", "refunded", TOTAL, TOTAL, True)]

    def test_that_is_not_confirmed_moves_nothing(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        midtrans(app, conn, number, ("capture", EventStatus.PAID), ("cancel", EventStatus.PAID))
        assert (order_status(conn, number), payments(conn)[0][1]) == ("paid", "paid")

    def test_of_a_double_leaves_nothing_to_give_back(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        tell(app, number, "paid", "one")
        tell(app, number, "paid", "two", minute=1)
        tell(app, number, "voided", "two", minute=2)
        assert (order_status(conn, number), anomalies(conn)) == ("paid", [])

    @pytest.mark.parametrize("history", list(itertools.permutations(["paid", "voided", "failed"])))
    def test_ends_the_same_whenever_it_is_told(self, app: App, conn: Connection, history: tuple[str, ...]) -> None:
        number = new_order(conn)
        for status in history:
            tell(app, number, status)
        assert (order_status(conn, number), anomalies(conn)) == ("refunded", [])

    def test_of_what_nobody_paid_leaves_the_order_open(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        midtrans(app, conn, number, ("pending", EventStatus.PENDING), ("cancel", EventStatus.VOIDED))
        assert (order_status(conn, number), payments(conn)[0][1:3]) == ("pending", ("failed", 0))

    def test_is_no_failure_that_comes_late(self, app: App, conn: Connection) -> None:
        """A denial may be a word about an earlier try: whether money is here, a person finds out."""
        number = new_order(conn)
        midtrans(app, conn, number, ("settlement", EventStatus.PAID), ("deny", EventStatus.FAILED))
        assert order_status(conn, number) == "paid"
        assert [kind for kind, *_ in anomalies(conn)] == ["failed_though_paid"]


class TestMoneyThatABankTook:
    @pytest.mark.parametrize("other", [{}, {"amount_rupiah": 1}])
    def test_of_a_payment_that_did_not_fit_is_no_task_and_no_finding(
        self, app: App, conn: Connection, other: dict[str, Any]
    ) -> None:
        number = new_order(conn)
        tell(app, number, "paid", "one")
        tell(app, number, "paid", "two", minute=1, **other)
        tell(app, number, "chargeback", "two", minute=2)
        assert (order_status(conn, number), [each[:2] for each in anomalies(conn)]) == (
            "paid",
            [("chargeback", "review")],
        )
        assert checked(app).findings == ()

    def test_of_the_earlier_of_two_payments_lets_the_other_pay(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        tell(app, number, "paid", "one")
        tell(app, number, "paid", "two", minute=1)
        tell(app, number, "chargeback", "one", minute=2)
        assert payments(conn) == [("one", "chargeback", TOTAL, 0, False), ("two", "paid", TOTAL, 0, True)]
        assert checked(app).findings == ()


class TestDoku:
    @pytest.mark.parametrize("history", [["SUCCESS", "REFUNDED"], ["REFUNDED", "SUCCESS"]])
    def test_refunds_an_order_however_often_it_says_so(self, app: App, conn: Connection, history: list[str]) -> None:
        number = new_order(conn)
        for index, status in enumerate([*history, *history]):
            doku(app, number, status, date=f"2026-01-15T03:00:0{index}Z")
            run_jobs(app)
        assert (order_status(conn, number), anomalies(conn)) == ("refunded", [])
        assert [row[3] for row in payments(conn)] == [TOTAL]

    @pytest.mark.parametrize("status", ["TIMEOUT", "REDIRECT"])
    def test_has_words_that_wait_for_another(self, app: App, conn: Connection, status: str) -> None:
        number = new_order(conn)
        doku(app, number, status)
        run_jobs(app)
        assert (order_status(conn, number), events(conn)) == ("pending", [("applied", "pending")])


class TestAWordThatWeDoNotKnow:
    def test_of_an_order_that_nobody_paid_is_ignored(self, app: App, conn: Connection) -> None:
        doku(app, new_order(conn), "DISPUTED")
        doku(app, OrderNumber("SKN-00000-00000"), "DISPUTED", date=None)
        assert events(conn) == [("ignored", None)] * 2

    @pytest.mark.parametrize("word_first", [False, True])
    @pytest.mark.parametrize("date", ["2026-01-15T03:00:00Z", "2026-01-16T03:00:00Z", None])
    def test_of_an_order_that_was_paid_waits_for_a_person(
        self, app: App, conn: Connection, date: str | None, *, word_first: bool
    ) -> None:
        number = new_order(conn)
        if word_first:
            doku(app, number, "DISPUTED", date=date)
        doku(app, number, "SUCCESS")
        run_jobs(app)
        if not word_first:
            doku(app, number, "DISPUTED", date=date)
        assert sorted(events(conn)) == [("applied", "paid"), ("quarantined", None)]
        assert flaws(conn) == [FLAW]
        assert open_work(conn).quarantined_events == 1

    @pytest.mark.parametrize("word_first", [False, True])
    def test_that_was_said_before_the_payment_is_ignored(self, app: App, conn: Connection, *, word_first: bool) -> None:
        number = new_order(conn)
        told = [("CHECKING", "2026-01-15T02:00:00Z"), ("SUCCESS", "2026-01-15T03:00:00Z")]
        for status, date in told if word_first else reversed(told):
            doku(app, number, status, date=date)
            run_jobs(app)
        assert sorted(events(conn)) == [("applied", "paid"), ("ignored", None)]

    def test_waits_for_whoever_applies_a_payment_and_is_seen_by_a_copy(
        self, app: App, conn: Connection, database_url: str
    ) -> None:
        """Stored and then given up: the gateway sends it again, and the copy finishes what the first began."""
        number = new_order(conn)
        tell(app, number, "paid")
        with psycopg.connect(database_url) as other:
            assert repository.lock_order(other, number) is not None
            with pytest.raises(WebhookContested):
                tell(app, number, "on_hold", key="same")
        assert sorted(events(conn)) == [("applied", "paid"), ("ignored", None)]
        tell(app, number, "on_hold", key="same")
        assert sorted(events(conn)) == [("applied", "paid"), ("quarantined", None)]

    def test_is_seen_once_however_often_it_comes(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        tell(app, number, "paid")
        for _ in range(3):
            tell(app, number, "on_hold", key="same")
        assert sorted(events(conn)) == [("applied", "paid"), ("quarantined", None)]


class TestARefundThatDiffers:
    @pytest.fixture
    def number(self, app: App, conn: Connection) -> OrderNumber:
        number = new_order(conn)
        tell(app, number, "paid")
        ask_for_refund(app, RefundRequest(number, "damaged", "a person", amount_rupiah=20_000, key="K"))
        return number

    def refund(self, conn: Connection) -> list[tuple[str, int]]:
        return conn.execute("SELECT state, amount_rupiah FROM refunds").fetchall()

    def test_from_what_was_asked_for_is_not_booked_and_rings(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        tell(app, number, "partially_refunded", minute=1, refund_id="K", amount_rupiah=1_000)
        assert self.refund(conn) == [("requested", 20_000)]
        assert anomalies(conn) == [("refund_differs", "review", 20_000, 1_000, 0)]
        assert payments(conn)[0][3] == 1_000

    @pytest.mark.parametrize("amounts", [(1_000, 20_000), (20_000, 1_000)])
    def test_from_another_of_its_key_rings_whichever_came_first(
        self, app: App, conn: Connection, number: OrderNumber, amounts: tuple[int, int]
    ) -> None:
        for minute, amount in enumerate(amounts, start=1):
            tell(app, number, "partially_refunded", minute=minute, refund_id="K", amount_rupiah=amount)
        assert self.refund(conn) == [("booked", 20_000)]
        assert anomalies(conn) == [("refund_differs", "review", 20_000, 1_000, 0)]
        assert payments(conn)[0][3] == 20_000

    def test_that_nobody_asked_for_counts_with_the_larger_amount(self, app: App, conn: Connection) -> None:
        """What may still be given back is never too much."""
        number = new_order(conn)
        tell(app, number, "paid", "other")
        for minute, amount in enumerate((1_000, 20_000), start=1):
            tell(app, number, "partially_refunded", "other", minute=minute, refund_id="console", amount_rupiah=amount)
        assert payments(conn)[0][3] == 20_000
        assert anomalies(conn) == [("refund_differs", "review", 20_000, 1_000, 0)]

    def test_from_what_a_webhook_told_is_learned_from_the_gateways_answer(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        tell(app, number, "partially_refunded", minute=1, refund_id="K", amount_rupiah=20_000)
        report = report_of(f"{number}.1", "one", EventStatus.PARTIALLY_REFUNDED, 1_000, refund_key="K")
        for _ in range(2):
            keep(number, [("standard_webhooks", report)], database=app.database, publisher=app.publisher)
            run_jobs(app)
        assert (self.refund(conn), payments(conn)[0][3]) == ([("booked", 20_000)], 20_000)
        assert anomalies(conn) == [("refund_differs", "review", 20_000, 1_000, 0)]

    def test_cannot_be_asked_for_of_money_that_a_bank_took(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        tell(app, number, "chargeback", minute=1)
        with pytest.raises(RefundNotPossible):
            ask_for_refund(app, RefundRequest(number, "damaged", "a person", amount_rupiah=1))


class TestAnEventThatWasCorrected:
    def forge(self, app: App, conn: Connection) -> OrderNumber:
        number = new_order(conn)
        midtrans(app, conn, number, ("settlement", EventStatus.PAID), ("cancel", EventStatus.PAID))
        return number

    def test_is_told_as_evidence_and_its_effect_as_the_gateways_word(self, app: App, conn: Connection) -> None:
        timeline = timelines.order(conn, self.forge(app, conn))
        assert timeline is not None
        told: dict[str, list[Any]] = {}
        for each in timeline.happenings:
            told.setdefault(each.what, []).append(each.detail)
        assert any("midtrans reports voided" in detail for detail in told["payment event received"])
        assert all(detail.startswith("midtrans paid, Rp150.000") for detail in told["payment event applied"])
        assert sum("not as reported" in detail for detail in told["payment event applied"]) == 1

    def test_is_listed_and_counted(self, app: App, conn: Connection) -> None:
        number = self.forge(app, conn)
        found = backlog.payments(conn, limit=10).corrected
        assert [(each.order_number, each.told, each.confirmed) for each in found] == [(number, "voided", "paid")]
        assert open_work(conn).corrected_events == 1

    def test_is_none_where_the_payment_only_went_on(self, app: App, conn: Connection) -> None:
        midtrans(app, conn, new_order(conn), ("pending", EventStatus.PAID))
        assert (backlog.payments(conn, limit=10).corrected, open_work(conn).corrected_events) == ((), 0)
