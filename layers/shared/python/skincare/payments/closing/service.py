"""Closing payments at their gateways once their order takes no more money: it was cancelled, or paid by another one.

An expiry closes them before it gives the stock back (`skincare.payments.expiry`); here the order has ended already.
"""

from skincare.database.connection import Database
from skincare.identifiers import OrderNumber
from skincare.jobs.publisher import Publisher
from skincare.observability import logger
from skincare.orders.models import OrderStatus
from skincare.payments.answers.service import ask, close
from skincare.payments.attempts import repository as attempts
from skincare.payments.closing import repository
from skincare.payments.deadline import in_turn, seconds_left, within
from skincare.payments.errors import AttemptsUnasked, OrderMaybePaid, PaymentUnderWay
from skincare.payments.expiry.repository import KnownAttempt
from skincare.payments.models import Closing, EventStatus
from skincare.payments.ports import Gateways

_WITHIN_S = 10.0
_ONE_NEEDS_S = 6.0
"""A job has fifteen seconds. What of an order's attempts there is no time for is closed in the next try."""


def close_payments(order_number: OrderNumber, *, database: Database, gateways: Gateways, publisher: Publisher) -> None:
    """Close what may still take money for an order that takes none any more; harmless when repeated.

    Money that was faster is kept as an event, and goes back like any that comes too late. No connection is held while
    a gateway is asked. Raises `OrderMaybePaid` and `PaymentUnderWay` while something stays open, `AttemptsUnasked`
    where the next try must go on, and the errors of the client.
    """
    with database.connection() as conn:
        order = repository.load(conn, order_number)
    if order is None or order.status is OrderStatus.PENDING:
        logger.info("payment.closing_pointless", order_number=order_number, status=order and order.status)
        return
    found: set[Closing] = set()
    with within(_WITHIN_S):
        for known in in_turn(order.attempts):
            if seconds_left() < _ONE_NEEDS_S:
                raise AttemptsUnasked(order_number)
            found.add(_close(order_number, known, database=database, gateways=gateways, publisher=publisher))
    if Closing.PAID in found:
        raise OrderMaybePaid(order_number)
    if Closing.UNDER_WAY in found:
        raise PaymentUnderWay(order_number)


def _close(
    order_number: OrderNumber, known: KnownAttempt, *, database: Database, gateways: Gateways, publisher: Publisher
) -> Closing:
    """Close one attempt, and note that it is closed; of one that nobody can close, say what is in the way."""
    outcome = close(
        order_number, known.gateway, known.attempt, database=database, gateways=gateways, publisher=publisher
    )
    if outcome is Closing.UNKNOWN:
        outcome = _of_unknown(known, database=database, gateways=gateways)
    if outcome is Closing.CLOSED:
        with database.connection() as conn:
            attempts.close(conn, known.attempt)
        logger.info(
            "payment.closed",
            order_number=order_number,
            attempt_no=known.attempt.attempt_no,
            gateway=known.gateway,
        )
    return outcome


def _of_unknown(known: KnownAttempt, *, database: Database, gateways: Gateways) -> Closing:
    """Judge an attempt of which its gateway knows nobody who pays: while its page is open, somebody may come."""
    if known.is_open:
        return Closing.UNDER_WAY
    reports = ask(gateways, known.gateway, known.attempt, database=database)
    waits = any(report.status is EventStatus.PENDING for report in reports)
    return Closing.UNDER_WAY if waits else Closing.CLOSED
