"""Attempts in PostgreSQL: the row lock of the order and the primary key decide who opens one."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from psycopg import Connection
from psycopg.rows import dict_row

from skincare.identifiers import OrderNumber, UserId
from skincare.orders.models import OrderStatus
from skincare.payments.attempts.models import Payable, StartedAttempt
from skincare.payments.models import Attempt

# Gateways count in minutes, and a person needs one or two.
_SHORTEST_PAGE = timedelta(minutes=2)

_COLUMNS = "o.order_number, a.attempt_no, a.gateway, a.amount_rupiah, a.expires_at, a.redirect_url"


def of_order(conn: Connection, order_number: str, *, gateway: str, attempt_no: int | None = None) -> list[Attempt]:
    """Return an order's attempts at a gateway, or the one of this number; newest first."""
    rows = conn.cursor(row_factory=dict_row).execute(
        f"""
        SELECT {_COLUMNS} FROM payment_attempts a JOIN orders o ON o.id = a.order_id
        WHERE o.order_number = %(order_number)s AND a.gateway = %(gateway)s
            AND (%(attempt_no)s::integer IS NULL OR a.attempt_no = %(attempt_no)s)
        ORDER BY a.attempt_no DESC""",  # noqa: S608  our own constant
        {"order_number": order_number, "gateway": gateway, "attempt_no": attempt_no},
    )
    return [_started(row).attempt for row in rows]


def lock_order(conn: Connection, user_id: UserId, order_number: OrderNumber) -> Payable | None:
    """Lock the caller's order until the transaction ends."""
    row = conn.execute(
        """
        SELECT id, status, expires_at <= now() FROM orders
        WHERE user_id = %(user_id)s AND order_number = %(order_number)s FOR NO KEY UPDATE""",
        {"user_id": user_id, "order_number": order_number},
    ).fetchone()
    return None if row is None else Payable(row[0], OrderStatus(row[1]), row[2])


def extend(conn: Connection, order_id: int, *, window: timedelta) -> datetime | None:
    """Let an order be paid until its window is over, counted from its checkout; None where it may be anyway.

    The caller holds the order's row, and moves its timer.
    """
    row = conn.execute(
        """
        UPDATE orders SET expires_at = created_at + %(window)s
        WHERE id = %(order_id)s AND expires_at < created_at + %(window)s RETURNING expires_at""",
        {"order_id": order_id, "window": window},
    ).fetchone()
    return None if row is None else row[0]


def find_open(conn: Connection, order_id: int) -> StartedAttempt | None:
    """Return the attempt of an order that its customer can still use.

    It ends with its time, or earlier once the gateway has reported that or we have closed it. A try that failed does
    not end it: the page takes another one, and a second page would let somebody pay twice. One whose page nobody has
    seen is of no use once there is too little time left.
    """
    row = (
        conn.cursor(row_factory=dict_row)
        .execute(
            f"""
            SELECT {_COLUMNS} FROM payment_attempts a JOIN orders o ON o.id = a.order_id
            WHERE a.order_id = %(order_id)s AND a.expires_at > now() AND a.closed_at IS NULL
                AND (a.redirect_url IS NOT NULL OR a.expires_at >= now() + %(shortest)s) AND NOT EXISTS (
                SELECT 1 FROM payment_events e
                WHERE e.order_number = o.order_number AND e.gateway = a.gateway AND e.attempt_no = a.attempt_no
                    AND e.state = 'applied' AND coalesce(e.confirmed_status, e.status) = 'expired'
            )
            ORDER BY a.attempt_no DESC LIMIT 1""",  # noqa: S608  our own constant
            {"order_id": order_id, "shortest": _SHORTEST_PAGE},
        )
        .fetchone()
    )
    return None if row is None else _started(row)


def open_next(conn: Connection, order_id: int, *, gateway: str) -> StartedAttempt | None:
    """Open an order's next attempt, for its total and until its end; None where that is too near.

    The caller holds the order's row.
    """
    row = (
        conn.cursor(row_factory=dict_row)
        .execute(
            f"""
            SELECT {_COLUMNS} FROM open_payment_attempt(%(order_id)s, %(gateway)s, %(shortest)s) a
            JOIN orders o ON o.id = %(order_id)s""",  # noqa: S608  our own constant
            {"order_id": order_id, "gateway": gateway, "shortest": _SHORTEST_PAGE},
        )
        .fetchone()
    )
    return None if row is None else _started(row)


def close(conn: Connection, attempt: Attempt) -> None:
    """Note that nobody is sent to an attempt any more; the next start opens another."""
    conn.execute(
        """
        UPDATE payment_attempts a SET closed_at = coalesce(a.closed_at, now())
        FROM orders o
        WHERE o.id = a.order_id AND o.order_number = %(order_number)s AND a.attempt_no = %(attempt_no)s""",
        {"order_number": attempt.order_number, "attempt_no": attempt.attempt_no},
    )


def keep_url(conn: Connection, attempt: Attempt, redirect_url: str) -> tuple[str, OrderStatus]:
    """Store where an attempt is paid, once; return what is stored, and how far the order has gone meanwhile."""
    row = conn.execute(
        """
        UPDATE payment_attempts a SET redirect_url = coalesce(a.redirect_url, %(redirect_url)s)
        FROM orders o
        WHERE o.id = a.order_id AND o.order_number = %(order_number)s AND a.attempt_no = %(attempt_no)s
        RETURNING a.redirect_url, o.status""",
        {"order_number": attempt.order_number, "attempt_no": attempt.attempt_no, "redirect_url": redirect_url},
    ).fetchone()
    assert row is not None  # noqa: S101  attempts are never deleted
    return row[0], OrderStatus(row[1])


def _started(row: Mapping[str, Any]) -> StartedAttempt:
    attempt = Attempt(
        order_number=row["order_number"],
        attempt_no=row["attempt_no"],
        amount_rupiah=row["amount_rupiah"],
        expires_at=row["expires_at"].astimezone(UTC),
    )
    return StartedAttempt(attempt, row["gateway"], row["redirect_url"])
