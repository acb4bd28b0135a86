"""Expiring orders: the gateways are asked first, and no order expires on a guess."""

from skincare.database.connection import Database
from skincare.identifiers import OrderNumber, new_job_id
from skincare.jobs.catalog import SendOrderExpiredEmail
from skincare.jobs.publisher import Publisher
from skincare.jobs.repository import timers
from skincare.observability import logger
from skincare.orders.models import OrderStatus
from skincare.payments.answers.service import Gateways, ask, keep
from skincare.payments.errors import OrderMaybePaid, PaymentUnderWay
from skincare.payments.expiry import repository
from skincare.payments.expiry.repository import Expiry
from skincare.payments.models import EventStatus


def expire_order(order_number: OrderNumber, *, database: Database, gateways: Gateways, publisher: Publisher) -> None:
    """Expire an order that nobody paid, unless it is not pending any more.

    No connection is held while a gateway is asked. Raises `OrderMaybePaid` and `PaymentUnderWay` while money may
    be on its way, `GatewayUnavailable` and `GatewayRefused` where a gateway does not tell: the order stays.
    """
    with database.connection() as conn:
        order = repository.load(conn, order_number)
    if order is None or order.status is not OrderStatus.PENDING:
        logger.info("order.expiry_pointless", order_number=order_number, status=order and order.status)
        return
    answers = [
        (known.gateway, report) for known in order.attempts for report in ask(gateways, known.gateway, known.attempt)
    ]
    if keep(order_number, answers, database=database, publisher=publisher):
        raise OrderMaybePaid(order_number)
    # A gateway that still waits after the attempt ended does so for as long as the job's budget lasts.
    if any(known.is_open for known in order.attempts) or any(
        report.status is EventStatus.PENDING for _, report in answers
    ):
        raise PaymentUnderWay(order_number)
    mail = None
    with database.connection() as conn, conn.transaction():
        outcome = repository.expire(conn, order_number, attempts=len(order.attempts))
        if outcome is Expiry.EXPIRED and repository.knows_of_order(conn, order_number):
            payload = SendOrderExpiredEmail(order_number=order_number)
            key = f"{payload.job_type}:{order_number}"
            mail = timers.insert(conn, new_job_id(), payload, unique_key=key, order_number=order_number)
    if mail is not None:
        publisher.publish_now([mail])
    if outcome is Expiry.WAITS:
        raise OrderMaybePaid(order_number)
    logger.info("order.expired" if outcome is Expiry.EXPIRED else "order.expiry_pointless", order_number=order_number)
