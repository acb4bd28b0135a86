"""Refunds as customers are notified of them, and the units of refunded orders, in PostgreSQL."""

from psycopg import Connection


def note_refund(conn: Connection, order_id: int, *, returned_rupiah: int, credit_note: str | None = None) -> int | None:
    """Note that so much of a locked order's money has gone back in all; return the number of this refund.

    None where that much, or more, was noted before.
    """
    row = conn.execute(
        "SELECT note_refund(%(order_id)s, %(returned_rupiah)s, %(credit_note)s)",
        {"order_id": order_id, "returned_rupiah": returned_rupiah, "credit_note": credit_note},
    ).fetchone()
    return None if row is None or row[0] is None else int(row[0])


def restock(conn: Connection, order_id: int) -> bool:
    """Give the units of a locked, refunded order back; False where that is done, or its goods are gone."""
    row = conn.execute("SELECT restock_order(%(order_id)s)", {"order_id": order_id}).fetchone()
    return row is not None and bool(row[0])


def take_stock_again(conn: Connection, order_id: int) -> bool:
    """See to it that a locked order that is paid has its units; False where they were given back and are sold."""
    row = conn.execute("SELECT take_stock_again(%(order_id)s)", {"order_id": order_id}).fetchone()
    return row is not None and bool(row[0])
