"""What follows once money has gone back. All of it is written in the transaction that books the refund."""

from collections.abc import Iterator

from skincare.database.connection import Connection
from skincare.identifiers import OrderNumber
from skincare.invoices.credit_notes import repository as credit_notes
from skincare.jobs.catalog import GenerateCreditNotePdf, JobPayload, SendRefundEmail
from skincare.jobs.models import DueJob
from skincare.jobs.repository import outbox
from skincare.observability import logger
from skincare.orders.models import OrderStatus
from skincare.payments.anomalies.repository import keep_anomaly
from skincare.payments.refund_effects import repository
from skincare.payments.repository import LockedOrder
from skincare.payments.settlement import Anomaly, AnomalyKind, Payment, Settlement


def follow_up(
    conn: Connection, order: LockedOrder, settlement: Settlement, *, order_number: OrderNumber
) -> list[DueJob]:
    """Set off what the refunds of a locked order entail, each once; return the jobs that are to be published.

    Call it last, after the settlement is saved, in its transaction: the year's row of the credit notes stays locked
    until that ends.
    """
    returned = sum(payment.refunded_rupiah for payment in settlement.payments)
    if returned == 0:
        return []
    payer = next((payment for payment in settlement.payments if payment.pays_order), None)
    _move_goods(conn, order, settlement, payer, order_number)
    payloads = list(_tell(conn, order.id, order_number, returned, payer))
    return outbox.insert_all(conn, payloads, order_number=order_number, request_id=order.request_id) if payloads else []


def _tell(
    conn: Connection, order_id: int, order_number: OrderNumber, returned_rupiah: int, payer: Payment | None
) -> Iterator[JobPayload]:
    number = None
    if payer is not None and payer.refunded_rupiah:
        number = credit_notes.issue(conn, order_id, credited_rupiah=payer.refunded_rupiah)
    if number is not None:
        yield GenerateCreditNotePdf(order_number=order_number, credit_note=number)
    refund_no = repository.note_refund(conn, order_id, returned_rupiah=returned_rupiah, credit_note=number)
    if refund_no is not None:
        yield SendRefundEmail(order_number=order_number, refund_no=refund_no)


def _move_goods(
    conn: Connection, order: LockedOrder, settlement: Settlement, payer: Payment | None, order_number: OrderNumber
) -> None:
    """Give the goods of a refunded order back, and take them again where the refund was not the last word.

    Nothing has left the house by itself: a refund whose goods have says so.
    """
    if settlement.order_status is OrderStatus.REFUNDED:
        # Only as it becomes refunded: one that was before goods were given back is for whoever counts them.
        if order.status is not OrderStatus.REFUNDED and repository.restock(conn, order.id):
            logger.info("order.restocked", order_number=order_number)
        return
    if payer is None or payer.paid_by is None or repository.take_stock_again(conn, order.id):
        return
    anomaly = Anomaly(payer.paid_by, AnomalyKind.GOODS_GIVEN_BACK)
    if keep_anomaly(conn, anomaly, order_id=order.id, expected_rupiah=order.total_rupiah):
        logger.error(
            "payment.anomaly",
            event_id=anomaly.event.event_id,
            order_number=order_number,
            kind=anomaly.kind,
            task=anomaly.task,
        )
