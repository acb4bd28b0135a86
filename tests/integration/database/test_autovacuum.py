"""Tables that change all day are vacuumed and analysed early, however large they have grown."""

import pytest
from psycopg import Connection

ROWS = 10_000_000
A_FIFTIETH = ROWS // 50
"""Of rows that go, or change: PostgreSQL's own default would wait for a fifth."""

CHANGED: dict[str, int] = {
    "jobs": A_FIFTIETH,
    "orders": A_FIFTIETH,
    "products": A_FIFTIETH + 500,
    "carts": A_FIFTIETH + 500,
    "cart_items": A_FIFTIETH + 500,
    # A row of theirs lives for minutes: they would be mostly dead rows.
    "job_schedule": 1000,
    "job_keys": 1000,
}
"""After how many dead rows a table is vacuumed, at most."""

FILLED = {"job_attempts": ROWS // 20, "order_items": ROWS // 20, "payment_events": ROWS // 20}
"""After how many new rows a table that only grows is vacuumed, at most, so that index-only scans stay so."""


def after(conn: Connection, table: str, what: str, *, scale: float, threshold: int) -> float:
    """Return after how many rows autovacuum comes by at a table of `ROWS`; defaults are PostgreSQL's."""
    options: dict[str, str] = dict(
        conn.execute(
            "SELECT o.option_name, o.option_value FROM pg_class c, pg_options_to_table(c.reloptions) o"
            " WHERE c.oid = %s::regclass",
            [table],
        ).fetchall()
    )
    factor = float(options.get(f"autovacuum_{what}_scale_factor", scale))
    return float(options.get(f"autovacuum_{what}_threshold", threshold)) + factor * ROWS


@pytest.mark.parametrize("table", CHANGED)
def test_dead_rows_are_cleared_away_early(conn: Connection, table: str) -> None:
    assert after(conn, table, "vacuum", scale=0.2, threshold=50) <= CHANGED[table] + 50


@pytest.mark.parametrize("table", FILLED)
def test_new_rows_are_marked_as_visible_early(conn: Connection, table: str) -> None:
    assert after(conn, table, "vacuum_insert", scale=0.2, threshold=1000) <= FILLED[table] + 1000


@pytest.mark.parametrize(
    "table", ["jobs", "job_attempts", "job_schedule", "job_keys", "orders", "order_items", "payment_events"]
)
def test_statistics_are_renewed_early(conn: Connection, table: str) -> None:
    assert after(conn, table, "analyze", scale=0.1, threshold=50) <= A_FIFTIETH + 50


def test_nobody_has_switched_it_off_for_a_table(conn: Connection) -> None:
    switched_off = conn.execute(
        "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND EXISTS ("
        " SELECT FROM pg_options_to_table(c.reloptions) o"
        " WHERE o.option_name = 'autovacuum_enabled' AND NOT o.option_value::boolean)"
    ).fetchall()
    assert switched_off == []
