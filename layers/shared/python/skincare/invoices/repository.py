"""Invoices in PostgreSQL: the numbers of a year, and what became of each file."""

from psycopg import Connection
from psycopg.rows import dict_row

from skincare.identifiers import OrderNumber, UserId
from skincare.invoices.models import Invoice, InvoiceLine
from skincare.locales import Locale


def take_number(conn: Connection, order_id: int) -> str:
    """Give a locked order that is being paid the year's next number.

    Call it last in the transaction that writes `paid_at`: the year's row stays locked until it ends.
    Its year is that of the transaction's beginning, in the shop. It is issued once the year's row is ours, and within
    that year, so that a higher number never has an earlier day. A second number for one order is refused by
    `invoices_pkey`.
    """
    row = conn.execute("SELECT take_invoice_number(%(order_id)s)", {"order_id": order_id}).fetchone()
    assert row is not None  # noqa: S101  a SELECT without FROM answers a row
    return str(row[0])


def take_missing_number(conn: Connection, order_number: OrderNumber) -> str | None:
    """Give an order that was paid without a number its number, None where it has one or was never paid.

    Call it in a transaction: releases before there were invoices left such orders behind.
    """
    row = conn.execute(
        """
        SELECT id FROM orders
        WHERE order_number = %(order_number)s AND paid_at IS NOT NULL FOR NO KEY UPDATE""",
        {"order_number": order_number},
    ).fetchone()
    if row is None:
        return None
    has_one = conn.execute("SELECT 1 FROM invoices WHERE order_id = %(id)s", {"id": row[0]}).fetchone()
    return None if has_one else take_number(conn, row[0])


def load(conn: Connection, order_number: OrderNumber) -> Invoice | None:
    """Return an order's invoice with all that its file shows, in one statement."""
    row = (
        conn.cursor(row_factory=dict_row)
        .execute(
            """
            SELECT v.order_id, v.number, v.version, v.created_at AS issued_at, o.order_number, o.paid_at, o.locale,
                o.total_rupiah, o.email, o.recipient_name, o.shipping_address, v.made_at IS NOT NULL AS is_made,
                o.erased_at IS NOT NULL AS is_erased, (
                    SELECT jsonb_agg(jsonb_build_object(
                        'sku', i.sku, 'name', i.name, 'quantity', i.quantity,
                        'unit_price_rupiah', i.unit_price_rupiah
                    ) ORDER BY i.product_id)
                    FROM order_items i WHERE i.order_id = o.id
                ) AS lines
            FROM invoices v JOIN orders o ON o.id = v.order_id
            WHERE o.order_number = %(order_number)s""",
            {"order_number": order_number},
        )
        .fetchone()
    )
    if row is None:
        return None
    lines = tuple(InvoiceLine(**line) for line in row["lines"])
    return Invoice(**row | {"locale": Locale(row["locale"]), "lines": lines})


def record_made(conn: Connection, invoice: Invoice) -> bool:
    """Record that the file is kept; False means that somebody did before."""
    cur = conn.execute(
        """
        UPDATE invoices SET object_key = %(object_key)s, made_at = now()
        WHERE order_id = %(order_id)s AND version = %(version)s AND made_at IS NULL""",
        {"object_key": invoice.object_key, "order_id": invoice.order_id, "version": invoice.version},
    )
    return cur.rowcount == 1


def find(conn: Connection, user_id: UserId, order_number: OrderNumber) -> tuple[str, str | None] | None:
    """Return number and, once the file is there, key of the caller's invoice."""
    row = conn.execute(
        """
        SELECT v.number, v.object_key FROM invoices v JOIN orders o ON o.id = v.order_id
        WHERE o.user_id = %(user_id)s AND o.order_number = %(order_number)s""",
        {"user_id": user_id, "order_number": order_number},
    ).fetchone()
    return None if row is None else (row[0], row[1])
