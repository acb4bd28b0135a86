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
        WITH found AS (
            SELECT * FROM unnest(
                %(event_ids)s::uuid[], %(kinds)s::text[], %(tasks)s::text[], %(amounts)s::bigint[],
                %(give_backs)s::bigint[], %(expected)s::bigint[]
            ) AS f (event_id, kind, task, amount_rupiah, give_back_rupiah, expected_rupiah)
        ), gone AS (
            UPDATE payment_anomalies a SET withdrawn_at = now()
            WHERE a.order_id = %(order_id)s AND a.withdrawn_at IS NULL AND NOT EXISTS (
                SELECT 1 FROM found f WHERE f.event_id = a.event_id AND f.kind = a.kind
            ) AND (a.kind <> 'paid_again' OR %(is_refunded)s)
        )
        INSERT INTO payment_anomalies AS a (
            event_id, order_id, kind, task, expected_rupiah, amount_rupiah, give_back_rupiah
        )
        SELECT event_id, %(order_id)s, kind, task, expected_rupiah, amount_rupiah, give_back_rupiah FROM found
        ON CONFLICT (event_id, kind) DO UPDATE SET
            give_back_rupiah = excluded.give_back_rupiah, task = excluded.task, withdrawn_at = NULL,
            expected_rupiah = excluded.expected_rupiah
        RETURNING a.event_id, a.kind, a.created_at = now()""",
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
    new = {(event_id, kind) for event_id, kind, is_new in rows if is_new}
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
        INSERT INTO payment_anomalies AS a (
            event_id, order_id, kind, task, expected_rupiah, amount_rupiah, give_back_rupiah
        ) VALUES (
            %(event_id)s, %(order_id)s, %(kind)s, %(task)s, %(expected)s, %(amount)s, %(give_back)s
        ) ON CONFLICT (event_id, kind) DO UPDATE SET withdrawn_at = NULL
        RETURNING a.created_at = now()""",
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
