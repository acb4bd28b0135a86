"""Refunds in PostgreSQL."""

from collections.abc import Collection
from dataclasses import dataclass

from psycopg import Connection
from psycopg.rows import class_row

from skincare.payments.refunds.models import RefundRow
from skincare.payments.settlement import AskedRefund, Payment


@dataclass(frozen=True)
class Refundable:
    """A payment, and what of it may still be asked back: neither given back nor on its way."""

    gateway: str
    transaction_id: str
    left_rupiah: int


_COLUMNS = """
    r.key, o.order_number, r.gateway, r.transaction_id, r.amount_rupiah, r.reason, r.requested_by, r.state, r.refusal,
    r.keep_stock"""


def find(conn: Connection, key: str) -> RefundRow | None:
    """Return a refund by its key."""
    cur = conn.cursor(row_factory=class_row(RefundRow))
    cur.execute(
        f"SELECT {_COLUMNS} FROM refunds r JOIN orders o ON o.id = r.order_id WHERE r.key = %(key)s",  # noqa: S608  our own constant
        {"key": key},
    )
    return cur.fetchone()


def refundable(
    conn: Connection, order_id: int, *, transaction_id: str | None, anomaly_id: int | None
) -> list[Refundable]:
    """Return the payments of a locked order that are meant: those named, otherwise the one that pays it.

    An anomaly names its payment only while its task is an open refund.
    """
    rows = conn.execute(
        """
        SELECT p.gateway, p.transaction_id, greatest(0,
            p.amount_rupiah - p.refunded_rupiah - p.charged_back_rupiah - coalesce((
                SELECT sum(r.amount_rupiah) FROM refunds r
                WHERE r.order_id = p.order_id AND r.gateway = p.gateway AND r.transaction_id = p.transaction_id
                    AND r.state IN ('requested', 'sent')
            ), 0)::bigint
        )
        FROM payments p
        WHERE p.order_id = %(order_id)s AND CASE
            WHEN %(transaction_id)s::text IS NOT NULL THEN p.transaction_id = %(transaction_id)s
            WHEN %(anomaly_id)s::bigint IS NOT NULL THEN EXISTS (
                SELECT 1 FROM payment_anomalies a JOIN payment_events e ON e.id = a.event_id
                WHERE a.id = %(anomaly_id)s AND a.task = 'refund' AND a.withdrawn_at IS NULL AND a.resolved_at IS NULL
                    AND e.gateway = p.gateway AND e.transaction_id = p.transaction_id
            )
            ELSE p.pays_order
        END""",
        {"order_id": order_id, "transaction_id": transaction_id, "anomaly_id": anomaly_id},
    )
    return [Refundable(*row) for row in rows]


def insert(conn: Connection, order_id: int, refund: RefundRow) -> bool:
    """Write a new refund of a locked order; False means that its key is another refund's."""
    row = conn.execute(
        """
        SELECT request_refund(
            %(key)s, %(order_id)s, %(gateway)s, %(transaction_id)s, %(amount_rupiah)s, %(reason)s, %(requested_by)s,
            %(keep_stock)s
        )""",
        {
            "key": refund.key,
            "order_id": order_id,
            "gateway": refund.gateway,
            "transaction_id": refund.transaction_id,
            "amount_rupiah": refund.amount_rupiah,
            "reason": refund.reason,
            "requested_by": refund.requested_by,
            "keep_stock": refund.keep_stock,
        },
    ).fetchone()
    return row is not None and bool(row[0])


def mark_sent(conn: Connection, key: str) -> bool:
    """Note that the gateway took a refund; False where its event was faster."""
    cur = conn.execute(
        "UPDATE refunds SET state = 'sent', sent_at = now() WHERE key = %(key)s AND state = 'requested'", {"key": key}
    )
    return cur.rowcount == 1


def mark_refused(conn: Connection, key: str, *, refusal: str) -> bool:
    """Note that the gateway will not do it: the money is free for another refund."""
    cur = conn.execute(
        "UPDATE refunds SET state = 'refused', refusal = %(refusal)s WHERE key = %(key)s AND state = 'requested'",
        {"key": key, "refusal": refusal[:1000]},
    )
    return cur.rowcount == 1


def asked_for(conn: Connection, order_id: int) -> dict[str, AskedRefund]:
    """Return what was ever asked for of a locked order, by its key."""
    rows = conn.execute(
        "SELECT key, gateway, transaction_id, amount_rupiah FROM refunds WHERE order_id = %(order_id)s",
        {"order_id": order_id},
    )
    return {key: AskedRefund((gateway, transaction_id), amount) for key, gateway, transaction_id, amount in rows}


def take_up(conn: Connection, key: str) -> bool:
    """Let a refund of a locked order go out, refused before or not; False where too little of its payment is left.

    False also where it was sent before.
    """
    cur = conn.execute(
        """
        UPDATE refunds r SET state = 'requested', refusal = NULL
        FROM payments p
        WHERE r.key = %(key)s AND r.state IN ('requested', 'refused')
            AND p.gateway = r.gateway AND p.transaction_id = r.transaction_id
            AND r.amount_rupiah <= p.amount_rupiah - p.refunded_rupiah - p.charged_back_rupiah - coalesce((
                SELECT sum(o.amount_rupiah) FROM refunds o
                WHERE o.order_id = r.order_id AND o.gateway = r.gateway AND o.transaction_id = r.transaction_id
                    AND o.state IN ('requested', 'sent') AND o.key <> r.key
            ), 0)""",
        {"key": key},
    )
    return cur.rowcount == 1


def book(conn: Connection, order_id: int, payments: Collection[Payment]) -> list[str]:
    """Note which refunds of a locked order their events have booked as asked for; return the keys of the new ones."""
    booked = [(*payment.transaction, key, amount) for payment in payments for key, amount in payment.refunds]
    if not booked:
        return []
    gateways, transactions, keys, amounts = zip(*booked, strict=True)
    rows = conn.execute(
        """
        UPDATE refunds r SET state = 'booked', booked_at = now()
        FROM unnest(%(gateways)s::text[], %(transactions)s::text[], %(keys)s::text[], %(amounts)s::bigint[])
            AS b (gateway, transaction_id, key, amount_rupiah)
        WHERE r.order_id = %(order_id)s AND r.key = b.key AND r.gateway = b.gateway
            AND r.transaction_id = b.transaction_id AND r.amount_rupiah = b.amount_rupiah AND r.state <> 'booked'
        RETURNING r.key""",
        {
            "order_id": order_id,
            "gateways": list(gateways),
            "transactions": list(transactions),
            "keys": list(keys),
            "amounts": list(amounts),
        },
    )
    return [key for (key,) in rows]
