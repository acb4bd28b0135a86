"""What the stored events of an order say already."""

from psycopg import Connection

from skincare.identifiers import OrderNumber
from skincare.payments.models import Report

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
