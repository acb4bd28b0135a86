"""The role of the functions may do what they do, and nothing that would take evidence away."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import Connection, errors
from psycopg.sql import SQL, Identifier

from skincare.app import App
from tests.support.factories import make_order, pay
from tests.support.oncall import dead_job
from tests.support.payments import new_order, run_jobs, take_in

EVIDENCE = (
    "orders",
    "order_items",
    "idempotency_keys",
    "payments",
    "payment_events",
    "payment_anomalies",
    "payment_attempts",
    "refunds",
    "invoices",
    "invoice_counters",
    "jobs",
    "job_attempts",
    "operations_audit",
    "quarantined_messages",
    "reconciliation_findings",
    "order_refunds",
    "credit_notes",
    "credit_note_counters",
    "reconciliation_runs",
    "suppressed_recipients",
    "customer_requests",
    "job_pauses",
    "products",
    "stock_movements",
)
DELETED_FROM = {
    "product_details",
    "product_search",
    "search_words",
    "search_synonyms",
    "carts",
    "cart_items",
    "job_schedule",
    "job_keys",
    "dead_jobs",
    "dead_letter_acknowledgements",
    "set_aside_events",
    "schema_migrations",
    "schema_functions",
}
"""What functions, tests or nobody delete from, and what tells nothing that must be kept."""
FROZEN = {
    "orders": {
        "order_number": "'SKN-00000-00009'",
        "user_id": "'thief'",
        "cart_version": "cart_version + 1",
        "total_rupiah": "1",
    },
    "payments": {"order_id": "order_id + 1", "gateway": "'other'", "transaction_id": "'other'"},
    "refunds": {"key": "'other'", "amount_rupiah": "1", "transaction_id": "'other'", "requested_by": "'nobody'"},
    "invoice_counters": {
        "last_serial": "last_serial - 1",
        "year": "year + 1",
        "(year, last_serial)": "(year, last_serial + 2)",
    },
    "order_items": {"quantity": "1", "unit_price_rupiah": "1"},
    "job_attempts": {"outcome": "'completed'"},
    "idempotency_keys": {"order_number": "'SKN-00000-00009'"},
    "invoices": {"serial": "9"},
}


@pytest.fixture
def owner(owner_url: str) -> Iterator[Connection]:
    with psycopg.connect(owner_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def paid(app: App, conn: Connection) -> None:
    """A shop in which each of these tables has a row that matters."""
    number = new_order(conn)
    take_in(app, order_number=number)
    run_jobs(app)
    conn.execute(
        "INSERT INTO refunds (key, order_id, gateway, transaction_id, amount_rupiah, reason, requested_by)"
        " SELECT 'k', order_id, gateway, transaction_id, 5, 'x', 'me' FROM payments"
    )
    dead_job(conn)


@pytest.mark.parametrize("table", EVIDENCE)
def test_nothing_is_deleted_that_tells_what_happened(conn: Connection, table: str) -> None:
    with pytest.raises(errors.InsufficientPrivilege):
        conn.execute(SQL("DELETE FROM {}").format(Identifier(table)))
    with pytest.raises(errors.InsufficientPrivilege):
        conn.execute(SQL("TRUNCATE {} CASCADE").format(Identifier(table)))


def test_every_table_is_evidence_or_not(conn: Connection) -> None:
    tables = {name for (name,) in conn.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}
    assert tables == {*EVIDENCE, *DELETED_FROM, "order_notifications"}


def test_a_mail_is_forgotten_only_where_it_was_not_delivered(conn: Connection) -> None:
    number = new_order(conn)
    for kind, status in (("order_confirmation", "sent"), ("payment_received", "undeliverable")):
        conn.execute(
            "INSERT INTO order_notifications (order_id, notification_type, status)"
            " SELECT id, %s, %s FROM orders WHERE order_number = %s",
            [kind, status, number],
        )
    with pytest.raises(errors.InsufficientPrivilege):
        conn.execute("DELETE FROM order_notifications")
    conn.execute("DELETE FROM order_notifications WHERE status = 'undeliverable'")
    assert conn.execute("SELECT status FROM order_notifications").fetchall() == [("sent",)]


@pytest.mark.usefixtures("paid")
@pytest.mark.parametrize(
    ("table", "column", "value"),
    [(table, column, value) for table, columns in FROZEN.items() for column, value in columns.items()],
)
def test_what_was_ordered_paid_and_counted_stays(
    conn: Connection, owner: Connection, table: str, column: str, value: str
) -> None:
    change = f"UPDATE {table} SET {column} = {value}".encode()
    before = owner.execute(SQL("SELECT * FROM {}").format(Identifier(table))).fetchall()
    assert before
    with pytest.raises(errors.InsufficientPrivilege):
        conn.execute(change)
    assert owner.execute(SQL("SELECT * FROM {}").format(Identifier(table))).fetchall() == before


def test_invoices_are_counted_on(conn: Connection) -> None:
    for _ in range(3):
        pay(conn, make_order(conn).order.order_number)
    assert conn.execute("SELECT last_serial FROM invoice_counters").fetchall() == [(3,)]


@pytest.mark.usefixtures("paid")
def test_the_owner_may_repair(owner: Connection) -> None:
    owner.execute("UPDATE orders SET total_rupiah = total_rupiah + 1")
    owner.execute("DELETE FROM job_attempts")


def test_a_job_that_is_deleted_takes_its_attempts_along(conn: Connection, owner: Connection) -> None:
    job = dead_job(conn)
    owner.execute("DELETE FROM jobs WHERE id = %s", [job.job_id])
    for table in ("job_attempts", "dead_jobs"):
        assert conn.execute(SQL("SELECT count(*) FROM {}").format(Identifier(table))).fetchone() == (0,)
