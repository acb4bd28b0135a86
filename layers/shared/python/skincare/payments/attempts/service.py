"""Sending a customer to a gateway, to one page at a time."""

from collections.abc import Mapping
from datetime import timedelta

from skincare.database.connection import Database
from skincare.errors import ConfigurationError
from skincare.identifiers import OrderNumber, UserId
from skincare.jobs.catalog import ExpireOrder
from skincare.jobs.repository import timers
from skincare.observability import logger
from skincare.orders.errors import OrderUnknown
from skincare.orders.models import OrderStatus
from skincare.orders.terms import EXPIRY_GRACE
from skincare.payments.attempts import repository
from skincare.payments.attempts.models import PaymentStart
from skincare.payments.errors import OrderNotPayable
from skincare.payments.ports import GatewayClient


def start_payment(
    user_id: UserId,
    order_number: OrderNumber,
    *,
    gateway: str,
    window: timedelta | None,
    database: Database,
    gateways: Mapping[str, GatewayClient],
) -> PaymentStart:
    """Return where the caller pays a pending order: at the open attempt, or at a new one at `gateway`.

    `window` is how long after the checkout one may pay in the way that the caller has chosen, None for the order's own
    time. With a new attempt the order gets that much, where it has less; an open one stays as it is.

    Nothing is locked while the gateway is asked. Whoever repeats the call after a crash or at the same time asks
    for the same attempt, which never makes a second debt. Raises `OrderUnknown`, `OrderNotPayable`, and the
    errors of the client.
    """
    with database.connection() as conn, conn.transaction():
        order = repository.lock_order(conn, user_id, order_number)
        if order is None:
            raise OrderUnknown
        if order.status is not OrderStatus.PENDING or order.is_late:
            raise OrderNotPayable(order_number, order.status)
        started = repository.find_open(conn, order.id)
        if started is None:
            # Looked for first: an attempt at a gateway that nobody can ask would be in the way until its time is over.
            _client(gateway, gateways)
            if window is not None and (expires_at := repository.extend(conn, order.id, window=window)):
                timers.move(conn, ExpireOrder(order_number=order_number).unique_key, run_at=expires_at + EXPIRY_GRACE)
            started = repository.open_next(conn, order.id, gateway=gateway)
            if started is None:
                raise OrderNotPayable(order_number, order.status)
    if started.redirect_url is not None:
        return PaymentStart(started.redirect_url, started.attempt.expires_at)
    redirect_url = _client(started.gateway, gateways).start(started.attempt)
    with database.connection() as conn:
        redirect_url, status = repository.keep_url(conn, started.attempt, redirect_url)
    if status is not OrderStatus.PENDING:
        # Cancelled meanwhile: whoever pays all the same gets the money back.
        raise OrderNotPayable(order_number, status)
    logger.info(
        "payment.started", order_number=order_number, attempt_no=started.attempt.attempt_no, gateway=started.gateway
    )
    return PaymentStart(redirect_url, started.attempt.expires_at)


def _client(gateway: str, gateways: Mapping[str, GatewayClient]) -> GatewayClient:
    try:
        return gateways[gateway]
    except KeyError:
        raise ConfigurationError(f"the environment variable GATEWAY_URL_{gateway.upper()} is not set") from None
