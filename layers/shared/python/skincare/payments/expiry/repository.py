"""Orders whose time is over, in PostgreSQL."""

from dataclasses import dataclass
from enum import StrEnum

from psycopg import Connection

from skincare.identifiers import OrderNumber
from skincare.jobs.catalog import SendConfirmationEmail
from skincare.notifications.models import NotificationType
from skincare.orders.models import OrderStatus
from skincare.payments.models import Attempt


@dataclass(frozen=True)
class KnownAttempt:
    """A payment that was started. While `is_open` the customer can still pay."""

    gateway: str
    attempt: Attempt
    is_open: bool


@dataclass(frozen=True)
class OrderInQuestion:
    """An order with every payment that was started for it."""

    status: OrderStatus
    attempts: tuple[KnownAttempt, ...]


class Expiry(StrEnum):
    """What an attempt to expire an order did."""

    EXPIRED = "expired"
    WAITS = "waits"
    """A payment seems to be on its way."""
    NOT_PENDING = "not_pending"


def load(conn: Connection, order_number: OrderNumber) -> OrderInQuestion | None:
    """Return an order and its attempts, oldest first."""
    rows = conn.execute(
        """
        SELECT o.status, a.gateway, a.attempt_no, a.amount_rupiah, a.expires_at, a.expires_at > now()
        FROM orders o LEFT JOIN payment_attempts a ON a.order_id = o.id
        WHERE o.order_number = %(order_number)s
        ORDER BY a.attempt_no""",
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


def expire(conn: Connection, order_number: OrderNumber, *, attempts: int) -> Expiry:
    """Expire an order that is still pending and give its stock back, in one statement.

    `attempts` is how many its caller asked about: one more, or a paid event that is not applied yet, and it waits.
    """
    row = conn.execute(
        "SELECT expire_order(%(order_number)s, %(attempts)s)", {"order_number": order_number, "attempts": attempts}
    ).fetchone()
    # An order that another job expired answers like one that this call did.
    match row and row[0]:
        case "expired":
            return Expiry.EXPIRED
        case "waits":
            return Expiry.WAITS
        case _:
            return Expiry.NOT_PENDING


def knows_of_order(conn: Connection, order_number: OrderNumber) -> bool:
    """Tell whether the customer was sent the order's confirmation, or its job is there and nobody called it off."""
    row = conn.execute(
        """
        SELECT EXISTS (
            SELECT 1 FROM jobs j
            WHERE j.order_number = %(order_number)s AND j.job_type = %(job_type)s AND j.state <> 'cancelled'
        ) OR EXISTS (
            SELECT 1 FROM order_notifications n JOIN orders o ON o.id = n.order_id
            WHERE o.order_number = %(order_number)s AND n.notification_type = %(told)s AND n.status = 'sent'
        )""",
        {
            "order_number": order_number,
            "job_type": SendConfirmationEmail.job_type,
            "told": NotificationType.ORDER_CONFIRMATION,
        },
    ).fetchone()
    return row is not None and bool(row[0])
