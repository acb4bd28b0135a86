"""Every column is declared, and erasing does to each what is declared."""

import json
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import Connection

from skincare.app import App
from skincare.customers.columns import NOT_PERSONAL, PERSONAL, Effect
from skincare.identifiers import OrderNumber
from skincare.jobs import catalog
from tests.fakes.object_store import FakeObjectStore
from tests.support.customers import ask_export, columns_with, erase, finish_jobs, run_customer_jobs
from tests.support.factories import fill_cart, make_order, make_product
from tests.support.payments import make_attempt, tell
from worker.handlers import generate_invoice_pdf

CANARY = "canary7f3a"
SCHEMA = """
    SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped"""

OF_CUSTOMERS = {
    f"{table}.{column}": personal
    for table, columns in PERSONAL.items()
    for column, personal in columns.items()
    if personal.of_customer
}
NO_TEXT = {"cart_items.product_id"}
STRANGERS = {"quarantined_messages.body", "quarantined_messages.attributes", "quarantined_messages.binary_attributes"}


@pytest.fixture
def owner(owner_url: str) -> Iterator[Connection]:
    with psycopg.connect(owner_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def canary(app: App, conn: Connection, owner: Connection) -> str:
    """A customer whose every column that may be personal says so; nothing of them is open. The account's name."""
    user_id = f"sub-{CANARY}"
    number = make_order(
        conn,
        user_id=user_id,
        email=f"{CANARY}@example.com",
        recipient_name=CANARY,
        shipping_address=CANARY,
        note=CANARY,
        idempotency_key=CANARY,
    ).order.order_number
    make_attempt(conn, number)
    tell(app, number, "paid", f"transaction-{CANARY}", key=CANARY, customer={"name": CANARY})
    generate_invoice_pdf.handle(catalog.GenerateInvoicePdf(order_number=number), app)
    finish_jobs(conn, number)
    owner.execute("UPDATE idempotency_keys SET fingerprint = %s", [CANARY.encode()])
    owner.execute("UPDATE payment_attempts SET redirect_url = 'https://pay.example.com/' || %s", [CANARY])
    owner.execute(
        "INSERT INTO refunds (key, order_id, gateway, transaction_id, amount_rupiah, reason, requested_by, state,"
        " refusal) SELECT 'k', order_id, gateway, transaction_id, 5, %(c)s, 'me', 'refused', %(c)s FROM payments",
        {"c": CANARY},
    )
    owner.execute(
        "INSERT INTO order_notifications (order_id, notification_type, status, provider_message_id)"
        " SELECT id, 'payment_received', 'sent', %s FROM orders",
        [CANARY],
    )
    owner.execute("INSERT INTO suppressed_recipients (email, reason) VALUES (%s, 'x')", [f"{CANARY}@example.com"])
    owner.execute("INSERT INTO reconciliation_findings (kind, subject) VALUES ('x', %s)", [CANARY])
    fill_cart(conn, user_id, {make_product(conn).sku: 2})
    owner.execute("INSERT INTO customer_requests (kind, user_id) VALUES ('erase', %s)", [user_id])
    return user_id


def test_every_column_is_declared_once(owner: Connection) -> None:
    declared = [f"{table}.{column}" for table, columns in PERSONAL.items() for column in columns]
    declared += [f"{table}.{column}" for table, columns in NOT_PERSONAL.items() for column in columns.split()]
    there = [f"{table}.{column}" for table, column in owner.execute(SCHEMA).fetchall()]
    assert sorted(declared) == sorted(there)


def test_the_customer_of_these_tests_is_in_every_personal_column(owner: Connection, canary: str) -> None:
    assert columns_with(owner, CANARY) == set(OF_CUSTOMERS) - NO_TEXT - STRANGERS
    assert canary


def test_erasing_leaves_a_name_only_where_it_is_declared_to_stay(
    app: App, conn: Connection, owner: Connection, canary: str
) -> None:
    assert erase(app, conn, canary) == "erased"
    kept = {column for column, personal in OF_CUSTOMERS.items() if personal.effect is Effect.KEPT}
    assert columns_with(owner, CANARY) == kept - STRANGERS


def test_what_is_replaced_is_there_and_what_is_removed_is_not(
    app: App, conn: Connection, owner: Connection, canary: str
) -> None:
    assert erase(app, conn, canary) == "erased"
    for column, personal in OF_CUSTOMERS.items():
        table, name = column.split(".")
        if personal.effect is Effect.REMOVED:
            assert owner.execute(f"SELECT count({name}) FROM {table}".encode()).fetchone() == (0,), column
    row = owner.execute(
        "SELECT o.user_id = r.pseudonym, o.email, f.reason, f.refusal, s.email = address_hash(%s), e.body IS NULL"
        " FROM orders o, customer_requests r, refunds f, suppressed_recipients s, payment_events e",
        [f"{CANARY}@example.com"],
    ).fetchone()
    assert row == (True, "erased@erased.invalid", "erased", "erased", True, True)


def test_the_books_are_as_before(app: App, conn: Connection, owner: Connection, canary: str) -> None:
    """All that is not declared as personal stays as it was, to the last column, but for what is removed whole."""
    gone = {"carts", "cart_items", "idempotency_keys"}
    moved = {"customer_requests", "jobs", "job_attempts", "job_schedule", "job_keys", "operations_audit"}
    changed = {"erased_at", "body_sha256"}

    def books() -> dict[str, object]:
        return {
            table: owner.execute(
                f"SELECT {', '.join(sorted(set(columns.split()) - changed))} FROM {table} ORDER BY 1".encode()
            ).fetchall()
            for table, columns in NOT_PERSONAL.items()
            if table not in gone | moved
        }

    before = books()
    assert erase(app, conn, canary) == "erased"
    assert books() == before


def test_an_export_has_every_personal_column(app: App, conn: Connection, canary: str) -> None:
    conn.execute("UPDATE customer_requests SET user_id = 'sub-other'")
    (request,) = ask_export(app, canary)
    run_customer_jobs(app, conn)
    assert isinstance(app.files, FakeObjectStore)
    (key,) = (key for key in app.files.files if key.startswith(f"exports/{request.id}-"))
    document = json.loads(app.files.files[key])
    (order,) = document["orders"]
    said = {
        "carts.user_id": document["account"],
        "cart_items.user_id": document["account"],
        "cart_items.product_id": document["cart"]["items"][0]["sku"],
        "orders.user_id": document["account"],
        **{f"orders.{name}": order[name] for name in PERSONAL["orders"] if name != "user_id"},
    }
    assert all(said.values())
    assert order["messages_of_gateways"][0]["event_key"] == CANARY
    assert OrderNumber(order["order_number"])
