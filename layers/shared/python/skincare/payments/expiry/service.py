"""Expiring orders: the gateways are asked, and their pages closed, first, and no order expires on a guess."""

from collections.abc import Sequence
from datetime import timedelta
from enum import Enum, auto

from skincare.database.connection import Database
from skincare.identifiers import OrderNumber, new_job_id
from skincare.jobs.catalog import SendOrderExpiredEmail
from skincare.jobs.publisher import Publisher
from skincare.jobs.repository import timers
from skincare.observability import logger
from skincare.orders.models import OrderStatus
from skincare.payments.answers.service import ask, close, keep
from skincare.payments.deadline import in_turn, seconds_left, within
from skincare.payments.errors import AttemptsUnasked, OrderMaybePaid, PaymentUnderWay
from skincare.payments.expiry import repository
from skincare.payments.expiry.repository import Expiry, KnownAttempt
from skincare.payments.models import Closing, EventStatus, Report
from skincare.payments.ports import Gateways

_WITHIN_S = 10.0
_ONE_NEEDS_S = 6.0
"""A job has fifteen seconds. What of an order's attempts there is no time for is asked about in the next try."""

_FRESH_FOR = timedelta(minutes=10)
"""An attempt whose time was over and that had no money then is not asked about again for so long."""


def expire_order(order_number: OrderNumber, *, database: Database, gateways: Gateways, publisher: Publisher) -> None:
    """Expire an order that nobody paid, unless it is not pending any more.

    Before its stock is given back every attempt is closed at its gateway, where that can be done. No connection is
    held while a gateway is asked. Raises `OrderMaybePaid` and `PaymentUnderWay` while money may be on its way,
    `AttemptsUnasked` where the next try must go on, `GatewayUnavailable` and `GatewayRefused` where a gateway does
    not tell: the order stays.
    """
    with database.connection() as conn:
        order = repository.load(conn, order_number, fresh_for=_FRESH_FOR)
    if order is None or order.status is not OrderStatus.PENDING:
        logger.info("order.expiry_pointless", order_number=order_number, status=order and order.status)
        return
    found: set[_Found] = set()
    with within(_WITHIN_S):
        for known in in_turn(order.attempts):
            if known.is_checked:
                continue
            if seconds_left() < _ONE_NEEDS_S:
                raise AttemptsUnasked(order_number)
            # On to the next one whatever was found: what waits at one attempt hides no money at another.
            found.add(_look(order_number, known, database=database, gateways=gateways, publisher=publisher))
    if _Found.MONEY in found:
        raise OrderMaybePaid(order_number)
    if _Found.UNDER_WAY in found:
        # A gateway that still waits after the attempt ended does so for as long as the job's budget lasts.
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


class _Found(Enum):
    """What there is at one attempt."""

    MONEY = auto()
    UNDER_WAY = auto()
    NOTHING = auto()


def _look(
    order_number: OrderNumber, known: KnownAttempt, *, database: Database, gateways: Gateways, publisher: Publisher
) -> _Found:
    """Ask about an attempt; close it where its time is over, and note that nobody will pay there any more."""
    reports = ask(gateways, known.gateway, known.attempt, database=database)
    answers = [(known.gateway, report) for report in reports]
    if keep(order_number, answers, database=database, publisher=publisher):
        return _Found.MONEY
    if known.is_open:
        return _Found.UNDER_WAY
    outcome = close(
        order_number, known.gateway, known.attempt, database=database, gateways=gateways, publisher=publisher
    )
    if outcome is Closing.PAID:
        return _Found.MONEY
    if outcome is Closing.UNDER_WAY or (outcome is Closing.UNKNOWN and _waits(reports)):
        return _Found.UNDER_WAY
    with database.connection() as conn:
        repository.mark_checked(conn, known.attempt)
    return _Found.NOTHING


def _waits(reports: Sequence[Report]) -> bool:
    return any(report.status is EventStatus.PENDING for report in reports)
