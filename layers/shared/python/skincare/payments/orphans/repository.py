"""Payment events without their order, in PostgreSQL."""

from datetime import timedelta

from psycopg import Connection

from skincare.payments.models import EventId

FLAW = "no order of this number came"


def set_aside(conn: Connection, *, after: timedelta, limit: int) -> list[EventId]:
    """Quarantine the oldest events that have waited for their order for `after` or longer; return their ids."""
    rows = conn.execute(
        """
        UPDATE payment_events SET state = 'quarantined', flaw = %(flaw)s
        WHERE id IN (
            SELECT e.id FROM payment_events e
            WHERE e.state = 'received' AND e.received_at <= now() - %(after)s AND NOT EXISTS (
                SELECT 1 FROM orders o WHERE o.order_number = e.order_number
            )
            ORDER BY e.received_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
        )
        RETURNING id""",
        {"flaw": FLAW, "after": after, "limit": limit},
    )
    return [EventId(event_id) for (event_id,) in rows]
