"""What is kept and what has had its time, in PostgreSQL. The removal itself is the functions `prune_*`."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from psycopg import Connection
from psycopg.rows import class_row
from psycopg.sql import SQL, Identifier

from skincare.retention.models import Step
from skincare.retention.policy import Rule

COUNTED = 10_000
"""Rows that are looked at to count those that have had their time."""

_DUE: Mapping[str, LiteralString] = {
    "jobs": """
        SELECT l.finished_at AS ended_at FROM (
            SELECT j.state, j.created_at, j.finished_at FROM jobs j ORDER BY j.id LIMIT %(limit)s
        ) l
        WHERE l.state IN ('completed', 'cancelled') AND l.created_at < now() - kept_for('jobs')
            AND l.finished_at < now() - kept_for('jobs')""",
    "idempotency_keys": """
        SELECT created_at AS ended_at FROM idempotency_keys
        WHERE created_at < now() - kept_for('idempotency_keys') ORDER BY created_at LIMIT %(limit)s""",
    "cart_items": """
        SELECT c.updated_at AS ended_at FROM (
            SELECT i.user_id FROM cart_items i
            WHERE i.added_at < now() - kept_for('cart_items') ORDER BY i.added_at LIMIT %(limit)s
        ) l JOIN carts c ON c.user_id = l.user_id WHERE c.updated_at < now() - kept_for('cart_items')""",
    "payment_events.body": """
        SELECT received_at AS ended_at FROM payment_events
        WHERE body IS NOT NULL AND received_at < now() - kept_for('payment_events.body')
            AND (state IN ('applied', 'ignored') OR (state = 'quarantined' AND reviewed_at IS NOT NULL))
        ORDER BY received_at LIMIT %(limit)s""",
    "quarantined_messages": """
        SELECT closed_at AS ended_at FROM quarantined_messages
        WHERE closed_at < now() - kept_for('quarantined_messages') ORDER BY closed_at LIMIT %(limit)s""",
    "reconciliation_runs": """
        SELECT finished_at AS ended_at FROM reconciliation_runs
        WHERE finished_at < now() - kept_for('reconciliation_runs') ORDER BY finished_at LIMIT %(limit)s""",
    "reconciliation_findings": """
        SELECT gone_at AS ended_at FROM reconciliation_findings
        WHERE gone_at < now() - kept_for('reconciliation_findings') ORDER BY gone_at LIMIT %(limit)s""",
}
"""When those ended that have had their time, by an index: the conditions of the functions `prune_*`."""

_OLDEST: Mapping[str, LiteralString] = {
    "jobs": "SELECT created_at FROM jobs ORDER BY id LIMIT 1",
    "idempotency_keys": "SELECT min(created_at) FROM idempotency_keys",
    "cart_items": "SELECT min(added_at) FROM cart_items",
    "payment_events.body": "SELECT min(received_at) FROM payment_events WHERE body IS NOT NULL",
    "payment_events": "SELECT received_at FROM payment_events ORDER BY id LIMIT 1",
    "quarantined_messages": "SELECT found_at FROM quarantined_messages ORDER BY id LIMIT 1",
    "reconciliation_runs": "SELECT started_at FROM reconciliation_runs ORDER BY id LIMIT 1",
    "reconciliation_findings": "SELECT min(first_seen_at) FROM reconciliation_findings",
    "orders": "SELECT created_at FROM orders ORDER BY id LIMIT 1",
    "payments": "SELECT created_at FROM payments ORDER BY id LIMIT 1",
    "payment_attempts": "SELECT min(created_at) FROM payment_attempts",
    "payment_anomalies": "SELECT created_at FROM payment_anomalies ORDER BY id LIMIT 1",
    "invoices": "SELECT created_at FROM invoices ORDER BY year, serial LIMIT 1",
    "credit_notes": "SELECT created_at FROM credit_notes ORDER BY year, serial LIMIT 1",
    "operations_audit": "SELECT at FROM operations_audit ORDER BY id LIMIT 1",
}
"""Since when there are rows, where an index says so."""


@dataclass(frozen=True)
class Due:
    """What has had its time among the first rows looked at: how many, since when, and by how many seconds too long."""

    rows: int
    ended_at: datetime | None
    overdue_s: float


def prune(conn: Connection, function: str, *, limit: int, after: str | None) -> Step:
    """Take one step of a function `prune_*`, in a transaction of its own: it looks at `limit` rows at most."""
    cur = conn.cursor(row_factory=class_row(Step))
    cur.execute(
        SQL("SELECT removed, next FROM {}(%(limit)s, %(after)s)").format(Identifier(function)),
        {"limit": limit, "after": after},
    )
    found = cur.fetchone()
    assert found is not None  # noqa: S101  each of them answers one row
    return found


def due(conn: Connection, rule: Rule) -> Due:
    """Return what of a rule with a function has had its time, among the first `COUNTED` rows."""
    cur = conn.cursor(row_factory=class_row(Due))
    cur.execute(
        SQL("""
        SELECT count(*) AS rows, min(d.ended_at) AS ended_at,
            CASE count(*) WHEN 0 THEN 0
                ELSE extract(epoch FROM least('100 years', now() - kept_for(%(what)s) - min(d.ended_at)))
            END::double precision AS overdue_s
        FROM ({}) d""").format(SQL(_DUE[rule.what])),
        {"what": rule.what, "limit": COUNTED},
    )
    found = cur.fetchone()
    assert found is not None  # noqa: S101  an aggregate without GROUP BY answers a row
    return found


def oldest(conn: Connection, rule: Rule) -> datetime | None:
    """Return since when a rule has rows, None where there are none or no index says it."""
    query = _OLDEST.get(rule.what)
    row = None if query is None else conn.execute(query).fetchone()
    return None if row is None else row[0]


def estimated_rows(conn: Connection) -> dict[str, int]:
    """Return about how many rows each table has; a table that PostgreSQL has not looked at yet is left out."""
    return dict(
        conn.execute("""
        SELECT c.relname, c.reltuples::bigint FROM pg_class c
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND c.reltuples >= 0""").fetchall()
    )
