"""Suppressed addresses and the mails that were withheld, without an address in any answer."""

from collections.abc import Sequence

from psycopg import Connection
from psycopg.rows import dict_row

from skincare.operations.models import SuppressedRow, WithheldMail


def suppressed(
    conn: Connection, *, email: str | None, reason: str | None, after: int | None, limit: int
) -> list[SuppressedRow]:
    """Return suppressed addresses by their numbers: that of `email`, those whose reason begins so, or all."""
    rows = (
        conn.cursor(row_factory=dict_row)
        .execute(
            """
            SELECT s.id, s.reason, s.created_at AS since, (
                SELECT coalesce(jsonb_agg(jsonb_build_object(
                    'order_number', o.order_number, 'mail', n.notification_type
                ) ORDER BY n.created_at, n.notification_type), '[]')
                FROM order_notifications n JOIN orders o ON o.id = n.order_id
                WHERE n.status = 'undeliverable' AND s.email IN (lower(o.email), address_hash(o.email))
            ) AS withheld
            FROM suppressed_recipients s
            WHERE s.lifted_at IS NULL
                AND (%(after)s::bigint IS NULL OR s.id > %(after)s)
                AND (%(email)s::text IS NULL OR s.email IN (lower(%(email)s), address_hash(%(email)s)))
                AND (%(reason)s::text IS NULL OR starts_with(s.reason, %(reason)s))
            ORDER BY s.id LIMIT %(limit)s""",
            {"email": email, "reason": reason, "after": after, "limit": limit},
        )
        .fetchall()
    )
    return [
        SuppressedRow(**row | {"withheld": tuple(WithheldMail(**mail) for mail in row["withheld"])}) for row in rows
    ]


def lift(conn: Connection, *, email: str | None, ids: Sequence[int]) -> list[int]:
    """Let addresses get mail again; return the numbers of those that were suppressed until now.

    What bounced or was complained about up to this moment does not suppress them again.
    """
    rows = conn.execute(
        """
        UPDATE suppressed_recipients SET lifted_at = clock_timestamp()
        WHERE id IN (
            SELECT id FROM suppressed_recipients
            WHERE lifted_at IS NULL AND (
                email IN (lower(%(email)s), address_hash(%(email)s)) OR id = ANY (%(ids)s::bigint[])
            )
            ORDER BY id FOR UPDATE
        )
        RETURNING id""",
        {"email": email, "ids": list(ids)},
    )
    return sorted(row[0] for row in rows)


def is_suppressed(conn: Connection, order_number: str) -> bool:
    """Tell whether the address of an order gets no mail."""
    row = conn.execute(
        """
        SELECT FROM orders o JOIN suppressed_recipients s ON s.email IN (lower(o.email), address_hash(o.email))
        WHERE o.order_number = %(order_number)s AND s.lifted_at IS NULL""",
        {"order_number": order_number},
    ).fetchone()
    return row is not None


def undeliverable(conn: Connection, order_number: str) -> list[str]:
    """Return which mails about an order were not delivered, oldest first."""
    rows = conn.execute(
        """
        SELECT n.notification_type FROM order_notifications n JOIN orders o ON o.id = n.order_id
        WHERE o.order_number = %(order_number)s AND n.status = 'undeliverable'
        ORDER BY n.created_at, n.notification_type""",
        {"order_number": order_number},
    )
    return [row[0] for row in rows]


def forget_undeliverable(conn: Connection, order_number: str, recorded: Sequence[str]) -> int:
    """Forget that mails about a locked order were not delivered, so that their jobs may send them."""
    return conn.execute(
        """
        DELETE FROM order_notifications n USING orders o
        WHERE o.order_number = %(order_number)s AND n.order_id = o.id AND n.status = 'undeliverable'
            AND n.notification_type = ANY (%(recorded)s)""",
        {"order_number": order_number, "recorded": list(recorded)},
    ).rowcount
