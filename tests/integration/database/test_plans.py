"""What customers and workers send reads as many pages in a large shop as in an empty one, whenever it was planned.

Pages and rows are counted, never time. A session keeps the plans of functions and of foreign keys for life, so each
test is one session; autovacuum is off here, so nothing makes it plan again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta

import psycopg
import pytest
from psycopg import Connection

from skincare.app import App
from skincare.catalog import repository as catalog
from skincare.identifiers import LeaseToken, Sku, UserId, new_job_id, new_order_number
from skincare.invoices import repository as invoices
from skincare.jobs.repository import lease, outbox
from skincare.jobs.retry import Completed, Retry
from skincare.notifications import repository as notifications
from skincare.notifications.models import Notice, NotificationStatus, NotificationType
from skincare.orders import repository as orders
from skincare.payments.attempts import repository as attempts
from tests.integration.database.test_wire import queries
from tests.support.factories import fill_cart, make_place_order, make_product
from tests.support.http import open_app
from tests.support.payments import tell

GROWN = 5000
"""Orders that the shop gets at once: whoever reads a table from its beginning meets so many rows."""
WARM, MEASURED = 8, 10
"""Lives of a session before its plans are those that it keeps, and lives that are counted."""

WHOLE_TABLES = {
    "jobs.repository.operations.list_jobs",
    "operations.repository.timelines.order",
    "retention.repository.due",
}
"""What people on call look at: all jobs, everything about an order, and what would go; planned at each call."""


@pytest.fixture
def owner(owner_url: str) -> Iterator[Connection]:
    with psycopg.connect(owner_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def app(database_url: str) -> Iterator[App]:
    """One connection, and so one session."""
    with open_app(database_url) as opened:
        yield opened


@dataclass(frozen=True)
class Reads:
    """What has been read of each table since the database was made."""

    pages: dict[str, int]
    scanned_rows: dict[str, int]
    """Rows met by reading a table from its beginning."""

    @staticmethod
    def of(app: App, owner: Connection) -> "Reads":
        with app.database.connection() as conn:
            for session in (conn, owner):
                session.execute("SELECT pg_stat_force_next_flush()")
                session.execute("SELECT 1")
        rows = owner.execute(
            """
            SELECT relname, coalesce(heap_blks_hit + heap_blks_read, 0) + coalesce(idx_blks_hit + idx_blks_read, 0),
                seq_tup_read
            FROM pg_statio_user_tables JOIN pg_stat_user_tables USING (relid, relname)"""
        ).fetchall()
        return Reads({name: pages for name, pages, _ in rows}, {name: read for name, _, read in rows})

    def since(self, earlier: "Reads", *, lives: int) -> "Reads":
        """Return what one life read on average, rounded up."""

        def each(now: dict[str, int], then: dict[str, int]) -> dict[str, int]:
            return {name: -(-(now[name] - then[name]) // lives) for name in now if now[name] > then[name]}

        return Reads(each(self.pages, earlier.pages), each(self.scanned_rows, earlier.scanned_rows))


def live(app: App, number: int, skus: Sequence[Sku]) -> None:
    """A customer fills a cart, orders and pays; workers do the jobs; all by the app's one session."""
    user = UserId(f"customer-{number}")
    with app.database.connection() as conn:
        fill_cart(conn, user, {skus[number % len(skus)]: 1, skus[(number + 7) % len(skus)]: 1})
        catalog.find(conn, skus[0])
        orders.checkout_state(conn, user)
        order = orders.place(conn, make_place_order(user), order_number=new_order_number(), job_id=new_job_id())
        assert order.job is not None
        orders.find(conn, user, order.order.order_number)
        orders.list_before(conn, user, None, limit=10)
        with conn.transaction():
            order_id = attempts.lock_order(conn, user, order.order.order_number)
            assert order_id is not None
            started = attempts.open_next(conn, order_id.id, gateway="midtrans")
            assert started is not None
        outbox.mark_published(conn, [order.job])
    tell(app, order.order.order_number, "paid", f"paid-{number}", amount_rupiah=order.order.total_rupiah)
    with app.database.connection() as conn:
        invoices.load(conn, order.order.order_number)
        notice = Notice(NotificationType.ORDER_CONFIRMATION)
        notifications.load_context(conn, order.order.order_number, notice)
        notifications.record_notification(conn, order_id.id, notice, NotificationStatus.SENT)
        with conn.transaction():
            orders.cancel_now(conn, user, order.order.order_number)
        orders.find_detail(conn, user, order.order.order_number)
        its_jobs = "SELECT id FROM jobs WHERE order_number = %s"
        ids = [row[0] for row in conn.execute(its_jobs, [order.order.order_number])]
        token = LeaseToken(new_job_id())
        claims = lease.claim(conn, dict.fromkeys(ids), token=token, lease=timedelta(minutes=1))
        ran = [claim.job_id for claim in claims if claim.verdict == "run"]
        assert len(ran) >= 2
        lease.settle(conn, {ran[0]: Retry(timedelta(0), "X", "x")}, token=token)
        lease.settle(conn, dict.fromkeys(ran[1:], Completed()), token=token)


def grow(owner: Connection) -> None:
    """Give the shop a past of a year ago: orders that were paid and mailed, with finished jobs."""
    for statement in (
        "INSERT INTO carts (user_id) SELECT 'old-' || n FROM generate_series(1, %(rows)s) n",
        "INSERT INTO idempotency_keys (user_id, key, fingerprint, order_number, created_at)"
        " SELECT 'old-' || n, 'key', '', 'SKN-00000-' || lpad(n::text, 5, '0'), now() - interval '30 days'"
        " FROM generate_series(1, %(rows)s) n",
        "INSERT INTO orders"
        " (order_number, user_id, cart_version, status, total_rupiah, email, locale, created_at, expires_at, paid_at)"
        " SELECT 'SKN-00000-' || lpad(n::text, 5, '0'), 'old-' || n, 1, 'paid', 150000, 'old@example.com', 'id',"
        " now() - interval '1 year', now() - interval '1 year' + interval '1 hour', now() - interval '1 year'"
        " FROM generate_series(1, %(rows)s) n",
        "INSERT INTO order_items (order_id, product_id, sku, name, unit_price_rupiah, quantity)"
        " SELECT o.id, p.id, p.sku, p.name, p.price_rupiah, 1"
        " FROM orders o CROSS JOIN (SELECT * FROM products ORDER BY id LIMIT 1) p WHERE o.user_id LIKE 'old-%%'",
        "INSERT INTO jobs (id, job_type, queue, payload, state, order_number, finished_at)"
        " SELECT gen_random_uuid(), 'send_confirmation_email', 'notifications', '{}', 'completed', order_number, now()"
        " FROM orders WHERE user_id LIKE 'old-%%'",
        "INSERT INTO job_keys (unique_key, job_id)"
        " SELECT 'expire_order:' || order_number, gen_random_uuid() FROM orders WHERE user_id LIKE 'old-%%'",
        "INSERT INTO job_attempts (job_id, started_at, outcome) SELECT id, now(), 'completed' FROM jobs",
        "INSERT INTO order_notifications (order_id, notification_type, status)"
        " SELECT id, 'order_confirmation', 'sent' FROM orders WHERE user_id LIKE 'old-%%'",
        "INSERT INTO payment_events (id, gateway, event_key, body, headers, order_number, transaction_id, status,"
        " amount_rupiah, currency, state, received_at, applied_at)"
        " SELECT gen_random_uuid(), 'doku', order_number, '', '{}', order_number, order_number, 'paid', 150000, 'IDR',"
        " 'applied', paid_at, paid_at FROM orders WHERE user_id LIKE 'old-%%'",
        "INSERT INTO payments"
        " (order_id, gateway, transaction_id, status, amount_rupiah, event_id, pays_order, created_at, updated_at)"
        " SELECT o.id, 'doku', o.order_number, 'paid', 150000, e.id, true, o.paid_at, o.paid_at"
        " FROM orders o JOIN payment_events e ON e.order_number = o.order_number AND e.gateway = 'doku'"
        " WHERE o.user_id LIKE 'old-%%'",
        "INSERT INTO payment_attempts (order_id, attempt_no, gateway, amount_rupiah, created_at, expires_at)"
        " SELECT id, 1, 'doku', 150000, paid_at, paid_at FROM orders WHERE user_id LIKE 'old-%%'",
        "INSERT INTO invoices (order_id, year, serial)"
        " SELECT id, 2025, row_number() OVER () FROM orders WHERE user_id LIKE 'old-%%'",
    ):
        owner.execute(statement.encode(), {"rows": GROWN})


def lives(app: App, owner: Connection, skus: Sequence[Sku], numbers: range) -> Reads:
    """Warm the session up and return what its later lives read."""
    for number in numbers[:WARM]:
        live(app, number, skus)
    before = Reads.of(app, owner)
    for number in numbers[WARM:]:
        live(app, number, skus)
    return Reads.of(app, owner).since(before, lives=len(numbers) - WARM)


def test_a_session_that_began_in_an_empty_shop_reads_as_one_that_begins_in_a_grown_one(
    app: App, owner: Connection, database_url: str
) -> None:
    owner.execute("VACUUM (ANALYZE)")
    skus = [make_product(owner, stock=10_000).sku for _ in range(40)]
    small = lives(app, owner, skus, range(WARM + MEASURED))
    grow(owner)
    old = lives(app, owner, skus, range(100, 100 + WARM + MEASURED))
    with open_app(database_url) as newcomer:
        new = lives(newcomer, owner, skus, range(200, 200 + WARM + MEASURED))
    worse = {
        name: (pages, new.pages.get(name, 0))
        for name, pages in old.pages.items()
        if pages > 1.2 * new.pages.get(name, 0) + 3
    }
    assert worse == {}
    grown = {
        name: (pages, small.pages.get(name, 0))
        for name, pages in old.pages.items()
        if pages > 2 * small.pages.get(name, 0) + 10
    }
    assert grown == {}
    assert {name: rows for name, rows in old.scanned_rows.items() if rows >= 200} == {}


@pytest.mark.parametrize("statistics", ["none, as after a restore", "fresh"])
def test_a_grown_shop_is_read_by_its_indexes(app: App, owner: Connection, statistics: str) -> None:
    skus = [make_product(owner, stock=10_000).sku for _ in range(40)]
    grow(owner)
    if statistics == "fresh":
        owner.execute("VACUUM (ANALYZE)")
    reads = lives(app, owner, skus, range(WARM + MEASURED))
    assert {name: rows for name, rows in reads.scanned_rows.items() if rows >= 200} == {}
    assert sum(reads.pages.values()) < 700


@pytest.mark.parametrize("statistics", ["of an empty shop", "none, as after a restore", "fresh"])
def test_no_statement_of_customers_and_workers_reads_a_table_from_its_beginning(
    owner: Connection, conn: Connection, statistics: str
) -> None:
    """All that the repositories send, whatever the planner knows of the tables."""
    if statistics == "of an empty shop":
        owner.execute("VACUUM (ANALYZE)")
        # A session that keeps what it planned then.
        for _ in range(WARM):
            for query in queries(conn, owner).values():
                query()
    make_product(owner)
    grow(owner)
    if statistics == "fresh":
        owner.execute("VACUUM (ANALYZE)")
    analysed = "SELECT reltuples >= 0 FROM pg_class WHERE oid = 'orders'::regclass"
    assert owner.execute(analysed).fetchone() == (not statistics.startswith("none"),)
    found = set()
    for (module, name), query in queries(conn, owner).items():
        before = _scanned(owner, conn)
        query()
        if _scanned(owner, conn) - before >= GROWN:
            found.add(f"{module.__name__.removeprefix('skincare.')}.{name}")
    assert found <= WHOLE_TABLES


def _scanned(owner: Connection, conn: Connection) -> int:
    for session in (conn, owner):
        session.execute("SELECT pg_stat_force_next_flush()")
        session.execute("SELECT 1")
    row = owner.execute("SELECT sum(seq_tup_read) FROM pg_stat_user_tables").fetchone()
    assert row is not None
    return int(row[0])
