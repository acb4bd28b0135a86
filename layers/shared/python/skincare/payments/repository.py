"""Payment events, payments and anomalies in PostgreSQL."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, timedelta
from typing import Any

from psycopg import Connection
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from skincare.identifiers import JobId, OrderNumber
from skincare.jobs.catalog import ProcessPayment
from skincare.jobs.models import DueJob
from skincare.orders.models import OrderStatus
from skincare.payments.anomalies.repository import save_anomalies
from skincare.payments.errors import TransactionContested
from skincare.payments.models import EventId, EventSource, EventState, EventStatus, GatewayEvent, Report
from skincare.payments.settlement import Anomaly, Payment, PaymentEvent, Settlement, Transaction


@dataclass(frozen=True)
class Intake:
    """What storing an event did. `job` is to be published; None where nothing follows from the event."""

    is_new: bool
    job: DueJob | None


@dataclass(frozen=True)
class LockedOrder:
    """An order that nobody else can change until the transaction ends."""

    id: int
    status: OrderStatus
    total_rupiah: int
    request_id: str | None = None


def store(
    conn: Connection,
    event: GatewayEvent,
    *,
    gateway: str,
    body: bytes,
    event_id: EventId,
    job_id: JobId,
    request_id: str | None,
    trace_id: str | None = None,
    source: EventSource = EventSource.WEBHOOK,
) -> Intake:
    """Store an event with its job in one statement, once per gateway and key."""
    report, payload = event.report, ProcessPayment(event_id=str(event_id))
    row = conn.execute(
        """
        WITH event AS (
            INSERT INTO payment_events (
                id, gateway, event_key, body, headers, order_number, transaction_id, reported_status, status,
                amount_rupiah, currency, refund_key, attempt_no, occurred_at, state, flaw, request_id, source
            ) VALUES (
                %(id)s, %(gateway)s, %(event_key)s, %(body)s, %(headers)s, %(order_number)s, %(transaction_id)s,
                %(reported_status)s, %(status)s, %(amount_rupiah)s, %(currency)s, %(refund_key)s, %(attempt_no)s,
                %(occurred_at)s, %(state)s, %(flaw)s, %(request_id)s, %(source)s
            ) ON CONFLICT (gateway, event_key) DO NOTHING
            RETURNING state
        ), job AS (
            SELECT enqueue_job(
                %(job_id)s, %(job_type)s, %(queue)s, %(payload)s, %(order_number)s, %(request_id)s, %(trace_id)s
            ) AS publish_at
            FROM event WHERE state = 'received'
        )
        SELECT (SELECT count(*) FROM event), (SELECT publish_at FROM job)""",
        {
            "id": event_id,
            "gateway": gateway,
            "event_key": event.key,
            "body": body,
            "headers": Jsonb(dict(event.headers)),
            **_said(report),
            "state": event.state,
            "flaw": event.flaw,
            "request_id": request_id,
            "trace_id": trace_id,
            "source": source,
            "job_id": job_id,
            "job_type": payload.job_type,
            "queue": payload.queue,
            "payload": Jsonb(payload.model_dump()),
        },
    ).fetchone()
    assert row is not None  # noqa: S101  a SELECT without FROM answers a row
    stored, publish_at = row
    if publish_at is None or report is None:
        return Intake(stored == 1, None)
    job = DueJob(
        job_id=job_id,
        job_type=payload.job_type,
        queue=payload.queue,
        payload=payload.model_dump(),
        publish_at=publish_at,
        request_id=request_id,
        trace_id=trace_id,
        order_number=report.order_number,
    )
    return Intake(is_new=True, job=job)


def is_reported_differently(conn: Connection, event: GatewayEvent, *, gateway: str) -> bool:
    """Tell whether the stored event of the same key says something else about money."""
    found = conn.execute(
        """
        SELECT (order_number, transaction_id, reported_status, amount_rupiah, currency, refund_key) IS DISTINCT FROM (
            %(order_number)s, %(transaction_id)s, %(reported_status)s, %(amount_rupiah)s, %(currency)s, %(refund_key)s
        ) FROM payment_events WHERE gateway = %(gateway)s AND event_key = %(event_key)s""",
        {"gateway": gateway, "event_key": event.key, **_said(event.report)},
    ).fetchone()
    return found == (True,)


def _said(report: Report | None) -> dict[str, Any]:
    """Return what an event says, as parameters."""
    return {each.name: getattr(report, each.name, None) for each in fields(Report)}


def find_event(conn: Connection, event_id: EventId) -> tuple[EventState, PaymentEvent | None] | None:
    """Return what became of an event and, where it can be applied, what it says."""
    row = (
        conn.cursor(row_factory=dict_row)
        .execute(f"SELECT state, {EVENT_COLUMNS} FROM payment_events WHERE id = %(id)s", {"id": event_id})  # noqa: S608  our own constant
        .fetchone()
    )
    if row is None:
        return None
    state = EventState(row.pop("state"))
    return state, event_of(row) if state in {EventState.RECEIVED, EventState.APPLIED} else None


def lock_order(conn: Connection, order_number: OrderNumber) -> LockedOrder | None:
    """Lock an order until the transaction ends: all that changes it waits for its row."""
    row = conn.execute(
        """
        SELECT id, status, total_rupiah, request_id FROM orders
        WHERE order_number = %(order_number)s FOR NO KEY UPDATE""",
        {"order_number": order_number},
    ).fetchone()
    return None if row is None else LockedOrder(row[0], OrderStatus(row[1]), row[2], row[3])


def total_of(conn: Connection, order_number: OrderNumber) -> int | None:
    """Return what an order costs in whole rupiah, None where there is no such order."""
    row = conn.execute(
        "SELECT total_rupiah FROM orders WHERE order_number = %(order_number)s", {"order_number": order_number}
    ).fetchone()
    return None if row is None else int(row[0])


def mark_applied(conn: Connection, event_id: EventId, confirmed: Report | None = None) -> bool:
    """Note that an event is applied, as `confirmed` where the gateway was asked; False means somebody already did."""
    cur = conn.execute(
        """
        UPDATE payment_events SET state = 'applied', applied_at = now(),
            confirmed_at = CASE WHEN %(status)s::text IS NOT NULL THEN now() END,
            confirmed_status = %(status)s, confirmed_amount_rupiah = %(amount_rupiah)s,
            confirmed_currency = %(currency)s, confirmed_occurred_at = %(occurred_at)s
        WHERE id = %(id)s AND state = 'received'""",
        {
            "id": event_id,
            "status": confirmed and confirmed.status,
            "amount_rupiah": confirmed and confirmed.amount_rupiah,
            "currency": confirmed and confirmed.currency,
            "occurred_at": confirmed and confirmed.occurred_at,
        },
    )
    return cur.rowcount == 1


def quarantine(conn: Connection, event_id: EventId, *, flaw: str, after: timedelta = timedelta(0)) -> bool:
    """Set an event aside for a person if it was received longer ago than `after`; False where it was not."""
    cur = conn.execute(
        """
        UPDATE payment_events SET state = 'quarantined', flaw = %(flaw)s
        WHERE id = %(id)s AND state = 'received' AND received_at <= now() - %(after)s""",
        {"id": event_id, "flaw": flaw, "after": after},
    )
    return cur.rowcount == 1


def applied_events(conn: Connection, order_number: OrderNumber) -> list[PaymentEvent]:
    """Return every applied event of an order."""
    rows = conn.cursor(row_factory=dict_row).execute(
        f"""
        SELECT {EVENT_COLUMNS} FROM payment_events
        WHERE order_number = %(order_number)s AND state = 'applied'""",  # noqa: S608  our own constant
        {"order_number": order_number},
    )
    return [event_of(row) for row in rows]


def foreign_transactions(conn: Connection, order_id: int, transactions: Collection[Transaction]) -> set[Transaction]:
    """Return those of the transactions that belong to another order."""
    rows = conn.execute(
        """
        SELECT p.gateway, p.transaction_id
        FROM unnest(%(gateways)s::text[], %(ids)s::text[]) AS t (gateway, transaction_id)
        JOIN payments p ON p.gateway = t.gateway AND p.transaction_id = t.transaction_id
        WHERE p.order_id <> %(order_id)s""",
        {
            "order_id": order_id,
            "gateways": [gateway for gateway, _ in transactions],
            "ids": [transaction_id for _, transaction_id in transactions],
        },
    )
    return {(gateway, transaction_id) for gateway, transaction_id in rows}


def save(conn: Connection, order: LockedOrder, settlement: Settlement, *, event_id: EventId) -> list[Anomaly]:
    """Write what the events of a locked order add up to; return the anomalies that are new.

    Raises `TransactionContested`.
    """
    # First take the role of the payer away, then give it: an order has one at a time.
    for payment in sorted(settlement.payments, key=lambda each: (each.pays_order, each.transaction)):
        if not _save_payment(conn, order.id, payment):
            raise TransactionContested(event_id)
    conn.execute(
        """
        UPDATE orders SET status = %(status)s, paid_at = coalesce(paid_at, believable_paid_at(%(paid_at)s, created_at))
        WHERE id = %(id)s AND status = %(was)s AND status <> %(status)s""",
        {"id": order.id, "status": settlement.order_status, "was": order.status, "paid_at": settlement.paid_at},
    )
    return save_anomalies(
        conn,
        settlement.anomalies,
        order_id=order.id,
        expected_rupiah=order.total_rupiah,
        is_refunded=settlement.order_status is OrderStatus.REFUNDED,
    )


def _save_payment(conn: Connection, order_id: int, payment: Payment) -> bool:
    """Write a payment; False means that the transaction belongs to another order."""
    gateway, transaction_id = payment.transaction
    row = conn.execute(
        """
        SELECT save_payment(
            p_order_id => %(order_id)s, p_gateway => %(gateway)s, p_transaction_id => %(transaction_id)s,
            p_status => %(status)s, p_amount_rupiah => %(amount_rupiah)s, p_refunded_rupiah => %(refunded_rupiah)s,
            p_charged_back_rupiah => %(charged_back_rupiah)s, p_event_id => %(event_id)s,
            p_pays_order => %(pays_order)s
        )""",
        {
            "order_id": order_id,
            "gateway": gateway,
            "transaction_id": transaction_id,
            "status": payment.status,
            "amount_rupiah": payment.amount_rupiah,
            "refunded_rupiah": payment.refunded_rupiah,
            "charged_back_rupiah": payment.charged_back_rupiah,
            "event_id": payment.paid_by and payment.paid_by.event_id,
            "pays_order": payment.pays_order,
        },
    ).fetchone()
    return row is not None and bool(row[0])


# Times come without their zone, which is UTC: in another one the last hours of the year 9999, which a gateway may
# tell, would be of a year that Python does not know.
EVENT_COLUMNS = """
    id AS event_id, gateway, event_key, order_number, attempt_no, transaction_id, refund_key,
    coalesce(confirmed_status, status) AS status, coalesce(confirmed_amount_rupiah, amount_rupiah) AS amount_rupiah,
    coalesce(confirmed_currency, currency) AS currency,
    (CASE WHEN confirmed_at IS NULL THEN occurred_at ELSE confirmed_occurred_at END) AT TIME ZONE 'UTC' AS occurred_at,
    source = 'answer' AS is_answer"""


def event_of(row: Mapping[str, Any]) -> PaymentEvent:
    """Read a row of `EVENT_COLUMNS`."""
    occurred_at = row["occurred_at"]
    return PaymentEvent(
        **{
            **row,
            "status": EventStatus(row["status"]),
            "occurred_at": occurred_at and occurred_at.replace(tzinfo=UTC),
        }
    )
