"""Stock and its movements in PostgreSQL."""

from typing import Any

from psycopg import Connection
from psycopg.rows import dict_row

from skincare.identifiers import Sku
from skincare.inventory.errors import StockKeyReused, StockNegative
from skincare.inventory.models import Move, Moved, Movement, Reason, Stock


def find(conn: Connection, sku: Sku) -> Stock | None:
    """Return a product's stock, None where there is no such product."""
    row = (
        conn.cursor(row_factory=dict_row)
        .execute(
            """
            SELECT stock AS available, on_hand, on_hand - stock AS reserved, stock_version AS version
            FROM products WHERE sku = %(sku)s""",
            {"sku": sku},
        )
        .fetchone()
    )
    return None if row is None else Stock(sku, **row)


def movements(conn: Connection, sku: Sku, *, before: int | None, limit: int) -> list[Movement]:
    """Return a product's newest movements, those with a lower number than `before`."""
    cur = conn.cursor(row_factory=dict_row).execute(
        """
        SELECT m.id, m.created_at AS at, m.reason, m.on_hand_delta AS on_hand, m.reserved_delta AS reserved,
            o.order_number, m.reference, m.lot, m.expires_on, m.moved_by, m.key
        FROM products p JOIN stock_movements m ON m.product_id = p.id LEFT JOIN orders o ON o.id = m.order_id
        WHERE p.sku = %(sku)s AND (%(before)s::bigint IS NULL OR m.id < %(before)s)
        ORDER BY m.id DESC LIMIT %(limit)s""",
        {"sku": sku, "before": before, "limit": limit},
    )
    return [Movement(**row | {"reason": Reason(row["reason"])}) for row in cur]


def move(conn: Connection, move: Move) -> Moved | None:
    """Move stock once, None where there is no such product.

    Raises `StockNegative` and `StockKeyReused`; then nothing was moved.
    """
    row: dict[str, Any] | None = (
        conn.cursor(row_factory=dict_row)
        .execute(
            """
            SELECT * FROM move_stock(
                %(sku)s, %(on_hand)s, %(reserved)s, %(reason)s, %(key)s, %(moved_by)s, p_reference => %(reference)s
            )""",
            vars(move),
        )
        .fetchone()
    )
    if row is None:
        return None
    outcome = row.pop("outcome")
    stock = Stock(move.sku, **row)
    if outcome == "negative":
        raise StockNegative(stock)
    if outcome == "key_reused":
        raise StockKeyReused
    return Moved(stock, replayed=outcome == "replayed")
