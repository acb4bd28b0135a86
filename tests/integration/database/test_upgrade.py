"""A database that an earlier release made and used, brought to this one."""

import secrets
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import Connection
from psycopg.sql import SQL, Identifier

from emulator.postgres import PostgresServer
from skincare.app import App
from skincare.database.migrate import migrate
from skincare.identifiers import OrderNumber
from skincare.jobs.catalog import GenerateInvoicePdf, SendPaymentReceivedEmail
from tests.fakes.email import FakeEmailSender
from tests.support.database import TemplateDatabase
from tests.support.former_migrations import apply_former
from tests.support.http import open_app
from tests.support.payments import checked
from worker.handlers import generate_invoice_pdf, send_payment_received_email

PAYMENTS_END = "0008"
"""The first migration of the former numbering that this release did not have."""


def upgrade(conninfo: str) -> None:
    """Deploy the last release of the former numbering, then this one."""
    apply_former(conninfo, after=PAYMENTS_END)
    migrate(conninfo)


@pytest.fixture
def old_database(postgres: PostgresServer, template_database: TemplateDatabase) -> Iterator[str]:
    """The name of a database as the release made it that knew payments and no invoices."""
    name = f"old_{secrets.token_hex(6)}"
    template_database.admin.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
    apply_former(postgres.dsn(database=name), before=PAYMENTS_END)
    yield name
    template_database.admin.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


def order_of_old(conn: Connection, status: str) -> OrderNumber:
    """An order of 150,000 rupiah whose payment the earlier release applied: no number, no job, no mail."""
    number = OrderNumber(f"SKN-AED00-{secrets.token_hex(3).upper()[:5]}")
    conn.execute("INSERT INTO carts (user_id) VALUES (%s) ON CONFLICT DO NOTHING", [number])
    row = conn.execute(
        "INSERT INTO orders (order_number, user_id, cart_version, total_rupiah, email, locale, status, paid_at)"
        " VALUES (%s, %s, 1, 150000, 'buyer@example.com', 'id', %s, CASE WHEN %s <> 'pending'"
        " THEN now() - interval '3 days' END) RETURNING id",
        [number, number, status, status],
    ).fetchone()
    assert row is not None
    product = conn.execute(
        "INSERT INTO products (sku, name, price_rupiah, stock) VALUES (%s, 'Serum', 150000, 5) RETURNING id", [number]
    ).fetchone()
    assert product is not None
    conn.execute(
        "INSERT INTO order_items (order_id, product_id, sku, name, unit_price_rupiah, quantity)"
        " VALUES (%s, %s, %s, 'Serum', 150000, 1)",
        [row[0], product[0], number],
    )
    return number


def work(app: App) -> list[tuple[str, str]]:
    """Reconcile, and handle what that enqueued."""
    repaired = [(each.kind, str(each.order_number)) for each in checked(app).repaired]
    for kind, number in repaired:
        match kind:
            case GenerateInvoicePdf.job_type:
                generate_invoice_pdf.handle(GenerateInvoicePdf(order_number=number), app)
            case SendPaymentReceivedEmail.job_type:
                send_payment_received_email.handle(SendPaymentReceivedEmail(order_number=number), app)
    with app.database.connection() as conn:
        conn.execute("UPDATE jobs SET state = 'queued' WHERE state = 'pending'")
        conn.execute(
            "UPDATE jobs SET state = 'processing', lease_token = gen_random_uuid(), leased_at = now(),"
            " lease_until = now() WHERE state = 'queued'"
        )
        conn.execute(
            "UPDATE jobs SET state = 'completed', publish_at = NULL, finished_at = now(), lease_token = NULL,"
            " leased_at = NULL, lease_until = NULL WHERE state = 'processing'"
        )
    return repaired


class TestAnOrderThatAnEarlierReleaseMadePaid:
    def test_gets_its_invoice_and_its_mail_once(
        self, postgres: PostgresServer, template_database: TemplateDatabase, old_database: str
    ) -> None:
        with psycopg.connect(postgres.dsn(database=old_database), autocommit=True) as owner:
            paid, refunded, _ = (order_of_old(owner, status) for status in ("paid", "refunded", "pending"))
            upgrade(postgres.dsn(database=old_database))
            with open_app(template_database.app_url(old_database)) as app:
                assert sorted(work(app)) == sorted(
                    [
                        (GenerateInvoicePdf.job_type, paid),
                        (GenerateInvoicePdf.job_type, refunded),
                        (SendPaymentReceivedEmail.job_type, paid),
                    ]
                )
                assert work(app) == []
                assert isinstance(app.email, FakeEmailSender)
                assert [paid in mail.subject for mail in app.email.sent] == [True]
            rows = owner.execute(
                "SELECT serial, object_key IS NOT NULL FROM invoices v JOIN orders o ON o.id = v.order_id"
                " WHERE order_number = ANY (%s) ORDER BY 1",
                [[paid, refunded]],
            ).fetchall()
            assert rows == [(1, True), (2, True)]

    def test_knows_the_words_of_this_release(self, postgres: PostgresServer, old_database: str) -> None:
        upgrade(postgres.dsn(database=old_database))
        with psycopg.connect(postgres.dsn(database=old_database), autocommit=True) as owner:
            valid = owner.execute(
                "SELECT conname FROM pg_constraint WHERE NOT convalidated AND contype = 'c'"
            ).fetchall()
            assert valid == []
