"""Carts in PostgreSQL. The functions called here lock the cart's row before its lines."""

from psycopg import Connection, DatabaseError
from psycopg.rows import dict_row

from skincare.carts.errors import CartFull
from skincare.carts.models import MAX_LINES, Cart, CartItem
from skincare.identifiers import Sku, UserId

_TOO_MANY_LINES = "SK003"


def load(conn: Connection, user_id: UserId) -> Cart:
    """Return the cart, lines in the order in which they were added; a cart that was never filled is empty."""
    rows = (
        conn.cursor(row_factory=dict_row)
        .execute(
            """
            SELECT c.version, p.sku, p.name, i.quantity, p.price_rupiah,
                CASE WHEN p.status = 'active' THEN p.stock ELSE 0 END AS stock
            FROM carts c
            LEFT JOIN (cart_items i JOIN products p ON p.id = i.product_id) ON i.user_id = c.user_id
            WHERE c.user_id = %(user_id)s
            ORDER BY i.added_at, p.id""",
            {"user_id": user_id},
        )
        .fetchall()
    )
    version = rows[0]["version"] if rows else 0
    items = (
        CartItem(row["sku"], row["name"], row["quantity"], row["price_rupiah"], row["stock"])
        for row in rows
        if row["sku"] is not None
    )
    return Cart(version, tuple(items))


def put_item(conn: Connection, user_id: UserId, sku: Sku, quantity: int) -> bool:
    """Add a line or replace its quantity; False means that no such product is for sale. Raises `CartFull`."""
    try:
        cur = conn.execute(
            "SELECT put_cart_item(%(user_id)s, %(sku)s, %(quantity)s, %(maximum)s)",
            {"user_id": user_id, "sku": sku, "quantity": quantity, "maximum": MAX_LINES},
        )
    except DatabaseError as error:
        if error.sqlstate == _TOO_MANY_LINES:
            raise CartFull from None
        raise
    return cur.fetchone() == (True,)


def remove_item(conn: Connection, user_id: UserId, sku: Sku) -> bool:
    """Take a line out, if it is there; False means there is no such product."""
    cur = conn.execute("SELECT remove_cart_item(%(user_id)s, %(sku)s)", {"user_id": user_id, "sku": sku})
    return cur.fetchone() == (True,)
