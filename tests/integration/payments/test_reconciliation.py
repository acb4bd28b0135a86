"""Once a day everything about money is held against each other: what is safe is mended, the rest is told."""

from collections.abc import Iterator
from datetime import timedelta

import psycopg
import pytest
from psycopg import Connection

from skincare.app import App
from skincare.identifiers import OrderNumber, UserId
from skincare.jobs.catalog import ReconcilePayments
from skincare.orders import repository as orders
from skincare.payments.errors import GatewayRefused, GatewayUnavailable, ReconciliationUnfinished
from skincare.payments.expiry.repository import KnownAttempt
from skincare.payments.findings.repository import findings
from skincare.payments.models import EventStatus
from skincare.payments.reconciliation import service
from skincare.payments.refunds.models import RefundRequest
from tests.fakes.gateway_client import report_of
from tests.support.factories import make_order
from tests.support.log import recorded_log
from tests.support.payments import (
    anomalies,
    ask_for_refund,
    checked,
    new_order,
    order_status,
    payments,
    run_jobs,
    take_in,
    tell,
)
from tests.support.timers import asking, gateway_says, start_attempt
from worker.handlers import reconcile_payments

TOTAL = 150_000
HOUR = timedelta(hours=1)


@pytest.fixture
def owner(owner_url: str) -> Iterator[Connection]:
    with psycopg.connect(owner_url, autocommit=True) as connection:
        yield connection


def age(owner: Connection, time: timedelta) -> None:
    """Make everything about money so much older; its jobs keep their times."""
    owner.execute("UPDATE payment_events SET received_at = received_at - %s", [time])
    owner.execute("UPDATE refunds SET created_at = created_at - %s", [time])
    owner.execute("UPDATE orders SET created_at = created_at - %(t)s, expires_at = expires_at - %(t)s", {"t": time})


def repaired(app: App) -> list[tuple[str, str]]:
    return [(each.kind, each.order_number) for each in checked(app).repaired]


def found(app: App) -> list[tuple[str, str | None]]:
    return [(each.kind, each.order_number) for each in checked(app).findings]


def reconcile(app: App) -> None:
    reconcile_payments.handle(ReconcilePayments(), app)


class TestWhatIsMended:
    def test_is_an_event_whose_job_is_gone(self, app: App, conn: Connection, owner: Connection) -> None:
        number = new_order(conn)
        take_in(app, order_number=number)
        age(owner, HOUR)
        assert repaired(app) == []
        owner.execute("DELETE FROM jobs WHERE job_type = 'process_payment'")
        assert repaired(app) == [("process_payment", number)]
        assert repaired(app) == []
        payload = conn.execute("SELECT payload FROM jobs WHERE job_type = 'process_payment'").fetchall()
        assert payload == [({"event_id": str(event)},) for (event,) in conn.execute("SELECT id FROM payment_events")]

    def test_is_no_event_of_this_moment(self, app: App, conn: Connection, owner: Connection) -> None:
        take_in(app, order_number=new_order(conn))
        owner.execute("DELETE FROM jobs WHERE job_type = 'process_payment'")
        assert repaired(app) == []

    def test_is_no_event_whose_job_is_dead_for_a_person_has_that(
        self, app: App, conn: Connection, owner: Connection
    ) -> None:
        take_in(app, order_number=new_order(conn))
        conn.execute("UPDATE jobs SET state = 'dead_letter' WHERE job_type = 'process_payment'")
        age(owner, 25 * HOUR)
        assert repaired(app) == []
        assert [kind for kind, _ in found(app)] == ["event_not_applied"]

    def test_is_a_refund_whose_job_is_gone(self, app: App, conn: Connection, owner: Connection) -> None:
        number = new_order(conn)
        tell(app, number, "paid")
        ask_for_refund(app, RefundRequest(number, "x", "x"))
        age(owner, HOUR)
        assert repaired(app) == []
        owner.execute("DELETE FROM jobs WHERE job_type = 'send_refund'")
        assert repaired(app) == [("send_refund", number)]
        assert repaired(app) == []

    def test_is_an_unpaid_order_whose_timer_is_gone(self, app: App, conn: Connection, owner: Connection) -> None:
        number = new_order(conn)
        owner.execute("DELETE FROM jobs WHERE job_type = 'expire_order'")
        age(owner, timedelta(minutes=74))
        assert repaired(app) == []
        age(owner, timedelta(minutes=2))
        assert repaired(app) == [("expire_order", number)]
        assert repaired(app) == []

    def test_is_no_order_that_has_more_time_by_its_way_to_pay(
        self, app: App, conn: Connection, owner: Connection
    ) -> None:
        number = new_order(conn)
        owner.execute("DELETE FROM jobs WHERE job_type = 'expire_order'")
        conn.execute("UPDATE orders SET expires_at = created_at + interval '24 hours'")
        age(owner, 24 * HOUR)
        assert repaired(app) == []
        age(owner, HOUR)
        assert repaired(app) == [("expire_order", number)]


class TestWhatIsFound:
    def test_is_nothing_where_everything_adds_up(self, app: App, conn: Connection) -> None:
        paid, refunded, closed = new_order(conn), new_order(conn), make_order(conn, user_id="ani").order.order_number
        tell(app, paid, "paid", "one")
        tell(app, paid, "paid", "double", minute=1)
        tell(app, refunded, "paid", "two")
        tell(app, refunded, "partially_refunded", "two", minute=1, amount_rupiah=1)
        orders.cancel(conn, UserId("ani"), closed)
        tell(app, closed, "paid", "three")
        assert found(app) == []

    @pytest.mark.parametrize(
        ("change", "kind"),
        [
            ("UPDATE orders SET status = 'refunded'", "order_differs_from_payment"),
            ("UPDATE payments SET pays_order = false", "order_differs_from_payment"),
            ("UPDATE payments SET pays_order = false", "money_without_task"),
            ("UPDATE payments SET refunded_rupiah = 1", "order_differs_from_payment"),
        ],
    )
    def test_is_an_order_that_its_money_does_not_add_up_to(
        self, app: App, conn: Connection, change: str, kind: str
    ) -> None:
        number = new_order(conn)
        tell(app, number, "paid")
        conn.execute(change.encode())
        assert (kind, number) in found(app)

    def test_is_money_of_an_open_order(self, app: App, conn: Connection, owner: Connection) -> None:
        first, number = new_order(conn), new_order(conn)
        tell(app, first, "paid")
        owner.execute("UPDATE payments SET order_id = (SELECT id FROM orders WHERE order_number = %s)", [number])
        assert ("payment_of_open_order", number) in found(app)

    def test_is_an_event_that_was_set_aside(self, app: App) -> None:
        take_in(app, order_number="\x00")
        assert found(app) == [("event_quarantined", None)]

    def test_is_a_refund_that_no_event_booked(self, app: App, conn: Connection, owner: Connection) -> None:
        number = new_order(conn)
        tell(app, number, "paid")
        refund = ask_for_refund(app, RefundRequest(number, "x", "x"))
        conn.execute("UPDATE refunds SET state = 'sent'")
        age(owner, timedelta(days=4))
        assert found(app) == [("refund_not_booked", number)]
        assert [each.subject for each in findings.open_findings(conn, limit=10)] == [refund.key]

    def test_is_a_refund_that_was_refused_until_it_is_run_again_or_discarded(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        tell(app, number, "paid")
        refund = ask_for_refund(app, RefundRequest(number, "x", "x"))
        conn.execute("UPDATE refunds SET state = 'refused', refusal = 'x'")
        conn.execute("UPDATE jobs SET state = 'dead_letter' WHERE job_type = 'send_refund'")
        assert found(app) == [("refund_refused", number)]
        assert [each.subject for each in findings.open_findings(conn, limit=10)] == [refund.key]
        for change, back in (
            (
                "UPDATE refunds SET state = 'requested', refusal = NULL",
                "UPDATE refunds SET state = 'refused', refusal = 'x'",
            ),
            ("UPDATE jobs SET state = 'cancelled', publish_at = NULL, finished_at = now()", "SELECT 1"),
        ):
            conn.execute(change)
            assert found(app) == []
            conn.execute(back)

    def test_is_written_down_told_once_as_an_error_and_gone_when_it_is_gone(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        tell(app, number, "paid")
        conn.execute("UPDATE orders SET status = 'refunded'")
        levels = []
        for status in ("refunded", "refunded", "paid", "refunded"):
            conn.execute("UPDATE orders SET status = %s", [status])
            with recorded_log() as log:
                checked(app)
            levels += [line["level"] for line in log.lines if line["message"] == "reconciliation.checked"]
            still = [each.kind for each in findings.open_findings(conn, limit=10)]
            assert still == (["order_differs_from_payment"] if status == "refunded" else [])
        assert levels[:3] == ["ERROR", "INFO", "INFO"]


class TestTheGateways:
    @pytest.fixture
    def closed(self, conn: Connection) -> OrderNumber:
        """A cancelled order with a payment that was started."""
        number = make_order(conn, user_id="ani").order.order_number
        start_attempt(conn, number, expires_in=-2 * HOUR)
        orders.cancel(conn, UserId("ani"), number)
        return number

    def test_are_asked_once_about_an_attempt_that_ended(self, app: App, closed: OrderNumber) -> None:
        app, client = asking(app)
        reconcile(app)
        reconcile(app)
        assert [attempt.order_number for attempt in client.asked] == [closed]

    def test_know_of_money_that_no_webhook_told(self, app: App, conn: Connection, closed: OrderNumber) -> None:
        app, client = asking(app)
        gateway_says(client, f"{closed}.1")
        reconcile(app)
        run_jobs(app)
        assert order_status(conn, closed) == "cancelled"
        assert anomalies(conn) == [("order_closed", "refund", TOTAL, TOTAL, TOTAL)]

    def test_know_of_a_refund_that_no_webhook_told(self, app: App, conn: Connection) -> None:
        app, client = asking(app)
        number = new_order(conn)
        reference = start_attempt(conn, number, expires_in=-2 * HOUR)
        tell(app, number, "paid", "one")
        tell(app, number, "partially_refunded", "one", minute=1, amount_rupiah=1, refund_id="r-1")
        refunds = [
            report_of(reference, "one", EventStatus.REFUNDED, amount, refund_key=key)
            for key, amount in (("r-1", 1), ("r-2", 2))
        ]
        client.tell(reference, report_of(reference, "one"), *refunds)
        reconcile(app)
        run_jobs(app)
        assert payments(conn) == [("one", "partially_refunded", TOTAL, 3, True)]
        assert conn.execute("SELECT count(*) FROM payment_events").fetchone() == (3,)

    def test_are_not_asked_about_orders_that_have_their_timer_or_can_be_paid(self, app: App, conn: Connection) -> None:
        app, client = asking(app)
        start_attempt(conn, new_order(conn), expires_in=-2 * HOUR)
        number = new_order(conn)
        start_attempt(conn, number, expires_in=HOUR)
        tell(app, number, "paid")
        reconcile(app)
        assert client.asked == []

    def test_that_do_not_answer_are_asked_again(self, app: App, closed: OrderNumber) -> None:
        app, client = asking(app)
        client.fail_next(GatewayUnavailable("standard_webhooks", "timed out"))
        with pytest.raises(GatewayUnavailable):
            reconcile(app)
        reconcile(app)
        assert len(client.asked) == 1

    @pytest.mark.parametrize("attempts", [1, 25])
    def test_that_do_not_answer_are_not_in_the_way_of_others(
        self, app: App, conn: Connection, closed: OrderNumber, attempts: int
    ) -> None:
        """Also one that the shop has left, of which there are more attempts than a run has room for."""
        app, client = asking(app)
        for attempt_no in range(2, 2 + attempts):
            start_attempt(conn, closed, attempt_no, expires_in=-2 * HOUR, gateway="xendit")
        conn.execute("UPDATE payment_attempts SET created_at = now() - interval '1 day' WHERE gateway = 'xendit'")
        gateway_says(client, f"{closed}.1")
        with pytest.raises(GatewayUnavailable):
            reconcile(app)
        assert [attempt.attempt_no for attempt in client.asked] == [1]
        run_jobs(app)
        assert [kind for kind, *_ in anomalies(conn)] == ["order_closed"]

    def test_that_answer_slowly_leave_the_others_their_turn(
        self, app: App, conn: Connection, closed: OrderNumber, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        start_attempt(conn, closed, 2, expires_in=-2 * HOUR, gateway="xendit")
        asked: list[str] = []

        def ask(known: KnownAttempt, **_: object) -> int:
            asked.append(known.gateway)
            return 0

        monkeypatch.setattr(service, "_ask", ask)
        for _ in range(64):
            reconcile(app)
        assert set(asked[::2]) == {"standard_webhooks", "xendit"}

    def test_that_refuse_to_tell_are_not_in_the_way_of_others(
        self, app: App, conn: Connection, closed: OrderNumber
    ) -> None:
        app, client = asking(app)
        start_attempt(conn, closed, 2, expires_in=-2 * HOUR)
        client.fail_next(GatewayRefused("standard_webhooks", "unknown"))
        reconcile(app)
        assert len(client.asked) == 1

    def test_are_asked_in_portions(self, app: App, conn: Connection, closed: OrderNumber) -> None:
        app, client = asking(app)
        for attempt_no in range(2, 24):
            start_attempt(conn, closed, attempt_no, expires_in=-2 * HOUR)
        with pytest.raises(ReconciliationUnfinished):
            reconcile(app)
        reconcile(app)
        assert len(client.asked) == len({attempt.reference for attempt in client.asked}) == 23
