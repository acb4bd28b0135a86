"""The shop's tables as tests look at them."""

import threading
import time
from collections.abc import Callable

from psycopg import Connection

_TABLES = ("orders", "order_items", "idempotency_keys", "jobs", "timers")


def written(conn: Connection) -> dict[str, int]:
    """Return how many rows of each kind checkouts have written."""
    counts = conn.execute(
        "SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM order_items),"
        " (SELECT count(*) FROM idempotency_keys), (SELECT count(*) FROM jobs WHERE unique_key IS NULL),"
        " (SELECT count(*) FROM jobs WHERE job_type = 'expire_order')"
    ).fetchone()
    assert counts is not None
    return dict(zip(_TABLES, counts, strict=True))


def stock(conn: Connection, sku: str) -> int:
    """Return how many units are left."""
    row = conn.execute("SELECT stock FROM products WHERE sku = %s", [sku]).fetchone()
    assert row is not None
    return int(row[0])


def set_stock(conn: Connection, units: int) -> None:
    """Let so many units of every product be for sale."""
    with conn.transaction():
        conn.execute(
            "INSERT INTO stock_movements (product_id, on_hand_delta, reserved_delta, reason, moved_by)"
            " SELECT id, %(units)s - stock, 0, 'counted', 'test' FROM products ORDER BY id",
            {"units": units},
        )
        conn.execute(
            "UPDATE products SET on_hand = on_hand + %(units)s - stock, stock = %(units)s,"
            " stock_version = stock_version + 1",
            {"units": units},
        )


def stock_differs(conn: Connection) -> list[str]:
    """Return the products whose numbers are not the sums of their movements."""
    rows = conn.execute(
        """
        SELECT p.sku FROM products p
        WHERE (p.on_hand, p.on_hand - p.stock) <> (
            SELECT coalesce(sum(m.on_hand_delta), 0)::integer, coalesce(sum(m.reserved_delta), 0)::integer
            FROM stock_movements m WHERE m.product_id = p.id
        )
        ORDER BY p.sku"""
    ).fetchall()
    return [sku for (sku,) in rows]


def reserved_differs(conn: Connection) -> list[str]:
    """Return the products of which not exactly that is reserved what orders hold and was not shipped."""
    rows = conn.execute(
        """
        SELECT p.sku FROM products p
        WHERE (p.on_hand - p.stock) <> (
            SELECT coalesce(sum(i.quantity), 0) FROM order_items i JOIN orders o ON o.id = i.order_id
            WHERE i.product_id = p.id AND o.status NOT IN ('cancelled', 'expired') AND o.restocked_at IS NULL
        ) + (
            SELECT coalesce(sum(m.reserved_delta), 0) FROM stock_movements m
            WHERE m.product_id = p.id AND m.reason = 'shipped'
        )
        ORDER BY p.sku"""
    ).fetchall()
    return [sku for (sku,) in rows]


def set_price(conn: Connection, sku: str, price_rupiah: int) -> None:
    conn.execute("UPDATE products SET price_rupiah = %s WHERE sku = %s", [price_rupiah, sku])


def somebody_waits_for_a_lock(conn: Connection) -> bool:
    """Tell whether a connection to this database is held up by another one."""
    row = conn.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    ).fetchone()
    return row is not None and row[0] > 0


def wait_until(condition: Callable[[], bool], *, within_s: float = 20) -> None:
    """Return once the condition holds; fail if it does not in time."""
    deadline = time.monotonic() + within_s
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        pause.wait(0.005)
