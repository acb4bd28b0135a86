"""Orders whose time is over, in PostgreSQL."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from psycopg import Connection

from skincare.identifiers import OrderNumber
from skincare.jobs.catalog import SendConfirmationEmail
from skincare.notifications.models import NotificationType
from skincare.orders.models import OrderStatus
from skincare.payments.models import Attempt


@dataclass(frozen=True)
class KnownAttempt:
    """A payment that was started. While `is_open` the customer can still pay.

    One that `is_checked` was found without money a short while ago, when its time was over.
    """

    gateway: str
    attempt: Attempt
    is_open: bool
    is_checked: bool = False


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


def load(conn: Connection, order_number: OrderNumber, *, fresh_for: timedelta) -> OrderInQuestion | None:
    """Return an order and its attempts, oldest first; a check is good for `fresh_for`."""
    rows = conn.execute(
        """
        SELECT o.status, a.gateway, a.attempt_no, a.amount_rupiah, a.expires_at, a.expires_at > now(),
            coalesce(a.checked_at > now() - %(fresh_for)s, false)
        FROM orders o LEFT JOIN payment_attempts a ON a.order_id = o.id
        WHERE o.order_number = %(order_number)s
        ORDER BY a.attempt_no""",
        {"order_number": order_number, "fresh_for": fresh_for},
    ).fetchall()
    if not rows:
        return None
    attempts = tuple(
        KnownAttempt(gateway, Attempt(order_number, number, amount, expires_at), is_open, is_checked)
        for _, gateway, number, amount, expires_at, is_open, is_checked in rows
        if number is not None
    )
    return OrderInQuestion(OrderStatus(rows[0][0]), attempts)


def mark_checked(conn: Connection, attempt: Attempt) -> None:
    """Note that an attempt whose time is over has no money now."""
    conn.execute(
        """
        UPDATE payment_attempts a SET checked_at = now()
        FROM orders o
        WHERE o.id = a.order_id AND o.order_number = %(order_number)s AND a.attempt_no = %(attempt_no)s""",
        {"order_number": attempt.order_number, "attempt_no": attempt.attempt_no},
    )


def expire(conn: Connection, order_number: OrderNumber, *, attempts: int) -> Expiry:
    """Expire an order that is still pending and give its stock back, in one statement.

    `attempts` is how many its caller asked about: one more, and it waits. So it does for a paid event that is not
    applied yet, or that is quarantined and that no person has looked at.
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
            WHERE o.order_number = %(order_number)s AND n.notification_type = %(notification)s AND n.status = 'sent'
        )""",
        {
            "order_number": order_number,
            "job_type": SendConfirmationEmail.job_type,
            "notification": NotificationType.ORDER_CONFIRMATION,
        },
    ).fetchone()
    return row is not None and bool(row[0])
