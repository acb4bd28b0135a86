"""Dead jobs as people look at them. The ledger is read and never the queue: receiving hides messages."""

from collections.abc import Sequence
from uuid import UUID

from psycopg import Connection
from psycopg.rows import class_row
from psycopg.sql import SQL

from skincare.identifiers import JobId
from skincare.jobs.repository.acknowledgements import ACKNOWLEDGED
from skincare.operations.conditions import DeadConditions
from skincare.operations.dead_letters import AcknowledgedGroup, DeadGroup, DeadJob


def groups(conn: Connection) -> list[DeadGroup]:
    """Return the dead jobs by type and class of error, the largest group first."""
    cur = conn.cursor(row_factory=class_row(DeadGroup))
    cur.execute(
        SQL("""
        SELECT job_type, coalesce(error_class, 'Unknown') AS error_class, count(*)::integer AS count,
            min(coalesce(last_failed_at, created_at)) AS oldest_failed_at,
            max(coalesce(last_failed_at, created_at)) AS newest_failed_at,
            count(DISTINCT order_number)::integer AS orders,
            coalesce((array_agg(DISTINCT order_number) FILTER (WHERE order_number IS NOT NULL))[1:3], '{{}}')
                AS order_numbers,
            count(*) FILTER (WHERE {acknowledged})::integer AS acknowledged
        FROM jobs j WHERE id = ANY (ARRAY(SELECT job_id FROM dead_jobs))
        GROUP BY job_type, coalesce(error_class, 'Unknown')
        ORDER BY count(*) DESC, job_type, 2""").format(acknowledged=ACKNOWLEDGED)
    )
    return cur.fetchall()


def acknowledged(conn: Connection, *, limit: int) -> list[AcknowledgedGroup]:
    """Return the dead jobs that are acknowledged, by type, class of error, person and reason; the next to end first."""
    cur = conn.cursor(row_factory=class_row(AcknowledgedGroup))
    cur.execute(
        """
        SELECT j.job_type, coalesce(j.error_class, 'Unknown') AS error_class, count(*)::integer AS count,
            a.claimed_identity AS by, a.reason, min(a.acknowledged_at) AS since, min(a.expires_at) AS until
        FROM jobs j JOIN dead_letter_acknowledgements a ON a.job_id = j.id AND a.dead_letter_no = j.dead_letter_no
        WHERE j.id = ANY (ARRAY(SELECT job_id FROM dead_jobs)) AND j.state = 'dead_letter' AND a.expires_at > now()
        GROUP BY j.job_type, coalesce(j.error_class, 'Unknown'), a.claimed_identity, a.reason
        ORDER BY min(a.expires_at), 1, 2, 4, 5 LIMIT %(limit)s""",
        {"limit": limit},
    )
    return cur.fetchall()


def find(conn: Connection, which: DeadConditions, *, after: UUID | None, limit: int) -> list[DeadJob]:
    """Return dead jobs in the order of their ids, those behind `after`."""
    cur = conn.cursor(row_factory=class_row(DeadJob))
    cur.execute(
        SQL("""
        SELECT id::text, job_type, queue, state, dead_letter_no, coalesce(error_class, 'Unknown') AS error_class,
            coalesce(error_message, '') AS error_message, attempts, crashes,
            coalesce(first_failed_at, created_at) AS first_failed_at,
            coalesce(last_failed_at, created_at) AS last_failed_at, order_number, request_id, release
        FROM jobs j
        WHERE id = ANY (ARRAY(SELECT job_id FROM dead_jobs))
            AND (%(after)s::uuid IS NULL OR id > %(after)s)
            AND (%(ids)s::uuid[] IS NULL OR id = ANY (%(ids)s))
            AND (%(job_type)s::text IS NULL OR job_type = %(job_type)s)
            AND (%(error_class)s::text IS NULL OR coalesce(error_class, 'Unknown') = %(error_class)s)
            AND (%(order_number)s::text IS NULL OR order_number = %(order_number)s)
            AND (%(queue)s::text IS NULL OR queue = %(queue)s)
            AND (%(before)s::timestamptz IS NULL OR coalesce(last_failed_at, created_at) < %(before)s)
            AND (%(acknowledged)s::boolean IS NULL OR {acknowledged} = %(acknowledged)s)
        ORDER BY id LIMIT %(limit)s""").format(acknowledged=ACKNOWLEDGED),
        {
            "after": after,
            "ids": None if which.job_ids is None else list(which.job_ids),
            "job_type": which.job_type,
            "error_class": which.error_class,
            "order_number": which.order_number,
            "queue": which.queue,
            "before": which.failed_before,
            "acknowledged": which.acknowledged,
            "limit": limit,
        },
    )
    return cur.fetchall()


def causes_of(conn: Connection, job_ids: Sequence[JobId]) -> dict[JobId, tuple[str, str | None]]:
    """Return the type and the last class of error of each of these jobs that exists."""
    cur = conn.execute(
        "SELECT id, job_type, error_class FROM jobs WHERE id = ANY (%(ids)s::uuid[])", {"ids": list(job_ids)}
    )
    return {job_id: (job_type, error_class) for job_id, job_type, error_class in cur}


def obsolete_reasons(conn: Connection, job_ids: Sequence[JobId]) -> dict[JobId, str]:
    """Return why a run would find nothing to do, for those of the jobs where it would not, as things stand.

    For people only: each handler looks for itself when it runs. Nothing is said of a payload that names no order
    as text: no handler gets to see it.
    """
    cur = conn.execute(
        """
        WITH wanted AS (
            SELECT id, job_type,
                CASE WHEN jsonb_typeof(payload -> 'order_number') = 'string' THEN payload ->> 'order_number' END
                    AS order_number,
                CASE WHEN payload ->> 'event_id' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
                    THEN (payload ->> 'event_id')::uuid END AS event_id,
                payload ->> 'refund_key' AS refund_key, payload ->> 'credit_note' AS credit_note,
                CASE job_type WHEN 'send_order_cancelled_email' THEN 'order_cancelled'
                    WHEN 'send_order_expired_email' THEN 'order_expired'
                    WHEN 'send_refund_email' THEN 'refund:' || coalesce(payload ->> 'refund_no', '') END AS tells
            FROM jobs WHERE id = ANY (%(ids)s::uuid[])
        ), judged AS (
            SELECT w.id, CASE w.job_type
                WHEN 'generate_invoice_pdf' THEN CASE WHEN v.made_at IS NOT NULL THEN 'the invoice is made' END
                WHEN 'generate_credit_note_pdf' THEN CASE
                    WHEN c.made_at IS NOT NULL THEN 'the credit note is made'
                END
                WHEN 'expire_order' THEN CASE
                    WHEN o.id IS NULL AND w.order_number IS NOT NULL THEN 'there is no such order'
                    WHEN o.status <> 'pending' THEN 'the order is ' || o.status
                END
                WHEN 'close_payments' THEN CASE
                    WHEN o.id IS NULL AND w.order_number IS NOT NULL THEN 'there is no such order'
                    WHEN o.status = 'pending' THEN 'the order is pending'
                END
                WHEN 'send_refund' THEN CASE
                    WHEN r.state IN ('sent', 'booked') THEN 'the refund is ' || r.state
                END
                WHEN 'send_payment_received_email' THEN CASE
                    WHEN o.id IS NULL AND w.order_number IS NOT NULL THEN 'there is no such order'
                    WHEN t.status IS NOT NULL THEN 'the customer was notified, or cannot be'
                    WHEN o.status IN ('cancelled', 'expired', 'refunded') THEN 'the order is ' || o.status
                END
                WHEN 'send_confirmation_email' THEN CASE
                    WHEN o.id IS NULL AND w.order_number IS NOT NULL THEN 'there is no such order'
                    WHEN n.status IS NOT NULL THEN 'the customer was notified, or cannot be'
                    WHEN o.status IN ('cancelled', 'expired', 'refunded') THEN 'the order is ' || o.status
                END
                WHEN 'send_order_cancelled_email' THEN CASE
                    WHEN o.id IS NULL AND w.order_number IS NOT NULL THEN 'there is no such order'
                    WHEN m.status IS NOT NULL THEN 'the customer was notified, or cannot be'
                    WHEN o.status <> 'cancelled' THEN 'the order is ' || o.status
                END
                WHEN 'send_order_expired_email' THEN CASE
                    WHEN o.id IS NULL AND w.order_number IS NOT NULL THEN 'there is no such order'
                    WHEN m.status IS NOT NULL THEN 'the customer was notified, or cannot be'
                    WHEN o.status <> 'expired' THEN 'the order is ' || o.status
                END
                WHEN 'send_refund_email' THEN CASE
                    WHEN o.id IS NULL AND w.order_number IS NOT NULL THEN 'there is no such order'
                    WHEN m.status IS NOT NULL THEN 'the customer was notified, or cannot be'
                END
                WHEN 'process_payment' THEN CASE
                    WHEN e.state <> 'received' THEN 'the payment event is ' || e.state
                END
            END AS reason
            FROM wanted w
            LEFT JOIN orders o ON o.order_number = w.order_number
            LEFT JOIN order_notifications n ON n.order_id = o.id AND n.notification_type = 'order_confirmation'
            LEFT JOIN order_notifications t ON t.order_id = o.id AND t.notification_type = 'payment_received'
            LEFT JOIN order_notifications m ON m.order_id = o.id AND m.notification_type = w.tells
            LEFT JOIN payment_events e ON e.id = w.event_id
            LEFT JOIN invoices v ON v.order_id = o.id
            LEFT JOIN credit_notes c ON c.number = w.credit_note
            LEFT JOIN refunds r ON r.key = w.refund_key
        )
        SELECT id, reason FROM judged WHERE reason IS NOT NULL""",
        {"ids": list(job_ids)},
    )
    return dict(cur.fetchall())
