"""Anomalies in PostgreSQL, and how much waits for somebody."""

from collections.abc import Collection
from dataclasses import dataclass

from psycopg import Connection
from psycopg.rows import class_row

from skincare.payments.settlement import Anomaly


@dataclass(frozen=True)
class OpenWork:
    """What of the money waits for somebody: events received over five minutes ago, and what people must look at."""

    unapplied_events: int
    quarantined_events: int
    anomalies: int
    corrected_events: int
    """Of the last day: differ from what their gateway confirmed."""


def save_anomalies(
    conn: Connection, anomalies: Collection[Anomaly], *, order_id: int, expected_rupiah: int, is_refunded: bool
) -> list[Anomaly]:
    """Write the anomalies of a locked order and withdraw those that no longer are; return the new ones.

    What people resolved stays resolved. That an order came back from a refund is history: it stands until somebody
    resolves it, or until the order is refunded once more.
    """
    rows = conn.execute(
        """
        SELECT event_id, kind FROM save_payment_anomalies(
            p_order_id => %(order_id)s, p_is_refunded => %(is_refunded)s, p_event_ids => %(event_ids)s::uuid[],
            p_kinds => %(kinds)s::text[], p_tasks => %(tasks)s::text[], p_amounts => %(amounts)s::bigint[],
            p_give_backs => %(give_backs)s::bigint[], p_expected => %(expected)s::bigint[]
        )""",
        {
            "order_id": order_id,
            "is_refunded": is_refunded,
            "expected": [
                expected_rupiah if anomaly.expected_rupiah is None else anomaly.expected_rupiah for anomaly in anomalies
            ],
            "event_ids": [anomaly.event.event_id for anomaly in anomalies],
            "kinds": [anomaly.kind for anomaly in anomalies],
            "tasks": [anomaly.task for anomaly in anomalies],
            "amounts": [anomaly.event.amount_rupiah for anomaly in anomalies],
            "give_backs": [anomaly.give_back_rupiah for anomaly in anomalies],
        },
    )
    new = set(rows)
    return [anomaly for anomaly in anomalies if (anomaly.event.event_id, anomaly.kind) in new]


def open_work(conn: Connection) -> OpenWork:
    """Count what waits, by indexes that hold little on a good day."""
    row = (
        conn.cursor(row_factory=class_row(OpenWork))
        .execute("""
        SELECT
            (SELECT count(*) FROM payment_events
                WHERE state = 'received' AND received_at < now() - interval '5 minutes') AS unapplied_events,
            (SELECT count(*) FROM payment_events
                WHERE state = 'quarantined' AND reviewed_at IS NULL) AS quarantined_events,
            (SELECT count(*) FROM payment_anomalies WHERE withdrawn_at IS NULL AND resolved_at IS NULL) AS anomalies,
            (SELECT count(*) FROM payment_events
                WHERE confirmed_status <> status AND status <> 'pending'
                    AND confirmed_at > now() - interval '1 day') AS corrected_events""")
        .fetchone()
    )
    assert row is not None  # noqa: S101  a SELECT without FROM answers a row
    return row


def keep_anomaly(conn: Connection, anomaly: Anomaly, *, order_id: int, expected_rupiah: int) -> bool:
    """Write or keep an anomaly of a locked order that its money alone does not show; tell whether it is new.

    Call it after `save_anomalies`, which has withdrawn it. What people resolved stays resolved.
    """
    row = conn.execute(
        """
        SELECT keep_payment_anomaly(
            p_event_id => %(event_id)s, p_order_id => %(order_id)s, p_kind => %(kind)s, p_task => %(task)s,
            p_expected_rupiah => %(expected)s, p_amount_rupiah => %(amount)s, p_give_back_rupiah => %(give_back)s
        )""",
        {
            "event_id": anomaly.event.event_id,
            "order_id": order_id,
            "kind": anomaly.kind,
            "task": anomaly.task,
            "expected": expected_rupiah,
            "amount": anomaly.event.amount_rupiah,
            "give_back": anomaly.give_back_rupiah,
        },
    ).fetchone()
    return row is not None and bool(row[0])
