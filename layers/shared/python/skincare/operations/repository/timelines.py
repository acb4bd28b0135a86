"""What happened to a job and to an order, in time order, without personal data."""

from collections.abc import Sequence
from typing import Any

from psycopg import Connection
from psycopg.rows import class_row

from skincare.identifiers import JobId, OrderNumber
from skincare.jobs.models import JobRow
from skincare.jobs.repository.payload import read_payload
from skincare.money import rupiah
from skincare.operations.models import JobAttempt, OrderTimeline, TimelineEntry

MOST_ENTRIES = 500


def jobs(conn: Connection, job_ids: Sequence[JobId]) -> list[JobRow]:
    """Return these jobs in the order of their ids."""
    cur = conn.cursor(row_factory=class_row(JobRow))
    cur.execute(
        """
        SELECT id::text, job_type, job_type AS type, queue, state, order_number, attempts, crashes, dead_letter_no,
            created_at, run_at, publish_at, retry_at, finished_at, error_class, error_message, request_id,
            state IN ('pending', 'queued', 'retry_waiting') AND job_is_paused(job_type, queue) AS paused
        FROM jobs WHERE id = ANY (%(ids)s::uuid[]) ORDER BY id""",
        {"ids": list(job_ids)},
    )
    return cur.fetchall()


def jobs_of_order(conn: Connection, order_number: str, *, limit: int) -> list[JobId]:
    """Return the newest jobs of an order."""
    cur = conn.execute(
        "SELECT id FROM jobs WHERE order_number = %(number)s ORDER BY id DESC LIMIT %(limit)s",
        {"number": order_number, "limit": limit},
    )
    return [row[0] for row in cur]


def payload_and_release(conn: Connection, job_id: JobId) -> tuple[dict[str, Any], str | None] | None:
    """Return what a job carries, or that it cannot be read, and which release ran it last."""
    row = conn.execute("SELECT payload::text, release FROM jobs WHERE id = %(id)s", {"id": job_id}).fetchone()
    if row is None:
        return None
    return read_payload(row[0]) or ({} if row[0] == "{}" else {"unreadable": True}), row[1]


def attempts(conn: Connection, job_id: JobId) -> list[JobAttempt]:
    """Return the attempts of a job that ended, oldest first; redrives do not shorten them."""
    cur = conn.cursor(row_factory=class_row(JobAttempt))
    cur.execute(
        """
        SELECT started_at, finished_at, outcome, error_class, error_message, release
        FROM job_attempts WHERE job_id = %(id)s ORDER BY id""",
        {"id": job_id},
    )
    return cur.fetchall()


def order(conn: Connection, order_number: OrderNumber) -> OrderTimeline | None:
    """Return what happened to an order, None where there is no such order: at most 500 things, the newest."""
    head = conn.execute(
        "SELECT status, total_rupiah FROM orders WHERE order_number = %(number)s", {"number": order_number}
    ).fetchone()
    if head is None:
        return None
    cur = conn.execute(
        """
        WITH o AS (SELECT * FROM orders WHERE order_number = %(number)s)
        SELECT at, what, detail FROM (
            SELECT created_at AS at, 1 AS rank, 'order placed' AS what, jsonb_build_array('request ' || request_id)
                AS detail FROM o
            UNION ALL SELECT paid_at, 6, 'order paid', '[]' FROM o WHERE paid_at IS NOT NULL
            UNION ALL SELECT cancelled_at, 6, 'order cancelled', '[]' FROM o WHERE cancelled_at IS NOT NULL
            UNION ALL SELECT expired_at, 6, 'order expired', '[]' FROM o WHERE expired_at IS NOT NULL
            UNION ALL SELECT a.created_at, 2, 'payment attempt',
                jsonb_build_array(a.gateway || ' no. ' || a.attempt_no || ', ', a.amount_rupiah)
                FROM payment_attempts a JOIN o ON o.id = a.order_id
            UNION ALL SELECT e.received_at, 3, 'payment event received', jsonb_build_array(
                e.gateway || ' reports ' || coalesce(e.status, 'something unreadable'),
                CASE WHEN e.amount_rupiah IS NOT NULL THEN ', ' END, e.amount_rupiah,
                ', now ' || e.state || coalesce(': ' || e.flaw, '') || ' (' || e.id || ')')
                FROM payment_events e WHERE e.order_number = %(number)s
            UNION ALL SELECT e.applied_at, 4, 'payment event applied',
                jsonb_build_array(e.gateway || ' ' || coalesce(e.confirmed_status, e.status) || ', ',
                    coalesce(e.confirmed_amount_rupiah, e.amount_rupiah),
                    CASE WHEN (e.confirmed_status, e.confirmed_amount_rupiah) <> (e.status, e.amount_rupiah)
                        THEN ': as the gateway said when asked, not as reported' END,
                    ' (' || e.id || ')')
                FROM payment_events e WHERE e.order_number = %(number)s AND e.applied_at IS NOT NULL
            UNION ALL SELECT p.updated_at, 5, 'payment now ' || p.status, jsonb_build_array(
                p.gateway || ', ', p.amount_rupiah, ', ', p.refunded_rupiah, ' given back',
                CASE WHEN p.charged_back_rupiah > 0 THEN ', ' END, nullif(p.charged_back_rupiah, 0),
                CASE WHEN p.charged_back_rupiah > 0 THEN ' taken back by a bank' END,
                CASE WHEN p.pays_order THEN ', pays the order' END)
                FROM payments p JOIN o ON o.id = p.order_id
            UNION ALL SELECT a.created_at, 5, 'anomaly ' || a.id || ': ' || a.kind, jsonb_build_array(
                a.task || ', reported ', a.amount_rupiah, ', expected ', a.expected_rupiah,
                CASE WHEN a.resolved_at IS NOT NULL THEN ', resolved'
                    WHEN a.withdrawn_at IS NOT NULL THEN ', withdrawn' ELSE ', open' END)
                FROM payment_anomalies a JOIN o ON o.id = a.order_id
            UNION ALL SELECT r.created_at, 1, 'refund requested', jsonb_build_array(
                r.gateway || ', ', r.amount_rupiah,
                ', now ' || r.state || coalesce(': ' || r.refusal, '') || ' (' || r.key || ')')
                FROM refunds r JOIN o ON o.id = r.order_id
            UNION ALL SELECT r.booked_at, 6, 'refund booked',
                jsonb_build_array(r.amount_rupiah, ' (' || r.key || ')')
                FROM refunds r JOIN o ON o.id = r.order_id WHERE r.booked_at IS NOT NULL
            UNION ALL SELECT restocked_at, 7, 'goods given back', jsonb_build_array('they are on sale again')
                FROM o WHERE restocked_at IS NOT NULL
            UNION ALL SELECT i.created_at, 7, 'invoice number taken', jsonb_build_array(i.number)
                FROM invoices i JOIN o ON o.id = i.order_id
            UNION ALL SELECT i.made_at, 8, 'invoice made', jsonb_build_array(i.number || ' version ' || i.version)
                FROM invoices i JOIN o ON o.id = i.order_id WHERE i.made_at IS NOT NULL
            UNION ALL SELECT c.created_at, 7, 'credit note number taken',
                jsonb_build_array(c.number || ', ', c.amount_rupiah)
                FROM credit_notes c JOIN o ON o.id = c.order_id
            UNION ALL SELECT c.made_at, 8, 'credit note made', jsonb_build_array(c.number)
                FROM credit_notes c JOIN o ON o.id = c.order_id WHERE c.made_at IS NOT NULL
            UNION ALL SELECT n.created_at, 8, 'mail ' || n.status,
                jsonb_build_array(n.notification_type || coalesce(': ' || n.reason, ''))
                FROM order_notifications n JOIN o ON o.id = n.order_id
            UNION ALL SELECT j.created_at, 2, 'job enqueued',
                jsonb_build_array(j.job_type || ', now ' || j.state,
                    CASE WHEN j.state IN ('pending', 'queued', 'retry_waiting') AND job_is_paused(j.job_type, j.queue)
                        THEN ', paused' END,
                    ' (' || j.id || ')')
                FROM jobs j WHERE j.order_number = %(number)s
            UNION ALL SELECT t.finished_at, 9, 'job attempt: ' || t.outcome,
                jsonb_build_array(j.job_type || coalesce(', ' || t.error_class || ': ' || t.error_message, ''))
                FROM job_attempts t JOIN jobs j ON j.id = t.job_id WHERE j.order_number = %(number)s
        ) AS entry ORDER BY at DESC, rank DESC LIMIT %(limit)s""",
        {"number": order_number, "limit": MOST_ENTRIES},
    )
    entries = [TimelineEntry(at, what, _sentence(detail)) for at, what, detail in cur]
    return OrderTimeline(order_number, head[0], head[1], tuple(reversed(entries)))


def _sentence(pieces: Sequence[str | int | None]) -> str:
    """Return a detail in words: each number in it is an amount, and how amounts are written is not for SQL to say."""
    return "".join(rupiah(piece) if isinstance(piece, int) else piece or "" for piece in pieces)
