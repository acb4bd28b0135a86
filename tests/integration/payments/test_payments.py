"""Payment events applied to real orders."""

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg import Connection, errors

from skincare.app import App
from skincare.identifiers import OrderNumber, UserId, uuid7
from skincare.jobs.catalog import ProcessPayment
from skincare.orders import repository as orders
from skincare.orders.models import OrderStatus
from skincare.payments import repository
from skincare.payments.errors import PaymentEventUnknown, TransactionContested
from skincare.payments.settlement import settle
from tests.support.factories import make_order, make_product
from tests.support.http import RecordingPublisher, open_app
from tests.support.log import recorded_log
from tests.support.payments import anomalies, events, new_order, order_status, payments, run_jobs, take_in, tell
from tests.support.shop import set_price
from worker.handlers import process_payment

TOTAL = 150_000


class TestAPaidEvent:
    def test_pays_the_order_once(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        for _ in range(3):
            tell(app, number, "paid")
        assert order_status(conn, number) == "paid"
        assert payments(conn) == [("one", "paid", TOTAL, 0, True)]
        assert (events(conn), anomalies(conn)) == ([("applied", "paid")], [])
        row = conn.execute(
            "SELECT p.event_id = e.id, o.paid_at IS NOT NULL FROM payments p, payment_events e, orders o"
        ).fetchone()
        assert row == (True, True)

    def test_applied_by_several_workers_at_once_pays_once(self, database_url: str, conn: Connection) -> None:
        number = new_order(conn)
        with open_app(database_url, max_connections=4) as app, ThreadPoolExecutor(4) as pool:
            take_in(app, order_number=number)
            assert isinstance(app.publisher, RecordingPublisher)
            payload = ProcessPayment.model_validate(app.publisher.jobs[0].payload)
            with recorded_log() as log:
                list(pool.map(lambda _: process_payment.handle(payload, app), range(12)))
        assert [line["message"] for line in log.lines].count("payment.event_applied") == 1
        assert payments(conn) == [("transaction-1", "paid", TOTAL, 0, True)]

    def test_is_held_against_the_total_of_the_order_and_not_todays_price(self, app: App, conn: Connection) -> None:
        sku = make_product(conn, price_rupiah=TOTAL).sku
        number = make_order(conn, lines={sku: 1}).order.order_number
        set_price(conn, sku, 170_000)
        tell(app, number, "paid")
        assert order_status(conn, number) == "paid"

    def test_for_a_cancelled_order_leaves_it_and_asks_for_a_refund(self, app: App, conn: Connection) -> None:
        placement = make_order(conn, user_id="ani")
        number = placement.order.order_number
        orders.cancel(conn, UserId("ani"), number)
        with recorded_log() as log:
            tell(app, number, "paid")
        assert order_status(conn, number) == "cancelled"
        assert anomalies(conn) == [("order_closed", "refund", TOTAL, TOTAL, TOTAL)]
        assert "payment.anomaly" in [line["message"] for line in log.lines]
        tell(app, number, "refunded", minute=1)
        assert (order_status(conn, number), anomalies(conn)) == ("cancelled", [])

    @pytest.mark.parametrize("amount", [149_999, 150_001])
    def test_of_another_amount_is_kept_with_both_amounts(self, app: App, conn: Connection, amount: int) -> None:
        number = new_order(conn)
        tell(app, number, "paid", amount_rupiah=amount)
        assert order_status(conn, number) == "pending"
        assert anomalies(conn) == [("wrong_amount", "refund", TOTAL, amount, amount)]

    @pytest.mark.parametrize("amount", [0, -TOTAL])
    def test_of_no_amount_is_for_a_person(self, app: App, conn: Connection, amount: int) -> None:
        number = new_order(conn)
        tell(app, number, "paid", amount_rupiah=amount)
        assert (order_status(conn, number), anomalies(conn)) == (
            "pending",
            [("wrong_amount", "review", TOTAL, amount, 0)],
        )

    def test_in_another_currency_is_for_a_person(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        tell(app, number, "paid", currency="USD")
        assert (order_status(conn, number), payments(conn)) == ("pending", [])
        assert anomalies(conn) == [("wrong_currency", "review", TOTAL, TOTAL, 0)]

    def test_of_another_orders_transaction_is_for_a_person(self, app: App, conn: Connection) -> None:
        first, second = new_order(conn), new_order(conn)
        tell(app, first, "paid")
        tell(app, second, "paid")
        assert (order_status(conn, first), order_status(conn, second)) == ("paid", "pending")
        assert anomalies(conn) == [("foreign_transaction", "review", TOTAL, TOTAL, 0)]

    def test_of_a_transaction_that_another_order_got_just_now_comes_back(self, app: App, conn: Connection) -> None:
        first, second = new_order(conn), new_order(conn)
        tell(app, first, "paid")
        before = payments(conn)
        order = repository.lock_order(conn, second)
        [event] = repository.applied_events(conn, first)
        assert order is not None
        settlement = settle(order.status, order.total_rupiah, [event])
        with pytest.raises(TransactionContested), conn.transaction():
            repository.save(conn, order, settlement, event_id=event.event_id)
        assert (payments(conn), order_status(conn, second)) == (before, "pending")

    def test_before_its_order_is_visible_waits(self, app: App, conn: Connection, owner_url: str) -> None:
        take_in(app)
        assert isinstance(app.publisher, RecordingPublisher)
        published = list(app.publisher.jobs)
        run_jobs(app)
        assert events(conn) == [("received", "paid")]
        number = new_order(conn)
        with psycopg.connect(owner_url) as owner:
            owner.execute("UPDATE orders SET order_number = 'SKN-4T9QX-0M7KD' WHERE order_number = %s", [number])
        app.publisher.jobs = published
        run_jobs(app)
        assert order_status(conn, OrderNumber("SKN-4T9QX-0M7KD")) == "paid"

    def test_that_is_not_visible_comes_back(self, app: App) -> None:
        with pytest.raises(PaymentEventUnknown):
            process_payment.handle(ProcessPayment(event_id=str(uuid7())), app)


class TestTwoPayments:
    def test_that_settle_together_pay_once_and_leave_one_to_give_back(
        self, database_url: str, conn: Connection
    ) -> None:
        number = new_order(conn)
        ready = threading.Barrier(2)
        with open_app(database_url, max_connections=2) as app, ThreadPoolExecutor(2) as pool:
            assert isinstance(app.publisher, RecordingPublisher)
            for transaction in ("one", "two"):
                take_in(app, order_number=number, transaction_id=transaction, event_id=transaction)

            def handle(payload: ProcessPayment) -> None:
                ready.wait(timeout=20)
                process_payment.handle(payload, app)

            list(pool.map(handle, [ProcessPayment.model_validate(job.payload) for job in app.publisher.jobs]))
        assert order_status(conn, number) == "paid"
        assert payments(conn) == [("one", "paid", TOTAL, 0, True), ("two", "paid", TOTAL, 0, False)]
        assert anomalies(conn) == [("already_paid", "refund", TOTAL, TOTAL, TOTAL)]

    def test_end_the_same_in_any_order(self, app: App, conn: Connection) -> None:
        reported = [("paid", "a", 1), ("paid", "b", 2), ("refunded", "b", 3), ("failed", "c", 4)]
        ends = set()
        for history in itertools.permutations(reported):
            number = new_order(conn)
            for status, transaction, minute in history:
                tell(app, number, status, f"{number}-{transaction}", minute=minute)
            rows = conn.execute(
                "SELECT right(transaction_id, 1), p.status, refunded_rupiah, pays_order"
                " FROM payments p JOIN orders o ON o.id = p.order_id WHERE order_number = %s ORDER BY 1",
                [number],
            ).fetchall()
            ends.add((order_status(conn, number), tuple(rows)))
        assert ends == {("paid", (("a", "paid", 0, True), ("b", "refunded", TOTAL, False), ("c", "failed", 0, False)))}
        # Where the refund was applied before the payment that is here, people took the order for refunded.
        assert {kind for kind, *_ in anomalies(conn)} == {"paid_again"}


class TestARefund:
    def test_is_booked_once_in_parts_and_never_beyond_what_came(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        tell(app, number, "paid")
        for minute, amount in enumerate((30_000, 30_000, 100_000), start=1):
            for _ in range(2):
                tell(app, number, "partially_refunded", minute=minute, amount_rupiah=amount)
        assert order_status(conn, number) == "partially_refunded"
        assert payments(conn) == [("one", "partially_refunded", TOTAL, 60_000, True)]
        assert anomalies(conn) == [("over_refund", "review", TOTAL, 100_000, 0)]

    def test_of_an_order_that_nobody_paid_changes_nothing(self, app: App, conn: Connection) -> None:
        number = make_order(conn, user_id="ani").order.order_number
        orders.cancel(conn, UserId("ani"), number)
        tell(app, number, "expired")
        tell(app, number, "refunded", minute=1)
        assert order_status(conn, number) == "cancelled"
        assert anomalies(conn) == [("refund_without_payment", "review", TOTAL, TOTAL, 0)]


class TestAnAnomaly:
    def test_that_a_person_resolved_stays_so_when_more_events_come(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        tell(app, number, "paid", currency="USD")
        conn.execute("UPDATE payment_anomalies SET resolved_at = now()")
        tell(app, number, "paid", minute=1)
        assert (order_status(conn, number), anomalies(conn)) == ("paid", [])


class TestAnOrder:
    def test_is_cancelled_or_paid_when_both_happen_at_once(self, database_url: str, conn: Connection) -> None:
        with open_app(database_url, max_connections=2) as app, ThreadPoolExecutor(2) as pool:
            for round_ in range(8):
                number = make_order(conn, user_id=f"ani-{round_}").order.order_number
                ready = threading.Barrier(2)

                def cancel(
                    number: OrderNumber = number, round_: int = round_, ready: threading.Barrier = ready
                ) -> None:
                    ready.wait(timeout=20)
                    with app.database.connection() as other:
                        orders.cancel(other, UserId(f"ani-{round_}"), number)

                def pay(number: OrderNumber = number, ready: threading.Barrier = ready) -> None:
                    ready.wait(timeout=20)
                    tell(app, number, "paid", number)

                for done in [pool.submit(cancel), pool.submit(pay)]:
                    done.result(timeout=30)
        rows = conn.execute(
            "SELECT o.status, p.pays_order, a.kind FROM orders o JOIN payments p ON p.order_id = o.id"
            " LEFT JOIN payment_anomalies a ON a.order_id = o.id"
        ).fetchall()
        assert len(rows) == 8
        assert set(rows) <= {("paid", True, None), ("cancelled", False, "order_closed")}

    @pytest.mark.parametrize(
        ("was", "becomes"),
        [
            ("cancelled", "paid"),
            ("expired", "paid"),
            ("cancelled", "pending"),
            ("paid", "pending"),
            ("paid", "cancelled"),
            ("refunded", "expired"),
        ],
    )
    def test_cannot_make_an_illegal_move(self, conn: Connection, was: str, becomes: str) -> None:
        new_order(conn)
        conn.execute("UPDATE orders SET status = %s", [was])
        with pytest.raises(errors.CheckViolation) as refused:
            conn.execute("UPDATE orders SET status = %s", [becomes])
        assert refused.value.diag.constraint_name == "orders_legal_moves"

    def test_done_by_hand_is_left_alone_by_an_attempt_that_expires(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        conn.execute("UPDATE orders SET status = %s", [OrderStatus.PAID])
        tell(app, number, "expired")
        assert (order_status(conn, number), anomalies(conn)) == ("paid", [])
