"""Where a signature does not cover what happened, the gateway is asked, and its own word is applied."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from psycopg import Connection

from skincare.app import App
from skincare.errors import TransientError
from skincare.payments.errors import EventUnconfirmed, GatewayNotConfigured, GatewayUnavailable
from skincare.payments.gateways.midtrans.client import MidtransClient
from skincare.payments.models import Attempt, EventStatus, Report
from tests.fakes.gateway_client import report_of
from tests.support.http import RecordingPublisher
from tests.support.log import recorded_log
from tests.support.payments import (
    KNOWN,
    anomalies,
    events,
    gateway_of,
    make_attempt,
    new_order,
    order_status,
    payments,
    run_jobs,
    take_in,
)
from tests.support.scripted_service import ScriptedService, http
from tests.support.webhooks import BODIES, NOW

TOTAL = 150_000
ASKED = pytest.mark.parametrize("gateway", ["midtrans", "xendit"])


def reported(app: App, attempt: Attempt, gateway: str = "midtrans", **changes: Any) -> None:
    """A truly signed webhook about an attempt."""
    name = {"midtrans": "order_id", "xendit": "external_id"}[gateway]
    take_in(app, gateway, **{name: attempt.reference} | changes)


def apply(app: App) -> None:
    run_jobs(app)


def again(app: App) -> None:
    """Apply once more what could not be applied."""
    try:
        jobs = list(publisher_of(app).jobs)
        run_jobs(app)
    except EventUnconfirmed:
        publisher_of(app).jobs = jobs
        raise


def publisher_of(app: App) -> RecordingPublisher:
    assert isinstance(app.publisher, RecordingPublisher)
    return app.publisher


def evidence(conn: Connection) -> list[tuple[str, int, str | None, int | None, bool]]:
    return conn.execute(
        "SELECT status, amount_rupiah, confirmed_status, confirmed_amount_rupiah, confirmed_at IS NOT NULL"
        " FROM payment_events ORDER BY received_at, id"
    ).fetchall()


class TestAnEventThatIsConfirmed:
    @ASKED
    def test_pays_the_order(self, app: App, conn: Connection, gateway: str) -> None:
        number = new_order(conn)
        attempt = make_attempt(conn, number, gateway)
        gateway_of(app, gateway).pay(attempt)
        reported(app, attempt, gateway)
        apply(app)
        assert order_status(conn, number) == "paid"
        assert payments(conn) == [("transaction-1", "paid", TOTAL, 0, True)]
        assert evidence(conn) == [("paid", TOTAL, "paid", TOTAL, True)]

    def test_is_asked_for_by_the_attempt_that_it_names(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        first, second = make_attempt(conn, number), make_attempt(conn, number)
        gateway_of(app, "midtrans").pay(first)
        reported(app, first)
        apply(app)
        assert [asked.reference for asked in gateway_of(app, "midtrans").asked] == [f"{number}.1"]
        assert second.reference == f"{number}.2"
        assert order_status(conn, number) == "paid"

    def test_of_a_bare_order_number_is_looked_for_among_all_attempts(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        first, _ = make_attempt(conn, number), make_attempt(conn, number)
        gateway_of(app, "midtrans").pay(first)
        take_in(app, "midtrans", order_id=number)
        apply(app)
        assert [asked.attempt_no for asked in gateway_of(app, "midtrans").asked] == [2, 1]
        assert order_status(conn, number) == "paid"

    def test_says_less_than_the_gateway_and_is_applied_as_the_gateway_says(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        attempt = make_attempt(conn, number)
        gateway_of(app, "midtrans").pay(attempt)
        reported(app, attempt, transaction_status="pending", status_code="201")
        apply(app)
        assert order_status(conn, number) == "paid"
        assert evidence(conn) == [("pending", TOTAL, "paid", TOTAL, True)]

    @pytest.mark.parametrize("order", ["psr", "prs", "spr", "srp", "rps", "rsp"])
    def test_keeps_three_states_of_one_transaction_apart_in_any_order(
        self, app: App, conn: Connection, order: str
    ) -> None:
        number = new_order(conn)
        attempt = make_attempt(conn, number)
        paid = report_of(attempt.reference)
        gateway_of(app, "midtrans").tell(
            attempt.reference,
            paid,
            replace(paid, status=EventStatus.REFUNDED, refund_key="refund-1", occurred_at=None),
        )
        bodies: dict[str, dict[str, Any]] = {
            "p": {"transaction_status": "pending", "status_code": "201"},
            "s": {},
            "r": {"transaction_status": "refund", "refund_key": "refund-1", "refund_amount": "150000.00"},
        }
        for event in order:
            reported(app, attempt, **bodies[event])
            apply(app)
        assert len(events(conn)) == 3
        assert (order_status(conn, number), anomalies(conn)) == ("refunded", [])
        assert payments(conn) == [("transaction-1", "refunded", TOTAL, TOTAL, True)]

    def test_takes_amount_currency_and_time_from_the_gateway_alone(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        attempt = make_attempt(conn, number)
        word = replace(report_of(attempt.reference, amount_rupiah=1_000), occurred_at=None)
        gateway_of(app, "midtrans").tell(attempt.reference, word)
        reported(app, attempt)
        apply(app)
        assert order_status(conn, number) == "pending"
        assert anomalies(conn) == [("wrong_amount", "refund", TOTAL, 1_000, 1_000)]
        row = conn.execute("SELECT occurred_at, confirmed_occurred_at FROM payment_events").fetchone()
        assert row is not None
        assert row[0] is not None
        assert row[1] is None

    def test_cannot_claim_to_be_the_earlier_payment(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        gateway = gateway_of(app, "midtrans")
        for minute, transaction in enumerate(("one", "two")):
            attempt = make_attempt(conn, number)
            paid = report_of(attempt.reference, transaction, occurred_at=NOW + timedelta(minutes=minute))
            gateway.tell(attempt.reference, paid)
            reported(app, attempt, transaction_id=transaction, transaction_time=f"20{26 - minute}-01-15 09:59:58")
            apply(app)
        assert payments(conn) == [("one", "paid", TOTAL, 0, True), ("two", "paid", TOTAL, 0, False)]

    @pytest.mark.parametrize(("original", "status"), [(TOTAL, "paid"), (TOTAL - 1, "pending")])
    def test_with_a_fee_on_top_of_the_price_pays_the_order(
        self, app: App, conn: Connection, original: int, status: str
    ) -> None:
        number = new_order(conn)
        attempt = make_attempt(conn, number)
        info = {"original_amount": str(original), "gross_amount": TOTAL + 705, "customer_imposed_payment_fee": "705"}
        reported_there: dict[str, Any] = {
            "gross_amount": f"{TOTAL + 705}.00",
            "metadata": {"extra_info": {"gross_amount_info": info}},
        }
        status_there = dict(BODIES["midtrans"]) | reported_there | {"order_id": attempt.reference}
        with ScriptedService(http(200, status_there)) as service:
            reported(app, attempt, **reported_there)
            run_jobs(replace(app, gateways={"midtrans": MidtransClient(service.url, service.url, secrets=KNOWN)}))
        # A breakdown that does not add up to the gross amount is worth nothing.
        paid = (TOTAL, []) if status == "paid" else (TOTAL + 705, ["wrong_amount"])
        assert order_status(conn, number) == status
        assert (payments(conn)[0][2], [kind for kind, *_ in anomalies(conn)]) == paid


class TestAForgedStatus:
    """A body of Midtrans can be sent again with another status: its signature still fits."""

    def test_of_a_refund_moves_no_money(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        attempt = make_attempt(conn, number)
        gateway_of(app, "midtrans").pay(attempt)
        reported(app, attempt)
        apply(app)
        reported(app, attempt, transaction_status="refund", refund_key="made-up", refund_amount="150000.00")
        with pytest.raises(EventUnconfirmed):
            apply(app)
        assert (order_status(conn, number), anomalies(conn)) == ("paid", [])
        assert payments(conn) == [("transaction-1", "paid", TOTAL, 0, True)]

    @pytest.mark.parametrize("status", ["cancel", "deny", "expire", "pending"])
    def test_of_another_end_is_corrected(self, app: App, conn: Connection, status: str) -> None:
        number = new_order(conn)
        attempt = make_attempt(conn, number)
        gateway_of(app, "midtrans").pay(attempt)
        reported(app, attempt)
        apply(app)
        reported(app, attempt, transaction_status=status)
        apply(app)
        assert (order_status(conn, number), anomalies(conn)) == ("paid", [])
        assert payments(conn) == [("transaction-1", "paid", TOTAL, 0, True)]

    def test_of_a_payment_that_was_cancelled_pays_nothing(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        attempt = make_attempt(conn, number)
        gateway_of(app, "midtrans").tell(attempt.reference, report_of(attempt.reference, status=EventStatus.FAILED))
        reported(app, attempt, transaction_status="cancel")
        reported(app, attempt, transaction_status="settlement")
        apply(app)
        assert order_status(conn, number) == "pending"
        assert payments(conn) == [("transaction-1", "failed", 0, 0, False)]

    def test_of_a_chargeback_waits_for_the_gateway(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        attempt = make_attempt(conn, number)
        gateway_of(app, "midtrans").pay(attempt)
        reported(app, attempt, transaction_status="chargeback")
        with pytest.raises(EventUnconfirmed):
            apply(app)
        assert (order_status(conn, number), anomalies(conn)) == ("pending", [])


class TestAnEventThatIsNotConfirmed:
    @pytest.mark.parametrize(
        "reports",
        [
            (),
            (report_of("SKN-0.1", status=EventStatus.PENDING),),
            (report_of("SKN-0.1", status=None),),
            (report_of("SKN-0.1", "transaction-2"),),
        ],
        ids=["nothing", "pending", "unknown", "another transaction"],
    )
    def test_comes_back_and_is_applied_once_the_gateway_says_it(
        self, app: App, conn: Connection, reports: tuple[Report, ...]
    ) -> None:
        number = new_order(conn)
        attempt = make_attempt(conn, number)
        gateway_of(app, "midtrans").tell(
            attempt.reference, *(replace(report, order_number=number) for report in reports)
        )
        reported(app, attempt)
        with pytest.raises(EventUnconfirmed):
            again(app)
        assert (order_status(conn, number), payments(conn)) == ("pending", [])
        assert evidence(conn) == [("paid", TOTAL, None, None, False)]
        gateway_of(app, "midtrans").pay(attempt)
        again(app)
        assert order_status(conn, number) == "paid"

    def test_of_an_attempt_that_nobody_started_asks_nobody(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        take_in(app, "midtrans", order_id=f"{number}.7")
        with pytest.raises(EventUnconfirmed):
            apply(app)
        assert gateway_of(app, "midtrans").asked == []

    def test_comes_back_while_the_gateway_is_down(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        attempt = make_attempt(conn, number)
        gateway_of(app, "midtrans").fail_next(GatewayUnavailable("midtrans", "timeout"))
        reported(app, attempt)
        with pytest.raises(GatewayUnavailable):
            apply(app)
        assert order_status(conn, number) == "pending"

    @ASKED
    def test_moves_no_money_where_nobody_can_be_asked(self, app: App, conn: Connection, gateway: str) -> None:
        attempt = make_attempt(conn, new_order(conn), gateway)
        reported(app, attempt, gateway)
        with pytest.raises(GatewayNotConfigured, match=f"GATEWAY_URL_{gateway.upper()}"):
            apply(replace(app, gateways={}))
        assert payments(conn) == []


class TestAsking:
    def test_holds_no_transaction_open(self, app: App, conn: Connection) -> None:
        attempt = make_attempt(conn, new_order(conn))
        gateway = gateway_of(app, "midtrans")
        gateway.pay(attempt)
        seen: list[Any] = []

        def look() -> None:
            seen.append(
                conn.execute(
                    "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                    " AND pid <> pg_backend_pid() AND xact_start IS NOT NULL"
                ).fetchone()
            )

        gateway.while_asked = look
        reported(app, attempt)
        apply(app)
        assert seen == [(0,)]

    def test_about_many_attempts_begins_somewhere_else_each_time(
        self, app: App, conn: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """There may be no time for all of them: every one has its turn."""
        number = new_order(conn)
        for _ in range(4):
            make_attempt(conn, number)
        gateway = gateway_of(app, "midtrans")
        take_in(app, "midtrans", order_id=number)
        firsts = []
        for first in range(4):
            monkeypatch.setattr("random.randrange", lambda _, first=first: first)
            gateway.asked.clear()
            with pytest.raises(EventUnconfirmed):
                again(app)
            assert {attempt.attempt_no for attempt in gateway.asked} == {1, 2, 3, 4}
            firsts.append(gateway.asked[0].attempt_no)
        assert sorted(firsts) == [1, 2, 3, 4]

    def test_names_the_transaction_of_the_event(self, app: App, conn: Connection) -> None:
        attempt = make_attempt(conn, new_order(conn))
        gateway_of(app, "midtrans").pay(attempt)
        reported(app, attempt)
        apply(app)
        assert gateway_of(app, "midtrans").named == ["transaction-1"]

    def test_of_a_gateway_whose_address_is_missing_waits_and_rings(self, app: App, conn: Connection) -> None:
        """The setting comes with a deploy: until then nothing is given up."""
        number = new_order(conn)
        attempt = make_attempt(conn, number)
        reported(app, attempt)
        jobs = list(publisher_of(app).jobs)
        with recorded_log() as log, pytest.raises(GatewayNotConfigured) as raised:
            apply(replace(app, gateways={}))
        assert isinstance(raised.value, TransientError)
        assert "payment.gateway_misconfigured" in log.text
        gateway_of(app, "midtrans").pay(attempt)
        publisher_of(app).jobs = jobs
        apply(app)
        assert order_status(conn, number) == "paid"

    def test_is_left_out_where_the_signature_covers_the_status(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        take_in(app, order_number=number)
        apply(app)
        assert order_status(conn, number) == "paid"
        assert gateway_of(app, "standard_webhooks").asked == []
        assert evidence(conn) == [("paid", TOTAL, None, None, False)]


def named(gateway: str) -> dict[str, Any]:
    """What a body says of the merchant."""
    return {"merchant_id": "G1"} if gateway == "midtrans" else {}


class TestAForeignMerchant:
    @pytest.mark.parametrize("gateway", ["midtrans", "doku"])
    def test_moves_no_money(self, app: App, conn: Connection, gateway: str) -> None:
        take_in(app, gateway, merchant_ids={gateway: "ours"}, **named(gateway))
        assert publisher_of(app).jobs == []
        assert events(conn) == [("quarantined", "paid")]
        row = conn.execute("SELECT flaw FROM payment_events").fetchone()
        assert row == ("it is about another merchant",)

    @pytest.mark.parametrize(
        ("gateway", "ours"), [("midtrans", "G1"), ("doku", "MCH-EXAMPLE-1"), ("standard_webhooks", "G1")]
    )
    def test_is_not_seen_in_our_own_or_where_none_is_named(
        self, app: App, conn: Connection, gateway: str, ours: str
    ) -> None:
        take_in(app, gateway, merchant_ids={gateway: ours}, **named(gateway))
        assert events(conn) == [("received", "paid")]
