"""Full payments in PostgreSQL: each statement is about all orders of a batch."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from psycopg import Connection
from psycopg.rows import dict_row

from skincare.identifiers import OrderNumber
from skincare.orders.models import OrderStatus
from skincare.payments.models import EventId, EventState
from skincare.payments.repository import EVENT_COLUMNS, LockedOrder, event_of
from skincare.payments.settlement import PaymentEvent, Settlement, Transaction


@dataclass(frozen=True)
class StoredEvent:
    """A stored event, and the request that brought it."""

    event: PaymentEvent
    state: EventState
    request_id: str | None


@dataclass(frozen=True)
class Known:
    """What else is known: orders that one by one are looked at more closely, and whose the transactions are."""

    of_note: frozenset[int]
    owners: Mapping[Transaction, int]


def lock_pending(conn: Connection, event_ids: Collection[EventId]) -> dict[OrderNumber, LockedOrder]:
    """Lock the pending orders that received events are about, by id: two batches never wait for each other."""
    rows = conn.execute(
        """
        SELECT order_number, id, status, total_rupiah, request_id FROM orders
        WHERE status = 'pending' AND order_number = ANY (ARRAY(
            SELECT order_number FROM payment_events WHERE id = ANY (%(ids)s::uuid[]) AND state = 'received'
        ))
        ORDER BY id FOR NO KEY UPDATE""",
        {"ids": list(event_ids)},
    )
    return {row[0]: LockedOrder(row[1], OrderStatus(row[2]), row[3], row[4]) for row in rows}


def load_events(
    conn: Connection, event_ids: Collection[EventId], order_numbers: Collection[OrderNumber]
) -> list[StoredEvent]:
    """Return those of the events that are to be applied, and every applied one of the orders."""
    rows = conn.cursor(row_factory=dict_row).execute(
        f"""
        SELECT state, request_id, {EVENT_COLUMNS} FROM payment_events
        WHERE id = ANY (%(ids)s::uuid[]) AND state = 'received'
        UNION ALL
        SELECT state, request_id, {EVENT_COLUMNS} FROM payment_events
        WHERE order_number = ANY (%(order_numbers)s::text[]) AND state = 'applied'""",  # noqa: S608  our own constant
        {"ids": list(event_ids), "order_numbers": list(order_numbers)},
    )
    return [
        StoredEvent(state=EventState(row.pop("state")), request_id=row.pop("request_id"), event=event_of(row))
        for row in rows
    ]


def load_known(conn: Connection, orders: Collection[LockedOrder], transactions: Collection[Transaction]) -> Known:
    """Return which orders have anomalies, refunds or ignored events, and whose the transactions are."""
    rows = conn.execute(
        """
        SELECT NULL, NULL, order_id FROM payment_anomalies WHERE order_id = ANY (%(order_ids)s::bigint[])
        UNION ALL
        SELECT NULL, NULL, order_id FROM refunds WHERE order_id = ANY (%(order_ids)s::bigint[])
        UNION ALL
        SELECT NULL, NULL, o.id FROM orders o
        JOIN payment_events e ON e.order_number = o.order_number AND e.state = 'ignored'
        WHERE o.id = ANY (%(order_ids)s::bigint[])
        UNION ALL
        SELECT p.gateway, p.transaction_id, p.order_id
        FROM unnest(%(gateways)s::text[], %(ids)s::text[]) AS t (gateway, transaction_id)
        JOIN payments p ON p.gateway = t.gateway AND p.transaction_id = t.transaction_id""",
        {
            "order_ids": [order.id for order in orders],
            "gateways": [gateway for gateway, _ in transactions],
            "ids": [transaction_id for _, transaction_id in transactions],
        },
    ).fetchall()
    return Known(
        of_note=frozenset(order_id for gateway, _, order_id in rows if gateway is None),
        owners={(gateway, transaction_id): order_id for gateway, transaction_id, order_id in rows if gateway},
    )


def mark_applied(conn: Connection, event_ids: Collection[EventId]) -> bool:
    """Note that events are applied as they were received; False means that somebody applied one of them already."""
    cur = conn.execute(
        """
        UPDATE payment_events SET state = 'applied', applied_at = now()
        WHERE id = ANY (%(ids)s::uuid[]) AND state = 'received'""",
        {"ids": list(event_ids)},
    )
    return cur.rowcount == len(event_ids)


def save(conn: Connection, settlements: Sequence[tuple[LockedOrder, Settlement]]) -> bool:
    """Write what makes locked orders paid; False means that a transaction belongs to another order."""
    payments = [(order.id, payment) for order, settlement in settlements for payment in settlement.payments]
    row = conn.execute(
        """
        WITH payment AS (
            SELECT save_payment(
                t.order_id, t.gateway, t.transaction_id, t.status, t.amount_rupiah, t.refunded_rupiah,
                t.charged_back_rupiah, t.event_id, t.pays_order
            ) AS ours
            FROM unnest(
                %(order_ids)s::bigint[], %(gateways)s::text[], %(transaction_ids)s::text[], %(statuses)s::text[],
                %(amounts)s::bigint[], %(refunded)s::bigint[], %(charged_back)s::bigint[], %(event_ids)s::uuid[],
                %(pay_orders)s::boolean[]
            ) AS t (
                order_id, gateway, transaction_id, status, amount_rupiah, refunded_rupiah, charged_back_rupiah,
                event_id, pays_order
            )
        ), paid AS (
            UPDATE orders o SET status = 'paid',
                paid_at = coalesce(o.paid_at, believable_paid_at(s.paid_at, o.created_at))
            FROM unnest(%(paid_ids)s::bigint[], %(paid_ats)s::timestamptz[]) AS s (order_id, paid_at)
            WHERE o.id = ANY (%(paid_ids)s::bigint[]) AND o.id = s.order_id AND o.status = 'pending'
            RETURNING 1
        )
        SELECT (SELECT bool_and(ours) FROM payment)
            AND (SELECT count(*) FROM paid) = cardinality(%(paid_ids)s::bigint[])""",
        {
            "order_ids": [order_id for order_id, _ in payments],
            "gateways": [payment.transaction[0] for _, payment in payments],
            "transaction_ids": [payment.transaction[1] for _, payment in payments],
            "statuses": [payment.status for _, payment in payments],
            "amounts": [payment.amount_rupiah for _, payment in payments],
            "refunded": [payment.refunded_rupiah for _, payment in payments],
            "charged_back": [payment.charged_back_rupiah for _, payment in payments],
            "event_ids": [payment.paid_by and payment.paid_by.event_id for _, payment in payments],
            "pay_orders": [payment.pays_order for _, payment in payments],
            "paid_ids": [order.id for order, _ in settlements],
            "paid_ats": [settlement.paid_at for _, settlement in settlements],
        },
    ).fetchone()
    return row == (True,)
