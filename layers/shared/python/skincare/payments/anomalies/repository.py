"""Anomalies in PostgreSQL."""

from collections.abc import Collection

from psycopg import Connection

from skincare.payments.settlement import Anomaly


def save_anomalies(
    conn: Connection, anomalies: Collection[Anomaly], *, order_id: int, expected_rupiah: int
) -> list[Anomaly]:
    """Write the anomalies of a locked order and withdraw those that no longer are; return the new ones.

    What people resolved stays resolved.
    """
    rows = conn.execute(
        """
        WITH found AS (
            SELECT * FROM unnest(
                %(event_ids)s::uuid[], %(kinds)s::text[], %(tasks)s::text[], %(amounts)s::bigint[],
                %(give_backs)s::bigint[]
            ) AS f (event_id, kind, task, amount_rupiah, give_back_rupiah)
        ), gone AS (
            UPDATE payment_anomalies a SET withdrawn_at = now()
            WHERE a.order_id = %(order_id)s AND a.withdrawn_at IS NULL AND NOT EXISTS (
                SELECT 1 FROM found f WHERE f.event_id = a.event_id AND f.kind = a.kind
            )
        )
        INSERT INTO payment_anomalies AS a (
            event_id, order_id, kind, task, expected_rupiah, amount_rupiah, give_back_rupiah
        )
        SELECT event_id, %(order_id)s, kind, task, %(expected)s, amount_rupiah, give_back_rupiah FROM found
        ON CONFLICT (event_id, kind) DO UPDATE SET
            give_back_rupiah = excluded.give_back_rupiah, task = excluded.task, withdrawn_at = NULL
        RETURNING a.event_id, a.kind, a.created_at = now()""",
        {
            "order_id": order_id,
            "expected": expected_rupiah,
            "event_ids": [anomaly.event.event_id for anomaly in anomalies],
            "kinds": [anomaly.kind for anomaly in anomalies],
            "tasks": [anomaly.task for anomaly in anomalies],
            "amounts": [anomaly.event.amount_rupiah for anomaly in anomalies],
            "give_backs": [anomaly.give_back_rupiah for anomaly in anomalies],
        },
    )
    new = {(event_id, kind) for event_id, kind, is_new in rows if is_new}
    return [anomaly for anomaly in anomalies if (anomaly.event.event_id, anomaly.kind) in new]


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
