"""What a reconciliation repairs and whom it asks, in PostgreSQL. Everything is bounded, by an index."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import LiteralString

from psycopg import Connection
from psycopg.rows import class_row

from skincare.identifiers import OrderNumber
from skincare.payments.expiry.repository import KnownAttempt
from skincare.payments.models import Attempt

_LATE = timedelta(minutes=15)
ASK_BACK = timedelta(days=35)
"""Longer than a pause with an end can last: what ended while nobody asked is asked about afterwards."""


@dataclass(frozen=True)
class Unattended:
    """Something whose job is gone: `kind` is the type of that job, `subject` what it is about."""

    kind: str
    subject: str
    order_number: OrderNumber


def unattended(conn: Connection, *, grace: timedelta, limit: int) -> list[Unattended]:
    """Return events, refunds and unpaid orders that no unfinished job looks after. A dead job counts: a person has it.

    An event whose order is not here needs none. `grace` is how long after its end an order that nobody paid should be
    closed.
    """
    cur = conn.cursor(row_factory=class_row(Unattended))
    cur.execute(
        """
        (
            SELECT 'process_payment' AS kind, e.id::text AS subject, e.order_number
            FROM payment_events e JOIN orders o ON o.order_number = e.order_number
            WHERE e.state = 'received' AND e.received_at < now() - %(late)s AND NOT EXISTS (
                SELECT 1 FROM jobs j
                WHERE j.order_number = e.order_number AND j.job_type = 'process_payment'
                    AND j.payload ->> 'event_id' = e.id::text AND j.publish_at IS NOT NULL
            ) ORDER BY e.received_at LIMIT %(limit)s
        ) UNION ALL (
            SELECT 'send_refund', r.key, o.order_number FROM refunds r JOIN orders o ON o.id = r.order_id
            WHERE r.state = 'requested' AND r.created_at < now() - %(late)s AND NOT EXISTS (
                SELECT 1 FROM job_keys k WHERE k.unique_key = 'send_refund:' || r.key
            ) ORDER BY r.created_at LIMIT %(limit)s
        ) UNION ALL (
            SELECT 'expire_order', o.order_number, o.order_number FROM orders o
            WHERE o.status = 'pending' AND o.expires_at < now() - %(grace)s AND NOT EXISTS (
                SELECT 1 FROM job_keys k WHERE k.unique_key = 'expire_order:' || o.order_number
            ) ORDER BY o.created_at LIMIT %(limit)s
        )""",
        {"late": _LATE, "grace": grace, "limit": limit},
    )
    return cur.fetchall()


_TO_ASK: LiteralString = """
    FROM payment_attempts a JOIN orders o ON o.id = a.order_id
    WHERE a.created_at > now() - %(ask_back)s AND a.expires_at < now() - %(late)s AND o.status <> 'pending'
        AND (a.asked_at IS NULL OR a.asked_at < a.expires_at)"""
"""Recent attempts that have ended and that nobody asked about since. A pending order has its timer for that."""


def gateways_to_ask(conn: Connection) -> list[str]:
    """Return the gateways with attempts to ask about."""
    rows = conn.execute(f"SELECT DISTINCT a.gateway {_TO_ASK}", {"ask_back": ASK_BACK, "late": _LATE})
    return [gateway for (gateway,) in rows]


def attempts_to_ask(conn: Connection, gateway: str, *, limit: int) -> list[KnownAttempt]:
    """Return recent attempts at a gateway that have ended and that nobody asked about since, never asked ones first."""
    rows = conn.execute(
        f"""
        SELECT a.gateway, o.order_number, a.attempt_no, a.amount_rupiah, a.expires_at {_TO_ASK}
            AND a.gateway = %(gateway)s
        ORDER BY a.asked_at NULLS FIRST, a.created_at LIMIT %(limit)s""",
        {"ask_back": ASK_BACK, "late": _LATE, "gateway": gateway, "limit": limit},
    )
    return [
        KnownAttempt(gateway, Attempt(OrderNumber(order_number), number, amount, expires_at), is_open=False)
        for gateway, order_number, number, amount, expires_at in rows
    ]


def mark_asked(conn: Connection, attempts: Sequence[Attempt]) -> int:
    """Note that gateways were asked about attempts."""
    return conn.execute(
        """
        UPDATE payment_attempts a SET asked_at = now()
        FROM unnest(%(order_numbers)s::text[], %(numbers)s::integer[]) AS s (order_number, attempt_no)
        JOIN orders o ON o.order_number = s.order_number
        WHERE a.order_id = o.id AND a.attempt_no = s.attempt_no""",
        {
            "order_numbers": [attempt.order_number for attempt in attempts],
            "numbers": [attempt.attempt_no for attempt in attempts],
        },
    ).rowcount
