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
