"""Payment events that people give up, and take up again."""

from collections.abc import Collection, Sequence
from uuid import UUID

from psycopg import Connection
from psycopg.rows import class_row

from skincare.identifiers import JobId
from skincare.operations.models import PaymentEventRow

FLAW = "set aside by a person"


def set_aside(conn: Connection, event_ids: Sequence[UUID], *, even_paid: bool) -> dict[UUID, str]:
    """Give up events that are not applied; return what became of each that exists.

    It is `set_aside`, `needs_even_paid`, or the state that it was in before: nothing waits for it there.
    """
    cur = conn.execute(
        """
        WITH hit AS (
            UPDATE payment_events SET state = 'quarantined', flaw = %(flaw)s, reviewed_at = now()
            WHERE id = ANY (%(ids)s::uuid[]) AND state = 'received'
                AND (%(even_paid)s OR status IS DISTINCT FROM 'paid')
            RETURNING id
        ), noted AS (
            INSERT INTO set_aside_events (event_id) SELECT id FROM hit
            ON CONFLICT (event_id) DO UPDATE SET set_aside_at = now()
        )
        SELECT e.id, CASE
            WHEN h.id IS NOT NULL THEN 'set_aside' WHEN e.state = 'received' THEN 'needs_even_paid' ELSE e.state
        END
        FROM payment_events e LEFT JOIN hit h ON h.id = e.id WHERE e.id = ANY (%(ids)s::uuid[])""",
        {"ids": list(event_ids), "flaw": FLAW, "even_paid": even_paid},
    )
    return dict(cur.fetchall())


def jobs_of(conn: Connection, event_ids: Collection[UUID]) -> list[JobId]:
    """Return the unfinished jobs that are to apply these events."""
    cur = conn.execute(
        """
        SELECT j.id FROM payment_events e JOIN jobs j ON j.order_number = e.order_number
        WHERE e.id = ANY (%(ids)s::uuid[]) AND j.job_type = 'process_payment'
            AND j.payload ->> 'event_id' = e.id::text AND j.publish_at IS NOT NULL
        ORDER BY j.id""",
        {"ids": list(event_ids)},
    )
    return [row[0] for row in cur]


def events_of(conn: Connection, job_ids: Sequence[JobId]) -> dict[JobId, UUID]:
    """Return the event of each of these unfinished jobs that is to apply one which is not applied yet."""
    cur = conn.execute(
        """
        SELECT j.id, e.id FROM jobs j JOIN payment_events e ON e.id = CASE
            WHEN j.payload ->> 'event_id' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
            THEN (j.payload ->> 'event_id')::uuid END
        WHERE j.id = ANY (%(ids)s::uuid[]) AND j.job_type = 'process_payment' AND j.publish_at IS NOT NULL
            AND e.state = 'received'""",
        {"ids": list(job_ids)},
    )
    return dict(cur.fetchall())


def take_up(conn: Connection, event_id: UUID, *, overdue_flaws: Collection[str]) -> str | None:
    """Let an event wait again that was set aside, by a person or because its time was over; return its order number.

    None where it was not, or was for what it says: then another try would not read it better.
    """
    row = conn.execute(
        """
        WITH hit AS (
            UPDATE payment_events SET state = 'received', flaw = NULL, reviewed_at = NULL
            WHERE id = %(id)s AND state = 'quarantined' AND (flaw = %(flaw)s OR flaw = ANY (%(flaws)s::text[]))
                AND order_number IS NOT NULL AND transaction_id IS NOT NULL AND status IS NOT NULL
                AND amount_rupiah IS NOT NULL AND currency IS NOT NULL
                AND (status NOT IN ('refunded', 'partially_refunded') OR refund_key IS NOT NULL)
            RETURNING id, order_number
        ), forgotten AS (
            DELETE FROM set_aside_events s USING hit h WHERE s.event_id = h.id
        )
        SELECT order_number FROM hit""",
        {"id": event_id, "flaw": FLAW, "flaws": list(overdue_flaws)},
    ).fetchone()
    return None if row is None else str(row[0])


def newest_set_aside(conn: Connection, *, limit: int) -> list[PaymentEventRow]:
    """Return the events that people gave up last."""
    cur = conn.cursor(row_factory=class_row(PaymentEventRow))
    cur.execute(
        """
        SELECT e.id::text, e.gateway, 'set aside' AS state, e.status, e.order_number, e.flaw, e.received_at
        FROM set_aside_events s JOIN payment_events e ON e.id = s.event_id
        WHERE s.set_aside_at > now() - interval '35 days'
        ORDER BY s.set_aside_at DESC, e.id LIMIT %(limit)s""",
        {"limit": limit},
    )
    return cur.fetchall()
