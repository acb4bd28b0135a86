"""Sending a customer to a gateway, to one page at a time."""

from datetime import timedelta

from skincare.database.connection import Database
from skincare.identifiers import OrderNumber, UserId
from skincare.jobs.catalog import ExpireOrder
from skincare.jobs.publisher import Publisher
from skincare.jobs.repository import timers
from skincare.observability import logger
from skincare.orders.errors import OrderUnknown
from skincare.orders.models import OrderStatus
from skincare.orders.terms import EXPIRY_GRACE
from skincare.payments.answers.service import close
from skincare.payments.attempts import repository
from skincare.payments.attempts.models import PaymentStart, StartedAttempt
from skincare.payments.deadline import within
from skincare.payments.errors import (
    GatewayRefused,
    GatewayUnavailable,
    OrderMaybePaid,
    OrderNotPayable,
    PaymentUnderWay,
    ReferenceTaken,
)
from skincare.payments.gateways.clients import client
from skincare.payments.models import Closing
from skincare.payments.ports import Gateways

_ANSWER_WITHIN_S = 4.0
"""For all that gateways are asked: with the database's share an answer stays within five seconds."""

_MOST_TAKEN = 3


def start_payment(
    user_id: UserId,
    order_number: OrderNumber,
    *,
    gateway: str,
    window: timedelta | None,
    database: Database,
    gateways: Gateways,
    publisher: Publisher,
) -> PaymentStart:
    """Return where the caller pays a pending order: at the open attempt, or at a new one at `gateway`.

    `window` is how long after the checkout one may pay in the way that the caller has chosen, None for the order's own
    time. With a new attempt the order gets that much, where it has less; an open one stays as it is.

    Nothing is locked while the gateway is asked. Whoever repeats the call after a crash or at the same time asks
    for the same attempt, which never makes a second debt. An attempt that the gateway does not start any more is
    closed there before the next one is opened. Raises `OrderUnknown`, `OrderNotPayable`, `OrderMaybePaid` and
    `PaymentUnderWay` where the closed one turns out to be in use, and the errors of the client.
    """
    with within(_ANSWER_WITHIN_S):
        for _ in range(_MOST_TAKEN):
            started = _open(user_id, order_number, gateway=gateway, window=window, database=database, gateways=gateways)
            if started.redirect_url is not None:
                return PaymentStart(started.redirect_url, started.attempt.expires_at)
            try:
                redirect_url = client(gateways, started.gateway).start(started.attempt)
            except ReferenceTaken:
                _leave(order_number, started, database=database, gateways=gateways, publisher=publisher)
                continue
            except GatewayRefused as error:
                logger.warning("payment.start_refused", order_number=order_number, reason=str(error))
                raise
            return _keep(order_number, started, redirect_url, database=database)
    raise GatewayUnavailable(gateway, f"it took none of {_MOST_TAKEN} references")


def _open(
    user_id: UserId,
    order_number: OrderNumber,
    *,
    gateway: str,
    window: timedelta | None,
    database: Database,
    gateways: Gateways,
) -> StartedAttempt:
    with database.connection() as conn, conn.transaction():
        order = repository.lock_order(conn, user_id, order_number)
        if order is None:
            raise OrderUnknown
        if order.status is not OrderStatus.PENDING or order.is_late:
            raise OrderNotPayable(order_number, order.status)
        started = repository.find_open(conn, order.id)
        if started is None:
            # Looked for first: an attempt at a gateway that nobody can ask would be in the way until its time is over.
            client(gateways, gateway)
            if window is not None and (expires_at := repository.extend(conn, order.id, window=window)):
                timers.move(conn, ExpireOrder(order_number=order_number).unique_key, run_at=expires_at + EXPIRY_GRACE)
            started = repository.open_next(conn, order.id, gateway=gateway)
            if started is None:
                raise OrderNotPayable(order_number, order.status)
    return started


def _leave(
    order_number: OrderNumber, started: StartedAttempt, *, database: Database, gateways: Gateways, publisher: Publisher
) -> None:
    """Close an attempt whose reference is taken: a page of it may be with the customer, who may have paid there."""
    outcome = close(
        order_number, started.gateway, started.attempt, database=database, gateways=gateways, publisher=publisher
    )
    if outcome is Closing.PAID:
        raise OrderMaybePaid(order_number)
    if outcome is Closing.UNDER_WAY:
        raise PaymentUnderWay(order_number)
    with database.connection() as conn:
        repository.close(conn, started.attempt)
    logger.warning(
        "payment.reference_taken",
        order_number=order_number,
        attempt_no=started.attempt.attempt_no,
        gateway=started.gateway,
        outcome=outcome,
    )


def _keep(order_number: OrderNumber, started: StartedAttempt, redirect_url: str, *, database: Database) -> PaymentStart:
    with database.connection() as conn:
        redirect_url, status = repository.keep_url(conn, started.attempt, redirect_url)
    if status is not OrderStatus.PENDING:
        # Cancelled meanwhile: whoever pays all the same gets the money back.
        raise OrderNotPayable(order_number, status)
    logger.info(
        "payment.started", order_number=order_number, attempt_no=started.attempt.attempt_no, gateway=started.gateway
    )
    return PaymentStart(redirect_url, started.attempt.expires_at)
