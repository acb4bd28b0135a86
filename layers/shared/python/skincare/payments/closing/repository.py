"""Attempts that may still take money, in PostgreSQL."""

from collections.abc import Collection

from psycopg import Connection

from skincare.identifiers import OrderNumber
from skincare.orders.models import OrderStatus
from skincare.payments.expiry.repository import KnownAttempt, OrderInQuestion
from skincare.payments.models import Attempt

# Not closed by us, not ended as its gateway tells, and without money: a gateway takes one payment for a reference.
# Counted, for PostgreSQL may answer a NOT EXISTS by reading all payments there are; and OFFSET keeps it to one order.
_MAY_TAKE_MONEY = """
    a.closed_at IS NULL AND (
        SELECT count(*) FROM payment_events e
        WHERE e.order_number = o.order_number AND e.gateway = a.gateway AND e.attempt_no = a.attempt_no
            AND e.state = 'applied' AND coalesce(e.confirmed_status, e.status) = 'expired'
    ) = 0 AND (
        SELECT count(*) FROM payments p JOIN payment_events e ON e.id = p.event_id
        WHERE p.order_id = o.id AND e.gateway = a.gateway AND e.attempt_no = a.attempt_no
    ) = 0"""


def load(conn: Connection, order_number: OrderNumber) -> OrderInQuestion | None:
    """Return an order with its attempts that may still take money, oldest first."""
    rows = conn.execute(
        f"""
        SELECT o.status, a.gateway, a.attempt_no, a.amount_rupiah, a.expires_at, a.expires_at > now()
        FROM orders o LEFT JOIN LATERAL (
            SELECT * FROM payment_attempts a WHERE a.order_id = o.id AND {_MAY_TAKE_MONEY} OFFSET 0
        ) a ON true
        WHERE o.order_number = %(order_number)s
        ORDER BY a.attempt_no""",  # noqa: S608  our own constant
        {"order_number": order_number},
    ).fetchall()
    if not rows:
        return None
    attempts = tuple(
        KnownAttempt(gateway, Attempt(order_number, number, amount, expires_at), is_open)
        for _, gateway, number, amount, expires_at, is_open in rows
        if number is not None
    )
    return OrderInQuestion(OrderStatus(rows[0][0]), attempts)


def which_may_take_money(conn: Connection, order_ids: Collection[int]) -> set[int]:
    """Return which of some locked orders have a payment that is still open, as far as we know; a paid one is not."""
    rows = conn.execute(
        f"""
        SELECT DISTINCT o.id FROM orders o CROSS JOIN LATERAL (
            SELECT FROM payment_attempts a WHERE a.order_id = o.id AND {_MAY_TAKE_MONEY} OFFSET 0
        ) a
        WHERE o.id = ANY (%(order_ids)s::bigint[])""",  # noqa: S608  our own constant
        {"order_ids": list(order_ids)},
    )
    return {order_id for (order_id,) in rows}
