"""An order that nobody pays expires once, gives its stock back once, and never while money may be on its way."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import psycopg
import pytest
from psycopg import Connection

from skincare.app import App
from skincare.identifiers import OrderNumber, UserId, new_job_id
from skincare.jobs.catalog import ExpireOrder
from skincare.jobs.repository import timers
from skincare.jobs.retry import decide
from skincare.orders import repository as orders
from skincare.orders.terms import EXPIRY_GRACE, USUAL
from skincare.payments.errors import GatewayRefused, GatewayUnavailable, OrderMaybePaid, PaymentUnderWay
from skincare.payments.expiry import repository
from skincare.payments.models import EventStatus
from tests.fakes.gateway_client import FakeGatewayClient, report_of
from tests.support.factories import fill_cart, make_order, make_product
from tests.support.http import RecordingPublisher, open_app
from tests.support.payments import anomalies, events, new_order, order_status, payments, run_jobs, take_in, tell
from tests.support.shop import set_stock, stock
from tests.support.timers import OPEN, asking, expire, gateway_says, start_attempt, timer_state

TOTAL = 150_000
STOCK = 10


@pytest.fixture
def sku(conn: Connection) -> str:
    return make_product(conn, sku="SERUM", price_rupiah=TOTAL, stock=STOCK).sku


@pytest.fixture
def number(conn: Connection, sku: str) -> OrderNumber:
    return make_order(conn, user_id="ani", lines={sku: 1}).order.order_number


class TestTheTimer:
    def test_of_an_order_goes_off_after_the_window_and_the_grace(self, conn: Connection, number: OrderNumber) -> None:
        row = conn.execute(
            "SELECT j.run_at - o.created_at, j.publish_at = j.run_at, j.budget_from = j.run_at, j.unique_key, j.queue,"
            " j.payload, j.state FROM jobs j JOIN orders o USING (order_number) WHERE j.job_type = 'expire_order'"
        ).fetchone()
        job = ExpireOrder(order_number=number)
        wait = USUAL.window + EXPIRY_GRACE
        assert row == (wait, True, True, job.unique_key, job.queue, job.model_dump(), "pending")
        assert timers.insert(conn, new_job_id(), job, unique_key=job.unique_key) is None

    def test_is_there_as_well_when_an_older_release_places_the_order(self, conn: Connection, sku: str) -> None:
        """While a deploy goes on, older releases call without the last arguments: their orders have a day."""
        fill_cart(conn, "ani", {sku: 1})
        conn.execute(
            "SELECT place_order('ani', 'k-1', '', 'SKN-00000-00001', NULL, 'ani@example.com', 'id', NULL, NULL, NULL,"
            " 'request-1', gen_random_uuid(), 'send_confirmation_email', 'notifications', 50)"
        )
        row = conn.execute(
            "SELECT j.run_at - o.expires_at, o.expires_at - o.created_at FROM orders o JOIN jobs j USING (order_number)"
            " WHERE j.job_type = 'expire_order'"
        ).fetchone()
        assert row == (EXPIRY_GRACE, timedelta(hours=24))

    def test_is_called_off_when_the_order_is_cancelled(self, conn: Connection, number: OrderNumber) -> None:
        orders.cancel(conn, UserId("somebody-else"), number)
        assert timer_state(conn, number) == "pending"
        orders.cancel(conn, UserId("ani"), number)
        assert timer_state(conn, number) == "cancelled"

    def test_is_called_off_when_the_order_is_paid_and_not_by_money_that_does_not_fit(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        tell(app, number, "paid", "one", amount_rupiah=1)
        assert timer_state(conn, number) == "pending"
        tell(app, number, "paid", "two")
        assert timer_state(conn, number) == "cancelled"


class TestAnOrderThatNobodyPaid:
    def test_expires_and_gives_its_stock_back_once(self, app: App, conn: Connection, number: OrderNumber) -> None:
        assert stock(conn, "SERUM") == STOCK - 1
        for _ in range(3):
            expire(app, number)
        row = conn.execute("SELECT status, expired_at IS NOT NULL, cancelled_at FROM orders").fetchone()
        assert (row, stock(conn, "SERUM")) == (("expired", True, None), STOCK)
        assert orders.cancel(conn, UserId("ani"), number) == "expired"
        assert stock(conn, "SERUM") == STOCK

    @pytest.mark.parametrize("status", ["paid", "cancelled", "expired", "refunded", "partially_refunded"])
    def test_is_looked_at_again_under_its_lock(self, conn: Connection, number: OrderNumber, status: str) -> None:
        """Somebody else was faster between our look and our statement."""
        conn.execute("UPDATE orders SET status = %s", [status])
        repository.expire(conn, number, attempts=0)
        assert (order_status(conn, number), stock(conn, "SERUM")) == (status, STOCK - 1)

    def test_expires_once_the_gateway_knows_of_no_money(self, app: App, conn: Connection, number: OrderNumber) -> None:
        app, client = asking(app)
        references = [start_attempt(conn, number, attempt_no) for attempt_no in (1, 2)]
        client.tell(references[0], report_of(references[0], "one", EventStatus.FAILED))
        client.tell(references[1], report_of(references[1], "two", EventStatus.EXPIRED))
        expire(app, number)
        assert ([attempt.reference for attempt in client.asked], order_status(conn, number)) == (references, "expired")
        assert events(conn) == []

    @pytest.mark.parametrize("status", ["paid", "cancelled"])
    def test_is_not_asked_about_when_it_is_not_pending_any_more(
        self, app: App, conn: Connection, number: OrderNumber, status: str
    ) -> None:
        app, client = asking(app)
        start_attempt(conn, number)
        conn.execute("UPDATE orders SET status = %s", [status])
        expire(app, number)
        assert (order_status(conn, number), client.asked, stock(conn, "SERUM")) == (status, [], STOCK - 1)

    def test_is_left_alone_by_an_attempt_that_expires(self, app: App, conn: Connection, number: OrderNumber) -> None:
        tell(app, number, "expired")
        assert order_status(conn, number) == "pending"


class TestAnOrderThatMayBePaid:
    def test_is_paid_by_what_the_gateway_answers(self, app: App, conn: Connection, number: OrderNumber) -> None:
        app, client = asking(app)
        gateway_says(client, start_attempt(conn, number))
        for _ in range(2):
            with pytest.raises(OrderMaybePaid):
                expire(app, number)
        assert (order_status(conn, number), events(conn)) == ("pending", [("received", "paid")])
        assert conn.execute("SELECT source FROM payment_events").fetchall() == [("answer",)]
        run_jobs(app)
        assert (order_status(conn, number), timer_state(conn, number)) == ("paid", "cancelled")
        expire(app, number)
        assert (order_status(conn, number), stock(conn, "SERUM"), anomalies(conn)) == ("paid", STOCK - 1, [])

    def test_is_paid_once_when_the_webhook_comes_after_all(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        app, client = asking(app)
        gateway_says(client, start_attempt(conn, number), transaction_id="one")
        with pytest.raises(OrderMaybePaid):
            expire(app, number)
        run_jobs(app)
        tell(app, number, "paid", "one")
        assert payments(conn) == [("one", "paid", TOTAL, 0, True)]
        assert (order_status(conn, number), anomalies(conn)) == ("paid", [])

    @pytest.mark.parametrize("gateway", ["midtrans", "xendit"])
    def test_is_paid_by_the_answer_of_a_gateway_that_signs_no_status(
        self, app: App, conn: Connection, number: OrderNumber, gateway: str
    ) -> None:
        app, _ = asking(app)
        client = FakeGatewayClient(gateway)
        app.gateways[gateway] = client  # type: ignore[index]
        gateway_says(client, start_attempt(conn, number, gateway=gateway))
        with pytest.raises(OrderMaybePaid):
            expire(app, number)
        run_jobs(app)
        assert order_status(conn, number) == "paid"

    def test_waits_for_an_event_that_is_here_and_not_applied(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        take_in(app, order_number=number)
        with pytest.raises(OrderMaybePaid):
            expire(app, number)
        run_jobs(app)
        assert (order_status(conn, number), stock(conn, "SERUM")) == ("paid", STOCK - 1)

    def test_waits_while_the_gateway_waits_for_the_money(self, app: App, conn: Connection, number: OrderNumber) -> None:
        app, client = asking(app)
        reference = start_attempt(conn, number)
        gateway_says(client, reference, status=EventStatus.PENDING)
        client.cannot_close.add(reference)
        with pytest.raises(PaymentUnderWay):
            expire(app, number)
        assert order_status(conn, number) == "pending"

    def test_waits_while_its_customer_can_still_pay(self, app: App, conn: Connection, number: OrderNumber) -> None:
        app, _ = asking(app)
        start_attempt(conn, number, expires_in=OPEN)
        with pytest.raises(PaymentUnderWay):
            expire(app, number)
        assert order_status(conn, number) == "pending"

    def test_waits_for_an_attempt_that_starts_while_the_gateway_is_asked(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        app, client = asking(app)
        start_attempt(conn, number)

        def start_another() -> None:
            client.while_asked = lambda: None
            start_attempt(conn, number, 2, expires_in=OPEN)

        client.while_asked = start_another
        with pytest.raises(OrderMaybePaid):
            expire(app, number)
        assert order_status(conn, number) == "pending"

    def test_waits_for_at_most_the_budget_and_then_for_a_person(self) -> None:
        budget = ExpireOrder.budget
        assert budget == timedelta(hours=72)
        outcome = decide(PaymentUnderWay("SKN-1"), attempts=300, age=budget, budget=budget)
        assert type(outcome).__name__ == "DeadLetter"

    @pytest.mark.parametrize(
        "error", [GatewayUnavailable("doku", "timed out"), GatewayRefused("doku", "wrong key"), RuntimeError()]
    )
    def test_never_expires_on_a_guess(self, app: App, conn: Connection, number: OrderNumber, error: Exception) -> None:
        app, client = asking(app)
        start_attempt(conn, number)
        client.fail_next(error)
        with pytest.raises(type(error)):
            expire(app, number)
        assert (order_status(conn, number), stock(conn, "SERUM")) == ("pending", STOCK - 1)
        expire(app, number)
        assert (order_status(conn, number), stock(conn, "SERUM")) == ("expired", STOCK)

    def test_never_expires_while_nobody_can_ask_its_gateway(
        self, app: App, conn: Connection, number: OrderNumber
    ) -> None:
        start_attempt(conn, number, gateway="doku")
        with pytest.raises(GatewayUnavailable):
            expire(app, number)
        assert order_status(conn, number) == "pending"

    def test_expires_when_its_only_money_did_not_fit(self, app: App, conn: Connection, number: OrderNumber) -> None:
        app, client = asking(app)
        gateway_says(client, start_attempt(conn, number), amount_rupiah=TOTAL - 1)
        with pytest.raises(OrderMaybePaid):
            expire(app, number)
        run_jobs(app)
        expire(app, number)
        assert order_status(conn, number) == "expired"
        assert [(kind, task) for kind, task, *_ in anomalies(conn)] == [("wrong_amount", "refund")]

    def test_is_not_locked_while_the_gateway_is_asked(
        self, app: App, conn: Connection, number: OrderNumber, database_url: str
    ) -> None:
        app, client = asking(app)
        start_attempt(conn, number)

        def look() -> None:
            with psycopg.connect(database_url) as other:
                other.execute("SELECT 1 FROM orders, products, payment_attempts FOR UPDATE NOWAIT")
                idle = other.execute(
                    "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'"
                    " AND datname = current_database()"
                ).fetchone()
                assert idle == (0,)

        client.while_asked = look
        expire(app, number)
        assert order_status(conn, number) == "expired"


class TestMoneyAfterTheExpiry:
    def test_is_a_refund_to_make_and_opens_nothing(self, app: App, conn: Connection, number: OrderNumber) -> None:
        expire(app, number)
        tell(app, number, "paid")
        assert (order_status(conn, number), stock(conn, "SERUM")) == ("expired", STOCK)
        assert anomalies(conn) == [("order_closed", "refund", TOTAL, TOTAL, TOTAL)]


class TestPaymentExpiryAndCancellationAtOnce:
    def test_have_one_winner_and_leave_the_stock_exact(self, database_url: str, conn: Connection, sku: str) -> None:
        rounds = 12
        with open_app(database_url, max_connections=3) as app, ThreadPoolExecutor(3) as pool:
            for round_ in range(rounds):
                set_stock(conn, STOCK)
                user = UserId(f"buyer-{round_}")
                number = make_order(conn, user_id=user, lines={sku: 2}, note=str(round_)).order.order_number
                ready = threading.Barrier(3)

                def pay(number: OrderNumber = number, ready: threading.Barrier = ready) -> None:
                    ready.wait(timeout=20)
                    tell(app, number, "paid", number, amount_rupiah=2 * TOTAL)

                def run_out(number: OrderNumber = number, ready: threading.Barrier = ready) -> None:
                    ready.wait(timeout=20)
                    try:
                        expire(app, number)
                    except OrderMaybePaid:
                        return

                def cancel(number: OrderNumber = number, user: UserId = user, ready: threading.Barrier = ready) -> None:
                    ready.wait(timeout=20)
                    with app.database.connection() as other:
                        orders.cancel(other, user, number)

                for done in [pool.submit(each) for each in (pay, run_out, cancel)]:
                    done.result(timeout=30)
                status = order_status(conn, number)
                assert status in {"paid", "expired", "cancelled"}
                assert stock(conn, sku) == (STOCK - 2 if status == "paid" else STOCK)
        paid = conn.execute("SELECT count(*) FROM payments WHERE amount_rupiah = %s", [2 * TOTAL]).fetchone()
        assert paid == (rounds,)
        open_tasks = conn.execute(
            "SELECT count(*) FROM orders o JOIN payments p ON p.order_id = o.id LEFT JOIN payment_anomalies a"
            " ON a.event_id = p.event_id WHERE (o.status = 'paid') <> (a.kind IS NULL)"
        ).fetchone()
        assert open_tasks == (0,)


class TestAnOrderWithATimer:
    def test_has_nothing_going_on_until_it_goes_off(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        conn.execute(
            "UPDATE jobs SET state = 'processing', lease_token = id, lease_until = now(), leased_at = now()"
            " WHERE run_at IS NULL"
        )
        conn.execute(
            "UPDATE jobs SET state = 'completed', lease_token = NULL, lease_until = NULL, leased_at = NULL,"
            " publish_at = NULL WHERE run_at IS NULL"
        )
        (user,) = conn.execute("SELECT user_id FROM orders").fetchall()[0]
        detail = orders.find_detail(conn, user, number)
        assert detail is not None
        assert detail.retry_after_s is None

    def test_is_published_by_the_relay_alone(self, app: App, conn: Connection, number: OrderNumber) -> None:
        assert isinstance(app.publisher, RecordingPublisher)
        assert app.publisher.jobs == []
