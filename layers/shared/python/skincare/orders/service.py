"""Placing, finding and cancelling orders."""

from skincare.carts.errors import CartFull
from skincare.carts.models import MAX_LINES
from skincare.database.connection import Database
from skincare.errors import SkincareError
from skincare.identifiers import OrderNumber, UserId, new_job_id, new_order_number
from skincare.jobs.catalog import ClosePayments, SendOrderCancelledEmail
from skincare.jobs.models import DueJob
from skincare.jobs.publisher import Publisher
from skincare.jobs.repository import outbox
from skincare.orders import repository
from skincare.orders.activity import OrderDetail
from skincare.orders.errors import (
    CartAlreadyOrdered,
    CartEmpty,
    CheckoutOvertaken,
    CheckoutRefused,
    Excess,
    OrderNotCancellable,
    OrderUnknown,
    OutOfStock,
    PriceChanged,
    PurchaseLimitExceeded,
    Shortage,
    TooManyOpenOrders,
)
from skincare.orders.models import CheckoutState, Order, OrderStatus, PlaceOrder
from skincare.orders.terms import Terms
from skincare.pages import Page, decode_cursor, page_of


def place_order(request: PlaceOrder, *, terms: Terms, database: Database, publisher: Publisher) -> Order:
    """Turn the caller's cart into an order with its job, all or nothing, and return the order.

    The same key with the same request answers the same order again. Raises the errors of
    `skincare.orders.errors`, and `LockUnavailable` while the same key or cart is being checked out.
    """
    with database.connection() as conn:
        try:
            placement = repository.place(
                conn, request, order_number=new_order_number(), job_id=new_job_id(), terms=terms
            )
        except CheckoutRefused:
            state = repository.checkout_state(conn, request.user_id)
            raise refusal(state, request.expected_total_rupiah, terms) from None
    if placement.job is not None:
        publisher.publish_now([placement.job])
    return placement.order


def refusal(state: CheckoutState, expected_total_rupiah: int | None, terms: Terms) -> SkincareError:
    """Decide why a checkout of such a cart was refused; `CheckoutOvertaken` when nothing speaks against it now."""
    if state.order_number is not None:
        return CartAlreadyOrdered(state.order_number)
    if not state.lines:
        return CartEmpty()
    if len(state.lines) > MAX_LINES:
        return CartFull()
    return _over_the_limit(state, terms) or _changed(state, expected_total_rupiah) or CheckoutOvertaken()


def _over_the_limit(state: CheckoutState, terms: Terms) -> SkincareError | None:
    if len(state.open_orders) >= terms.open_orders:
        return TooManyOpenOrders(state.open_orders, terms.open_orders)
    excesses = tuple(
        Excess(line.sku, line.quantity, max(0, terms.open_units - line.unpaid))
        for line in state.lines
        if line.quantity + line.unpaid > terms.open_units
    )
    return PurchaseLimitExceeded(excesses) if excesses else None


def _changed(state: CheckoutState, expected_total_rupiah: int | None) -> SkincareError | None:
    shortages = tuple(
        Shortage(line.sku, line.quantity, line.stock) for line in state.lines if line.quantity > line.stock
    )
    if shortages:
        return OutOfStock(shortages)
    if expected_total_rupiah is not None and state.total_rupiah > expected_total_rupiah:
        return PriceChanged(state.total_rupiah)
    return None


def get_order(user_id: UserId, order_number: OrderNumber, *, database: Database) -> OrderDetail:
    """Return the caller's order with what happened for it; raises `OrderUnknown`, also for somebody else's."""
    with database.connection() as conn:
        detail = repository.find_detail(conn, user_id, order_number)
    if detail is None:
        raise OrderUnknown
    return detail


def list_orders(user_id: UserId, *, limit: int, cursor: str | None, database: Database) -> Page[Order]:
    """Return a page of the caller's orders, newest first; raises `InvalidInput` for a foreign cursor."""
    before = None if cursor is None else OrderNumber(decode_cursor(cursor))
    with database.connection() as conn:
        orders = repository.list_before(conn, user_id, before, limit=limit + 1)
    return page_of(orders, limit=limit, key=lambda order: order.order_number)


def cancel_order(
    user_id: UserId,
    order_number: OrderNumber,
    *,
    database: Database,
    publisher: Publisher,
    request_id: str | None = None,
) -> Order:
    """Cancel the caller's order and return it; a cancelled order stays cancelled.

    With it, jobs are enqueued that say so by mail and that close its payments at their gateways.

    Raises `OrderUnknown`, and `OrderNotCancellable` once money has moved or time has run out.
    """
    jobs: list[DueJob] = []
    with database.connection() as conn:
        with conn.transaction():
            status, is_new = repository.cancel_now(conn, user_id, order_number) or (None, False)
            if is_new:
                payloads = (
                    ClosePayments(order_number=order_number),
                    SendOrderCancelledEmail(order_number=order_number),
                )
                jobs = outbox.insert_all(conn, payloads, order_number=order_number, request_id=request_id)
        if status not in {None, OrderStatus.CANCELLED}:
            raise OrderNotCancellable(order_number, str(status))
        order = repository.find(conn, user_id, order_number)
    if jobs:
        publisher.publish_now(jobs)
    if order is None:
        raise OrderUnknown
    return order
