"""Giving money back: who asks only writes it down, a job sends it, and the gateway's event books it."""

from collections.abc import Collection

from skincare.database.connection import Connection, Database
from skincare.jobs.catalog import SendRefund
from skincare.jobs.repository import outbox, timers
from skincare.money import rupiah
from skincare.observability import logger
from skincare.orders.errors import OrderUnknown
from skincare.payments.deadline import within
from skincare.payments.errors import (
    GatewayRefused,
    RefundNotPossible,
    RefundOvertaken,
    RefundUnknown,
)
from skincare.payments.gateways.clients import client
from skincare.payments.models import Refund
from skincare.payments.ports import Gateways
from skincare.payments.refunds import repository
from skincare.payments.refunds.models import RefundRequest, RefundRow
from skincare.payments.repository import lock_order
from skincare.payments.settlement import Payment

_WITHIN_S = 10.0
"""A job has fifteen seconds."""


def request_refund(conn: Connection, request: RefundRequest) -> RefundRow:
    """Write a refund down with its job, and return it; the same request again returns the same refund.

    Call it in a transaction. The relay sends the refund within two minutes. What is given back and what is on its way
    is never more than what came: the order is locked meanwhile. Raises `OrderUnknown` and `RefundNotPossible`.
    """
    order = lock_order(conn, request.order_number)
    if order is None:
        raise OrderUnknown
    known = repository.find(conn, request.key)
    if known is not None:
        return _same(known, request)
    found = repository.refundable(conn, order.id, transaction_id=request.transaction_id, anomaly_id=request.anomaly_id)
    if len(found) != 1:
        raise RefundNotPossible(
            "no payment of this order matches" if not found else "two payments match: name the transaction"
        )
    [payment] = found
    amount = payment.left_rupiah if request.amount_rupiah is None else request.amount_rupiah
    if not 0 < amount <= payment.left_rupiah:
        raise RefundNotPossible(f"{rupiah(payment.left_rupiah)} are left of the payment")
    refund = RefundRow(
        key=request.key,
        order_number=request.order_number,
        gateway=payment.gateway,
        transaction_id=payment.transaction_id,
        amount_rupiah=amount,
        reason=request.reason,
        requested_by=request.requested_by,
        keep_stock=request.keep_stock,
    )
    if not repository.insert(conn, order.id, refund):
        raise RefundNotPossible("its key was used for another order just now")
    job = SendRefund(refund_key=refund.key)
    outbox.insert_for_relay(conn, job, unique_key=job.unique_key, order_number=refund.order_number)
    logger.info("refund.requested", refund_key=refund.key, order_number=refund.order_number, amount_rupiah=amount)
    return refund


def send_refund(key: str, *, database: Database, gateways: Gateways) -> None:
    """Ask the gateway for a refund, unless that is done; one that was refused before is asked for again.

    Not where its money is gone by now: a bank may have taken it, or somebody gave it back in the gateway's dashboard,
    while the refund waited. Asking twice is harmless: the gateway takes a key once. No connection is held meanwhile.
    Raises `RefundUnknown`, `RefundOvertaken`, `GatewayUnavailable`, and `GatewayRefused` once the refusal is written
    down.
    """
    refund = _take_up(key, database=database)
    if refund is None:
        return
    asked = client(gateways, refund.gateway)
    try:
        with within(_WITHIN_S):
            asked.refund(Refund(refund.order_number, refund.transaction_id, refund.amount_rupiah, key, refund.reason))
    except GatewayRefused as error:
        with database.connection() as conn:
            is_refused = repository.mark_refused(conn, key, refusal=str(error))
            now = repository.find(conn, key)
        if not is_refused and now is not None and _is_done(now):
            # The money is on its way, or back: an earlier try got through, and this one was refused as its double.
            return
        logger.error("refund.refused", refund_key=key, order_number=refund.order_number)
        raise
    with database.connection() as conn:
        repository.mark_sent(conn, key)
    logger.info("refund.sent", refund_key=key, order_number=refund.order_number, amount_rupiah=refund.amount_rupiah)


def book(conn: Connection, order_id: int, payments: Collection[Payment]) -> None:
    """Note which refunds of a locked order are booked by now, and cancel the job of each: its work is done.

    It may be dead, because the gateway refused a second call or did not answer in time.
    """
    for key in repository.book(conn, order_id, payments):
        timers.cancel(conn, SendRefund(refund_key=key).unique_key)


def _take_up(key: str, *, database: Database) -> RefundRow | None:
    """Return a refund that is to be sent, whose money counts as on its way; None where it was sent before.

    Raises `RefundUnknown`, and `RefundOvertaken` where its money is gone: then it is refused.
    """
    with database.connection() as conn, conn.transaction():
        found = repository.find(conn, key)
        if found is None:
            raise RefundUnknown(key)
        lock_order(conn, found.order_number)
        is_taken = repository.take_up(conn, key)
        if not is_taken:
            repository.mark_refused(conn, key, refusal="not enough of its payment is left")
            found = repository.find(conn, key)
    if found is not None and _is_done(found):
        return None
    if not is_taken:
        raise RefundOvertaken(key)
    return found


def _is_done(refund: RefundRow) -> bool:
    """Tell, and log, whether nothing is left to send of a refund."""
    if refund.state not in {"sent", "booked"}:
        return False
    logger.info("refund.sent_before", refund_key=refund.key, order_number=refund.order_number, state=refund.state)
    return True


def _same(known: RefundRow, request: RefundRequest) -> RefundRow:
    """Return the refund that the key belongs to; raises `RefundNotPossible` where it is about something else."""
    same = (
        known.order_number == request.order_number
        and request.amount_rupiah in {None, known.amount_rupiah}
        and request.transaction_id in {None, known.transaction_id}
        and request.keep_stock == known.keep_stock
    )
    if not same:
        raise RefundNotPossible("its key belongs to another refund")
    return known
