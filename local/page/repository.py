"""What the page reads from the database. Nothing here writes, and every list is bounded."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from psycopg import Connection
from psycopg.conninfo import make_conninfo
from psycopg.rows import class_row, dict_row

from skincare.jobs.models import JobRow


@dataclass(frozen=True)
class Backlog:
    """The unfinished jobs of one queue; ages are seconds, None where there is no such job.

    `oldest_s` counts from when the oldest one was first due, `oldest_sent_s` likewise among those that SQS was given,
    `oldest_dead_s` from the failure that ended it.
    """

    queue: str
    oldest_s: float | None
    oldest_sent_s: float | None
    dead: int
    oldest_dead_s: float | None


@dataclass(frozen=True)
class OrderRow:
    """An order, whoever placed it, with the rows that tell what happened to it. Money is whole rupiah.

    Each of `jobs` has `job_type, state, created_at, retry_at, finished_at, last_failed_at, error_class,
    error_message` and its `attempts` with `started_at,
    finished_at, outcome, error_class, error_message`; each of `notifications` has `notification_type, status,
    reason, created_at`. Their times are text (RFC 3339).
    """

    order_number: str
    status: str
    email: str = field(repr=False)
    locale: str
    total_rupiah: int
    created_at: datetime
    cancelled_at: datetime | None
    items: list[dict[str, Any]]
    jobs: list[dict[str, Any]]
    notifications: list[dict[str, Any]]
    paid_at: datetime | None = None


def read_only(conninfo: str) -> str:
    """Return a connection string whose sessions cannot write."""
    return make_conninfo(conninfo, options="-c default_transaction_read_only=on")


def read_backlogs(conn: Connection) -> list[Backlog]:
    """Return the backlog of each queue that has unfinished jobs."""
    cur = conn.cursor(row_factory=class_row(Backlog))
    cur.execute("""
        SELECT queue,
            max(job_age_s(job_type, queue, greatest(budget_from, run_at))) FILTER (
                WHERE state <> 'dead_letter' AND greatest(budget_from, run_at) <= now()
            ) AS oldest_s,
            max(job_age_s(job_type, queue, greatest(budget_from, run_at))) FILTER (
                WHERE state <> 'dead_letter' AND greatest(budget_from, run_at) <= now()
                    AND (sends > 0 OR state <> 'pending') AND NOT job_is_paused(job_type, queue)
            ) AS oldest_sent_s,
            count(*) FILTER (WHERE state = 'dead_letter') AS dead,
            extract(epoch FROM now() - min(last_failed_at) FILTER (
                WHERE state = 'dead_letter' AND isfinite(last_failed_at)
            ))::float AS oldest_dead_s
        FROM jobs
        WHERE publish_at IS NOT NULL AND id = ANY (ARRAY(SELECT job_id FROM job_schedule))
            AND isfinite(budget_from)
        GROUP BY queue""")
    return cur.fetchall()


def count_jobs(conn: Connection) -> dict[str, int]:
    """Return how many jobs there are by state; a state without any is left out."""
    return dict(conn.execute("SELECT state, count(*) FROM jobs GROUP BY state").fetchall())


def newest_jobs(conn: Connection, *, per_state: int) -> list[JobRow]:
    """Return the newest jobs of every state, all of them newest first."""
    cur = conn.cursor(row_factory=class_row(JobRow))
    cur.execute(
        """
        SELECT j.id::text, j.job_type, j.job_type AS type, j.queue, j.state, j.order_number, j.attempts, j.crashes,
            j.dead_letter_no, j.created_at, j.run_at, j.publish_at, j.retry_at, j.finished_at, j.error_class,
            j.error_message, j.request_id,
            j.state IN ('pending', 'queued', 'retry_waiting') AND job_is_paused(j.job_type, j.queue) AS paused
        FROM (SELECT DISTINCT state FROM jobs) s CROSS JOIN LATERAL (
            SELECT * FROM jobs WHERE state = s.state ORDER BY id DESC LIMIT %(per_state)s
        ) j
        ORDER BY j.id DESC""",
        {"per_state": per_state},
    )
    return cur.fetchall()


def newest_orders(conn: Connection, *, limit: int) -> list[OrderRow]:
    """Return the newest orders of all customers, in one round trip."""
    rows = (
        conn.cursor(row_factory=dict_row)
        .execute(
            """
            SELECT o.order_number, o.status, o.email, o.locale, o.total_rupiah, o.created_at, o.cancelled_at,
                o.paid_at, (
                SELECT coalesce(jsonb_agg(jsonb_build_object(
                    'sku', i.sku, 'name', i.name, 'quantity', i.quantity, 'unit_price_rupiah', i.unit_price_rupiah
                ) ORDER BY i.product_id), '[]')
                FROM order_items i WHERE i.order_id = o.id
            ) AS items, (
                SELECT coalesce(jsonb_agg(jsonb_build_object(
                    'job_type', j.job_type, 'state', j.state, 'created_at', j.created_at, 'retry_at', j.retry_at,
                    'finished_at', j.finished_at, 'last_failed_at', j.last_failed_at,
                    'error_class', j.error_class, 'error_message', j.error_message, 'attempts', (
                        SELECT coalesce(jsonb_agg(jsonb_build_object(
                            'started_at', a.started_at, 'finished_at', a.finished_at, 'outcome', a.outcome,
                            'error_class', a.error_class, 'error_message', a.error_message
                        ) ORDER BY a.id), '[]')
                        FROM (
                            SELECT * FROM job_attempts WHERE job_id = j.id ORDER BY id DESC LIMIT 20
                        ) a
                    )
                ) ORDER BY j.created_at, j.id), '[]')
                FROM jobs j WHERE j.order_number = o.order_number
                    -- A timer that has not gone off is nothing that happened.
                    AND NOT (j.unique_key IS NOT NULL AND j.attempts = 0)
            ) AS jobs, (
                SELECT coalesce(jsonb_agg(jsonb_build_object(
                    'notification_type', n.notification_type, 'status', n.status, 'reason', n.reason,
                    'created_at', n.created_at
                ) ORDER BY n.created_at), '[]')
                FROM order_notifications n WHERE n.order_id = o.id
            ) AS notifications
            FROM orders o ORDER BY o.id DESC LIMIT %(limit)s""",
            {"limit": limit},
        )
        .fetchall()
    )
    return [OrderRow(**row) for row in rows]
