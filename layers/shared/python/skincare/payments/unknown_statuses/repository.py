"""Events with an unknown status, in PostgreSQL."""

from psycopg import Connection

from skincare.identifiers import OrderNumber
from skincare.payments.models import EventId

FLAW = "its status is a word that we do not know, about an order that was paid"


def set_aside(conn: Connection, order_number: OrderNumber) -> list[EventId]:
    """Quarantine the ignored events of a locked order whose status we do not know, once it was paid; return their ids.

    A status reported before the payment means no money; any later one may.
    """
    rows = conn.execute(
        """
        UPDATE payment_events e SET state = 'quarantined', flaw = %(flaw)s
        WHERE e.order_number = %(order_number)s AND e.state = 'ignored' AND EXISTS (
            SELECT 1 FROM payment_events p
            WHERE p.order_number = e.order_number AND p.state = 'applied'
                AND coalesce(p.confirmed_status, p.status) = 'paid'
                AND (e.occurred_at < CASE
                    WHEN p.confirmed_at IS NULL THEN p.occurred_at ELSE p.confirmed_occurred_at
                END) IS NOT TRUE
        )
        RETURNING e.id""",
        {"order_number": order_number, "flaw": FLAW},
    )
    return [EventId(event_id) for (event_id,) in rows]
