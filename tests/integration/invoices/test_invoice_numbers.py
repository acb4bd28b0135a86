"""An invoice's number is taken with the payment: one for each order, without a gap, whatever fails beside it."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from psycopg import Connection, errors

from skincare.app import App
from skincare.identifiers import OrderNumber, UserId
from skincare.invoices import repository as invoices
from skincare.invoices.credit_notes import repository as credit_notes
from skincare.jobs.repository import outbox
from skincare.orders import repository as orders
from tests.support.factories import make_order, make_product, pay
from tests.support.http import RecordingPublisher, open_app
from tests.support.invoices import numbers
from tests.support.payments import new_order, order_status, take_in, tell
from worker.registry import REGISTRY

SET_OFF = {"send_payment_received_email", "generate_invoice_pdf"}


def gapless(count: int, *, year: str) -> list[str]:
    return [f"INV/{year}/{serial:06}" for serial in range(1, count + 1)]


def year_of_the_shop(conn: Connection) -> str:
    row = conn.execute("SELECT to_char(now() AT TIME ZONE 'Asia/Jakarta', 'YYYY')").fetchone()
    assert row is not None
    return str(row[0])


def jobs_of(conn: Connection, number: OrderNumber) -> list[str]:
    """Return the types of the order's jobs that its payment set off."""
    rows = conn.execute(
        "SELECT job_type FROM jobs WHERE order_number = %s AND job_type = ANY (%s) ORDER BY 1", [number, list(SET_OFF)]
    )
    return [job_type for (job_type,) in rows]


class TestAPayment:
    def test_takes_a_number_and_enqueues_mail_and_file_and_publishes_them(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        tell(app, number, "paid")
        assert numbers(conn) == gapless(1, year=year_of_the_shop(conn))
        assert jobs_of(conn, number) == sorted(SET_OFF)
        assert isinstance(app.publisher, RecordingPublisher)
        published = {(job.job_type, job.order_number, job.request_id is not None) for job in app.publisher.jobs}
        assert published == {(job_type, number, True) for job_type in SET_OFF}

    def test_that_is_told_again_sets_off_nothing_more(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        for minute in (0, 0, 1, 2):
            tell(app, number, "paid", minute=minute)
        assert (len(numbers(conn)), len(jobs_of(conn, number))) == (1, 2)

    def test_sets_off_the_same_in_whatever_order_it_and_its_refund_are_told(self, app: App, conn: Connection) -> None:
        for events in (["paid", "refunded"], ["refunded", "paid"], ["partially_refunded", "paid"]):
            number = new_order(conn)
            for status in events:
                tell(
                    app, number, status, f"{number}-one", amount_rupiah=150_000 if status != "partially_refunded" else 1
                )
            assert jobs_of(conn, number) == sorted(SET_OFF), events
        assert len(numbers(conn)) == 3

    def test_that_takes_the_place_of_a_refunded_one_sets_off_nothing_more(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        tell(app, number, "paid", "late", minute=5)
        tell(app, number, "refunded", "late", minute=6)
        tell(app, number, "paid", "early", minute=1)
        assert order_status(conn, number) == "paid"
        assert (len(numbers(conn)), len(jobs_of(conn, number))) == (1, 2)

    @pytest.mark.parametrize("status", ["pending", "failed", "expired", "refunded", "chargeback"])
    def test_that_never_came_sets_off_nothing(self, app: App, conn: Connection, status: str) -> None:
        number = new_order(conn)
        tell(app, number, status)
        assert (numbers(conn), jobs_of(conn, number)) == ([], [])

    @pytest.mark.parametrize("change", [{"amount_rupiah": 149_999}, {"currency": "USD"}])
    def test_that_does_not_fit_sets_off_nothing(self, app: App, conn: Connection, change: dict[str, Any]) -> None:
        number = new_order(conn)
        tell(app, number, "paid", **change)
        assert (numbers(conn), jobs_of(conn, number)) == ([], [])

    def test_of_a_cancelled_order_sets_off_nothing(self, app: App, conn: Connection) -> None:
        number = make_order(conn, user_id="ani").order.order_number
        orders.cancel(conn, UserId("ani"), number)
        tell(app, number, "paid")
        assert (numbers(conn), jobs_of(conn, number)) == ([], [])

    def test_without_the_queues_is_a_payment_all_the_same(self, app: App, conn: Connection) -> None:
        """The relay publishes what the process could not."""
        number = new_order(conn)
        tell(app, number, "paid")
        rows = conn.execute("SELECT state, publish_at > now() FROM jobs WHERE job_type = ANY (%s)", [list(SET_OFF)])
        assert rows.fetchall() == [("pending", True)] * 2


class TestNumbers:
    def test_of_many_orders_that_are_paid_at_once_have_no_gap_and_no_twin(
        self, database_url: str, conn: Connection
    ) -> None:
        paid, threads = 200, 8
        sku = make_product(conn, stock=paid).sku
        placed = [make_order(conn, lines={sku: 1}).order.order_number for _ in range(paid)]
        with open_app(database_url, max_connections=threads) as app, ThreadPoolExecutor(threads) as pool:
            assert isinstance(app.publisher, RecordingPublisher)
            for number in placed:
                take_in(app, order_number=number, transaction_id=number, event_id=number)
            jobs, app.publisher.jobs = app.publisher.jobs, []
            payment = REGISTRY.find("process_payment")
            assert payment is not None
            list(pool.map(lambda job: payment.run(job.payload, app), jobs))
            assert Counter(job.job_type for job in app.publisher.jobs) == dict.fromkeys(SET_OFF, paid)
        assert numbers(conn) == gapless(paid, year=year_of_the_shop(conn))
        assert conn.execute("SELECT count(*) FROM orders WHERE status = 'paid'").fetchone() == (paid,)

    def test_are_given_back_by_a_payment_that_fails(
        self, app: App, conn: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first, second = new_order(conn), new_order(conn)

        def fail_after(*args: object) -> None:
            original(*args)  # type: ignore[arg-type]
            raise ConnectionError

        original = invoices.take_number
        with monkeypatch.context() as patch:
            patch.setattr(invoices, "take_number", fail_after)
            with pytest.raises(ConnectionError):
                tell(app, first, "paid", "one")
        assert (numbers(conn), jobs_of(conn, first), order_status(conn, first)) == ([], [], "pending")
        tell(app, second, "paid", "two")
        assert numbers(conn) == gapless(1, year=year_of_the_shop(conn))
        assert isinstance(app.publisher, RecordingPublisher)
        assert {job.order_number for job in app.publisher.jobs} == {second}

    def test_wait_for_nothing_but_the_end_of_the_payment_before(self, database_url: str, conn: Connection) -> None:
        """The year's row is taken last: a payment that waits for it holds no other order's rows."""
        first, second, third = (make_order(conn).order.order_number for _ in range(3))
        started = threading.Event()

        def pay_second() -> None:
            with psycopg.connect(database_url, autocommit=True) as other:
                started.set()
                pay(other, second)

        with psycopg.connect(database_url, autocommit=True) as holder, ThreadPoolExecutor(1) as pool:
            with holder.transaction():
                (order_id,) = holder.execute("SELECT id FROM orders WHERE order_number = %s", [first]).fetchone() or (
                    0,
                )
                invoices.take_number(holder, order_id)
                waiting = pool.submit(pay_second)
                started.wait(timeout=20)
                conn.execute("UPDATE orders SET note = 'x' WHERE order_number = ANY (%s)", [[first, third]])
            waiting.result(timeout=20)
        assert numbers(conn) == gapless(2, year=year_of_the_shop(conn))

    def test_rise_with_their_dates_also_where_an_earlier_transaction_came_later(
        self, app: App, conn: Connection, database_url: str
    ) -> None:
        """Whoever waited for an order's lock past midnight does not date a later number to the day before."""
        first, second = new_order(conn), new_order(conn)
        with psycopg.connect(database_url, autocommit=True) as early, early.transaction():
            early.execute("SELECT now()")
            tell(app, first, "paid", "one")
            tell(app, first, "refunded", "one", minute=1)
            pay(early, second)
            (order_id,) = early.execute("SELECT id FROM orders WHERE order_number = %s", [second]).fetchone() or (0,)
            credit_notes.issue(early, order_id, credited_rupiah=1)
        for table in (b"invoices", b"credit_notes"):
            dates = conn.execute(b"SELECT created_at FROM " + table + b" ORDER BY serial").fetchall()
            assert (len(dates), dates) == (2, sorted(dates))

    def test_are_dated_within_their_year(self, owner_url: str, conn: Connection) -> None:
        """The transaction began in the old year and has its number when that is over."""
        number = new_order(conn)
        with psycopg.connect(owner_url, autocommit=True) as owner:
            owner.execute("CREATE SCHEMA clock")
            owner.execute("SET search_path = clock, public, pg_catalog")
            for name, moment in (("now", "2026-12-31 16:59:59"), ("clock_timestamp", "2026-12-31 17:00:01")):
                owner.execute(
                    f"CREATE FUNCTION clock.{name}() RETURNS timestamptz STABLE LANGUAGE sql"
                    f" AS $$ SELECT timestamptz '{moment}+00' $$".encode()
                )
            pay(owner, number)
        dated = "SELECT number, to_char(created_at AT TIME ZONE 'Asia/Jakarta', 'YYYY-MM-DD HH24:MI:SS') FROM invoices"
        assert conn.execute(dated).fetchall() == [("INV/2026/000001", "2026-12-31 23:59:59")]

    def test_are_never_two_for_one_order(self, conn: Connection) -> None:
        number = pay(conn, new_order(conn))
        (order_id,) = conn.execute("SELECT id FROM orders WHERE order_number = %s", [number]).fetchone() or (0,)
        with pytest.raises(errors.UniqueViolation):
            invoices.take_number(conn, order_id)
        pay(conn, new_order(conn))
        assert numbers(conn) == gapless(2, year=year_of_the_shop(conn))

    def test_cannot_be_changed_or_taken_away_by_a_function(self, conn: Connection) -> None:
        pay(conn, new_order(conn))
        for statement in (b"UPDATE invoices SET serial = 9", b"DELETE FROM invoices", b"DELETE FROM invoice_counters"):
            with pytest.raises(errors.InsufficientPrivilege):
                conn.execute(statement)

    def test_begin_anew_with_the_year_of_the_shop(self, owner_url: str, conn: Connection) -> None:
        """Jakarta is seven hours ahead of UTC."""
        placed = [make_order(conn).order.order_number for _ in range(4)]
        with psycopg.connect(owner_url, autocommit=True) as owner:
            # A clock of the test's stands before the real one.
            owner.execute("CREATE SCHEMA clock")
            owner.execute("SET search_path = clock, public, pg_catalog")
            for number, moment in zip(
                placed,
                ("2026-12-31 16:59:59", "2026-12-31 17:00:00", "2027-12-31 16:59:59", "2026-01-01 00:00:00"),
                strict=True,
            ):
                owner.execute(
                    "CREATE OR REPLACE FUNCTION clock.now() RETURNS timestamptz STABLE LANGUAGE sql"
                    f" AS $$ SELECT timestamptz '{moment}+00' $$".encode()
                )
                pay(owner, number)
        assert numbers(conn) == ["INV/2026/000001", "INV/2026/000002", "INV/2027/000001", "INV/2027/000002"]

    def test_grow_beyond_six_digits(self, conn: Connection) -> None:
        conn.execute("INSERT INTO invoice_counters VALUES (%s, 999999)", [int(year_of_the_shop(conn))])
        pay(conn, new_order(conn))
        assert numbers(conn) == [f"INV/{year_of_the_shop(conn)}/1000000"]


class TestSeveralJobs:
    def test_are_enqueued_in_one_statement_as_one_would_be(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        tell(app, number, "paid")
        with app.database.connection() as other:
            taken = outbox.take_due(other, limit=10)
        assert taken == []
        conn.execute("UPDATE jobs SET publish_at = now() WHERE publish_at IS NOT NULL")
        with app.database.connection() as other:
            taken = outbox.take_due(other, limit=10)
        assert {(job.job_type, job.queue, str(job.payload.get("order_number"))) for job in taken} >= {
            ("send_payment_received_email", "notifications", number),
            ("generate_invoice_pdf", "documents", number),
        }
