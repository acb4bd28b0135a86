"""Products in PostgreSQL."""

from psycopg import Connection
from psycopg.rows import class_row

from skincare.catalog.models import Product
from skincare.identifiers import Sku


def find(conn: Connection, sku: Sku) -> Product | None:
    """Return one product that customers may see."""
    cur = conn.cursor(row_factory=class_row(Product)).execute(
        "SELECT sku, name, price_rupiah, stock FROM products WHERE sku = %(sku)s AND status = 'active'",
        {"sku": sku},
    )
    return cur.fetchone()


def list_after(conn: Connection, sku: str, *, limit: int) -> list[Product]:
    """Return up to `limit` active products whose SKU comes after the given one; the empty text comes before all."""
    cur = conn.cursor(row_factory=class_row(Product)).execute(
        "SELECT sku, name, price_rupiah, stock FROM products WHERE sku > %(sku)s AND status = 'active'"
        " ORDER BY sku LIMIT %(limit)s",
        {"sku": sku, "limit": limit},
    )
    return cur.fetchall()
