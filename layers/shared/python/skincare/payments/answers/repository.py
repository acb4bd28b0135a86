"""What the stored events of an order say already."""

from collections.abc import Collection

from psycopg import Connection

from skincare.identifiers import OrderNumber
from skincare.payments.models import Attempt, Report

_MOST_NAMED = 5
"""Whoever catches a notification can send it again with other transactions: each is one more call."""

Fact = tuple[str, str, str, str]
"""A gateway, its transaction, what happened to it, and which refund and how much that was."""


def fact_of(gateway: str, report: Report) -> Fact:
    """Return what a report says, so that it can be found among the known facts."""
    what = "refund" if report.refund_key else str(report.status)
    return gateway, report.transaction_id, what, f"{report.refund_key or ''} {report.amount_rupiah}"


def known_facts(conn: Connection, order_number: OrderNumber) -> set[Fact]:
    """Return what the applied and waiting events of an order say."""
    rows = conn.execute(
        """
        SELECT gateway, transaction_id,
            CASE WHEN refund_key IS NULL THEN coalesce(confirmed_status, status) ELSE 'refund' END,
            coalesce(refund_key, '') || ' ' || coalesce(confirmed_amount_rupiah, amount_rupiah)
        FROM payment_events WHERE order_number = %(order_number)s AND state IN ('received', 'applied')""",
        {"order_number": order_number},
    )
    return {(gateway, transaction_id, what, which) for gateway, transaction_id, what, which in rows}


def is_waiting(conn: Connection, order_number: OrderNumber, gateway: str, transaction_ids: Collection[str]) -> bool:
    """Tell whether an event says that one of the transactions is paid, and is not applied yet."""
    row = conn.execute(
        """
        SELECT EXISTS (
            SELECT 1 FROM payment_events
            WHERE order_number = %(order_number)s AND gateway = %(gateway)s
                AND transaction_id = ANY (%(transaction_ids)s::text[]) AND state = 'received' AND status = 'paid'
        )""",
        {"order_number": order_number, "gateway": gateway, "transaction_ids": list(transaction_ids)},
    ).fetchone()
    return row == (True,)


def named_transactions(conn: Connection, gateway: str, attempt: Attempt) -> list[str]:
    """Return the transactions that webhooks named for an attempt, or for its order as a whole; oldest first.

    Not a word of them needs to be true: they are what a gateway is asked about.
    """
    rows = conn.execute(
        """
        SELECT transaction_id FROM payment_events
        WHERE order_number = %(order_number)s AND gateway = %(gateway)s AND source = 'webhook'
            AND transaction_id IS NOT NULL AND coalesce(attempt_no, %(attempt_no)s) = %(attempt_no)s
        GROUP BY transaction_id ORDER BY min(received_at) LIMIT %(limit)s""",
        {
            "order_number": attempt.order_number,
            "gateway": gateway,
            "attempt_no": attempt.attempt_no,
            "limit": _MOST_NAMED,
        },
    )
    return [transaction_id for (transaction_id,) in rows]
