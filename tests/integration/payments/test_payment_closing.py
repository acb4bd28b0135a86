"""Whatever ends an order's wish for money has its other payments closed at their gateways, outside its transaction."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest
from psycopg import Connection

from skincare.app import App
from skincare.identifiers import OrderNumber
from skincare.jobs.catalog import ClosePayments
from skincare.payments.attempts import repository as attempts
from skincare.payments.closing import service
from skincare.payments.errors import AttemptsUnasked, GatewayUnavailable, OrderMaybePaid, PaymentUnderWay
from skincare.payments.models import EventStatus
from tests.support import ledger
from tests.support.factories import make_order, make_product
from tests.support.http import Client
from tests.support.jobs import run_due, states_of
from tests.support.payments import anomalies, events, gateway_of, order_status, run_jobs, tell
from tests.support.shop import stock
from tests.support.timers import ENDED, GATEWAY, OPEN, asking, gateway_says, start_attempt
from worker.handlers import close_payments

TOTAL = 150_000
STOCK = 10
CLOSE = ClosePayments.job_type


@pytest.fixture
def number(conn: Connection) -> OrderNumber:
    sku = make_product(conn, sku="SERUM", price_rupiah=TOTAL, stock=STOCK).sku
    return make_order(conn, user_id="ani", lines={sku: 1}).order.order_number


@pytest.fixture
def owner(owner_url: str) -> Iterator[Connection]:
    with psycopg.connect(owner_url, autocommit=True) as connection:
        yield connection


def cancel(app: App, number: OrderNumber) -> None:
    assert Client(app, "ani").cancel(number).status == 200


def close(app: App, number: OrderNumber) -> None:
    close_payments.handle(ClosePayments(order_number=number), app)


def closed(conn: Connection) -> list[bool]:
    return [row[0] for row in conn.execute("SELECT closed_at IS NOT NULL FROM payment_attempts ORDER BY attempt_no")]


class TestACancelledOrder:
    def test_has_its_open_payment_closed_by_a_job_of_the_same_transaction(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        app, client = asking(app)
        reference = start_attempt(conn, number, expires_in=OPEN)
        gateway_says(client, reference, status=EventStatus.PENDING)
        cancel(app, number)
        assert (client.closed, states_of(conn, CLOSE)) == ([], ["pending"])
        assert CLOSE in [job.job_type for job in app.publisher.jobs]  # type: ignore[attr-defined]
        assert run_due(app, conn, of_type=CLOSE) == 1
        assert (client.closed, closed(conn), states_of(conn, CLOSE)) == ([reference], [True], ["completed"])

    def test_asks_no_gateway_while_it_is_cancelled(self, app: App, conn: Connection, number: OrderNumber) -> None:
        """A gateway that is down is no reason to keep an order that nobody wants."""
        app, client = asking(app)
        start_attempt(conn, number, expires_in=OPEN)
        client.while_asked = lambda: pytest.fail("a gateway was asked")
        cancel(app, number)
        assert (order_status(conn, number), stock(conn, "SERUM")) == ("cancelled", STOCK)

    def test_asks_once_however_often_it_is_cancelled(self, app: App, conn: Connection, number: OrderNumber) -> None:
        for _ in range(3):
            cancel(app, number)
        assert states_of(conn, CLOSE) == ["pending"]

    def test_that_is_not_cancelled_after_all_closes_nothing(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        app, client = asking(app)
        reference = start_attempt(conn, number, expires_in=OPEN)
        gateway_says(client, reference, status=EventStatus.PENDING)
        close(app, number)
        assert (client.closed, closed(conn)) == ([], [False])
        tell(app, number, "paid")
        assert Client(app, "ani").cancel(number).status == 409

    def test_that_was_never_sent_to_a_gateway_needs_none(self, app: App, conn: Connection, number: OrderNumber) -> None:
        app = replace(app, gateways={})
        cancel(app, number)
        assert run_due(app, conn, of_type=CLOSE) == 1
        assert states_of(conn, CLOSE) == ["completed"]

    def test_of_many_attempts_has_each_closed_in_as_many_tries_as_it_takes(
        self, app: App, conn: Connection, number: OrderNumber, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        app, client = asking(app)
        references = [start_attempt(conn, number, attempt_no, expires_in=OPEN) for attempt_no in range(1, 6)]
        for reference in references:
            gateway_says(client, reference, status=EventStatus.PENDING)
        cancel(app, number)
        tries = 0
        while not all(closed(conn)):
            tries += 1
            left = iter([10.0, 8.0, 5.0])
            monkeypatch.setattr(service, "seconds_left", lambda left=left: next(left, 0.0))
            try:
                close(app, number)
            except AttemptsUnasked:
                continue
        assert (tries, sorted(client.closed)) == (3, references)

    def test_is_closed_again_after_a_crash_before_that_was_noted(
        self, app: App, conn: Connection, number: OrderNumber, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        app, client = asking(app)
        reference = start_attempt(conn, number, expires_in=OPEN)
        gateway_says(client, reference, status=EventStatus.PENDING)
        cancel(app, number)
        with monkeypatch.context() as crash:
            crash.setattr(attempts, "close", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                close(app, number)
        for _ in range(2):
            close(app, number)
        assert (client.closed, closed(conn)) == ([reference, reference], [True])

    def test_waits_for_a_gateway_that_does_not_answer(self, app: App, conn: Connection, number: OrderNumber) -> None:
        app, client = asking(app)
        reference = start_attempt(conn, number, expires_in=OPEN)
        gateway_says(client, reference, status=EventStatus.PENDING)
        cancel(app, number)
        client.fail_next(GatewayUnavailable(GATEWAY, "timed out"))
        run_due(app, conn, of_type=CLOSE)
        assert states_of(conn, CLOSE) == ["retry_waiting"]
        ledger.let_pass(conn, timedelta(minutes=1))
        run_due(app, conn, of_type=CLOSE)
        assert (client.closed, states_of(conn, CLOSE)) == ([reference], ["completed"])


class TestAPageThatItsGatewayDoesNotKnowYet:
    """Somebody may still choose how to pay there, and a start may be under way while its order is cancelled."""

    def test_is_looked_at_again_until_somebody_has_chosen(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        app, client = asking(app)
        reference = start_attempt(conn, number, expires_in=OPEN)
        cancel(app, number)
        with pytest.raises(PaymentUnderWay):
            close(app, number)
        gateway_says(client, reference, status=EventStatus.PENDING)
        close(app, number)
        assert closed(conn) == [True]

    def test_is_over_with_its_time(self, app: App, conn: Connection, number: OrderNumber) -> None:
        app, _ = asking(app)
        start_attempt(conn, number, expires_in=ENDED)
        cancel(app, number)
        close(app, number)
        assert closed(conn) == [True]

    def test_that_is_started_while_the_order_is_cancelled_is_closed(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        """Its customer is sent nowhere, and nobody else may pay at that address."""
        client = gateway_of(app, GATEWAY)

        def cancel_and_close() -> None:
            cancel(app, number)
            with pytest.raises(PaymentUnderWay):
                close(app, number)

        def meanwhile() -> None:
            client.while_asked = lambda: None
            with ThreadPoolExecutor(1) as other:  # another request, with a deadline of its own
                other.submit(cancel_and_close).result()

        client.while_asked = meanwhile
        answer = Client(app, "ani").request("POST", f"/v1/orders/{number}/payment")
        assert (answer.status, answer.code) == (409, "order_not_payable")
        close(app, number)
        assert (client.closed, closed(conn)) == ([f"{number}.1"], [True])


class TestMoneyThatIsFaster:
    @pytest.mark.parametrize("when", ["before the closing", "in the moment of closing"])
    def test_is_kept_and_goes_back(self, app: App, conn: Connection, number: OrderNumber, when: str) -> None:
        app, client = asking(app)
        reference = start_attempt(conn, number, expires_in=OPEN)
        gateway_says(client, reference, status=EventStatus.PENDING)
        cancel(app, number)
        if when == "before the closing":
            gateway_says(client, reference)
        else:
            client.while_asked = lambda: gateway_says(client, reference)
        with pytest.raises(OrderMaybePaid):
            close(app, number)
        run_jobs(app)
        close(app, number)
        assert (order_status(conn, number), stock(conn, "SERUM")) == ("cancelled", STOCK)
        assert anomalies(conn) == [("order_closed", "refund", TOTAL, TOTAL, TOTAL)]
        assert events(conn) == [("applied", "paid")]

    def test_under_way_that_nobody_stops_is_looked_at_again(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        app, client = asking(app)
        reference = start_attempt(conn, number, expires_in=OPEN)
        gateway_says(client, reference, status=EventStatus.PENDING)
        client.cannot_close.add(reference)
        cancel(app, number)
        with pytest.raises(PaymentUnderWay):
            close(app, number)
        client.cannot_close.clear()
        close(app, number)
        assert closed(conn) == [True]


class TestAnOrderThatIsPaid:
    def test_has_its_other_open_payment_closed(self, app: App, conn: Connection, number: OrderNumber) -> None:
        """Nobody pays it a second time at a page that somebody left open."""
        app, client = asking(app)
        first, second = (start_attempt(conn, number, no, expires_in=OPEN) for no in (1, 2))
        gateway_says(client, first, status=EventStatus.PENDING, transaction_id="one")
        gateway_says(client, second, transaction_id="two")
        tell(app, OrderNumber(second), "paid", "two")
        assert order_status(conn, number) == "paid"
        assert run_due(app, conn, of_type=CLOSE) == 1
        assert (client.closed, closed(conn)) == ([first], [True, False])

    @pytest.mark.parametrize("others", ["none", "expired as the gateway told", "closed by us"])
    def test_asks_for_no_closing_where_nothing_else_is_open(
        self, app: App, conn: Connection, number: OrderNumber, others: str
    ) -> None:
        last = 1 if others == "none" else 2
        references = [start_attempt(conn, number, no, expires_in=OPEN) for no in range(1, last + 1)]
        if others.startswith("expired"):
            tell(app, OrderNumber(references[0]), "expired", "one")
        if others.startswith("closed"):
            conn.execute("UPDATE payment_attempts SET closed_at = now() WHERE attempt_no = 1")
        tell(app, OrderNumber(references[-1]), "paid", "two", minute=1)
        assert (order_status(conn, number), states_of(conn, CLOSE)) == ("paid", [])

    def test_closes_nothing_of_an_order_that_stays_pending(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        start_attempt(conn, number, expires_in=OPEN)
        tell(app, number, "paid", amount_rupiah=1)
        assert (order_status(conn, number), states_of(conn, CLOSE)) == ("pending", [])


class TestEveryWayInWhichAnOrderEnds:
    def test_leaves_no_payment_open_that_no_job_will_close(
        self, app: App, conn: Connection, number: OrderNumber, owner: Connection
    ) -> None:
        """One statement of each kind moves an order out of `pending`; a new one is to be added here."""
        ends = owner.execute(
            "SELECT p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace"
            " WHERE n.nspname = 'public' AND p.prosrc ~* 'UPDATE orders[^;]*SET status' ORDER BY 1"
        ).fetchall()
        assert ends == [("cancel_order",), ("expire_order",)]
