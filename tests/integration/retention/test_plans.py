"""A step looks at as many rows as it may, however many there are and whatever the planner knows of them."""

import pytest
from psycopg import Connection

from skincare.retention import repository
from skincare.retention.policy import REMOVED

FILL = """
    INSERT INTO products (sku, name, price_rupiah, stock) VALUES ('A', 'x', 1, 1);
    INSERT INTO jobs (id, job_type, queue, payload, state, created_at, finished_at)
    SELECT (lpad(to_hex(n), 12, '0') || '70008000000000000000')::uuid, 'x', 'x', '{}', 'completed', t, t
    FROM rows;
    INSERT INTO job_attempts (job_id, started_at, outcome) SELECT id, created_at, 'completed' FROM jobs;
    INSERT INTO idempotency_keys (user_id, key, fingerprint, order_number, created_at)
    SELECT 'u' || n, 'k', '', 'o', t FROM rows;
    INSERT INTO carts (user_id, updated_at) SELECT 'u' || n, t FROM rows;
    INSERT INTO cart_items (user_id, product_id, quantity, added_at)
    SELECT 'u' || n, p.id, 1, t FROM rows, products p;
    INSERT INTO payment_events (id, gateway, event_key, body, headers, state, received_at)
    SELECT gen_random_uuid(), 'doku', 'e' || n, 'x', '{}', 'ignored', t FROM rows;
    INSERT INTO quarantined_messages (queue, content_hash, body, attributes, reason, closed_at)
    SELECT 'x', sha256(n::text::bytea), '', '{}', 'x', t FROM rows;
    INSERT INTO reconciliation_runs (started_at, finished_at) SELECT t, t FROM rows WHERE n <= 100;
    INSERT INTO reconciliation_findings (kind, subject, gone_at) SELECT 'x', n::text, t FROM rows;
"""
"""Rows of today, but for the first hundred, which are years old."""


@pytest.mark.parametrize("function", [function for _, function in REMOVED])
@pytest.mark.parametrize("statistics", ["of empty tables", "none, as after a restore", "fresh"])
def test_a_step_reads_no_table_whole(conn: Connection, owner: Connection, function: str, statistics: str) -> None:
    if statistics == "of empty tables":
        owner.execute("ANALYZE")
        # A session that keeps what it planned then.
        for _ in range(6):
            repository.prune(conn, function, limit=10, after=None)
    with owner.transaction():
        owner.execute("""
            CREATE TEMP TABLE rows ON COMMIT DROP AS
            SELECT n, now() - CASE WHEN n <= 100 THEN interval '9 years' ELSE interval '0' END AS t
            FROM generate_series(1, 4000) n""")
        for statement in FILL.split(";"):
            if statement.strip():
                owner.execute(statement.encode())
    if statistics == "fresh":
        owner.execute("ANALYZE")
    with conn.transaction():
        assert repository.prune(conn, function, limit=10, after=None).removed == 10
        assert read(conn) == {}


def read(conn: Connection) -> dict[str, int]:
    """Return the tables of which this transaction has read more than a step needs, by whatever scan."""
    rows = conn.execute("""
        SELECT relname, coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0) FROM pg_stat_xact_user_tables""")
    # A reconciliation a day leaves a small table, which has no index by its time.
    return {table: count for table, count in rows if count > 150 and table != "reconciliation_runs"}
