"""Credit notes in PostgreSQL: the numbers of a year, and what became of each file."""

from datetime import datetime

from psycopg import Connection
from psycopg.rows import dict_row

from skincare.identifiers import OrderNumber, UserId
from skincare.invoices import repository as invoices
from skincare.invoices.credit_notes.models import CreditNote


def issue(conn: Connection, order_id: int, *, credited_rupiah: int) -> str | None:
    """Credit so much of a locked order's invoice in all; return the number of the credit note for what is new of it.

    None where that much, or more, is credited, or where there is no invoice. Call it late in the transaction: the
    year's row stays locked until it ends. As with invoices a higher number never has an earlier day.
    """
    row = conn.execute(
        "SELECT issue_credit_note(%(order_id)s, %(credited_rupiah)s)",
        {"order_id": order_id, "credited_rupiah": credited_rupiah},
    ).fetchone()
    return None if row is None or row[0] is None else str(row[0])


def load(conn: Connection, order_number: OrderNumber, number: str) -> CreditNote | None:
    """Return a credit note of an order with all that its file shows, None where there is none."""
    row = (
        conn.cursor(row_factory=dict_row)
        .execute(
            """
            SELECT n.number, n.amount_rupiah, n.created_at AS issued_at, n.made_at IS NOT NULL AS is_made
            FROM credit_notes n JOIN orders o ON o.id = n.order_id
            WHERE o.order_number = %(order_number)s AND n.number = %(number)s""",
            {"order_number": order_number, "number": number},
        )
        .fetchone()
    )
    invoice = invoices.load(conn, order_number)
    return None if row is None or invoice is None else CreditNote(**row, invoice=invoice)


def record_made(conn: Connection, note: CreditNote) -> bool:
    """Record that the file is kept; False means that somebody did before."""
    cur = conn.execute(
        """
        UPDATE credit_notes SET object_key = %(object_key)s, made_at = now()
        WHERE number = %(number)s AND made_at IS NULL""",
        {"object_key": note.object_key, "number": note.number},
    )
    return cur.rowcount == 1


def of_order(
    conn: Connection, user_id: UserId, order_number: OrderNumber
) -> list[tuple[str, int, datetime, str | None]] | None:
    """Return number, amount, time and, once it is there, the file's key of each credit note, oldest first.

    None where the caller has no such order.
    """
    rows = conn.execute(
        """
        SELECT n.number, n.amount_rupiah, n.created_at, n.object_key
        FROM orders o LEFT JOIN credit_notes n ON n.order_id = o.id
        WHERE o.user_id = %(user_id)s AND o.order_number = %(order_number)s
        ORDER BY n.year, n.serial""",
        {"user_id": user_id, "order_number": order_number},
    ).fetchall()
    return [row for row in rows if row[0] is not None] if rows else None
