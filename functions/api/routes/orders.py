"""The caller's orders."""

from api import problems
from api.headers import idempotency_key, preferred_locale
from api.route import Request, Route
from api.schemas import OrderAnswer, OrderDetailAnswer, OrderPage, OrderRequest, PageQuery
from skincare.app import App
from skincare.observability import logger
from skincare.orders import service
from skincare.orders.activity import OrderDetail
from skincare.orders.models import Order, PlaceOrder
from skincare.orders.terms import terms_of
from skincare.pages import Page


def place_order(request: Request[OrderRequest, None], app: App) -> Order:
    """Check out the caller's cart.

    Repeated with the same `Idempotency-Key`, it answers the first order again, as it was answered first.
    """
    customer, body = request.customer, request.body
    order = service.place_order(
        PlaceOrder(
            user_id=customer.user_id,
            idempotency_key=idempotency_key(request.headers),
            email=customer.email,
            locale=preferred_locale(customer.claims.get("locale"), request.headers.get("accept-language", "")),
            request_id=request.request_id,
            trace_id=request.trace_id,
            expected_total_rupiah=body.expected_total_rupiah,
            recipient_name=body.recipient_name,
            shipping_address=body.shipping_address,
            note=body.note,
        ),
        terms=terms_of(app.settings),
        database=app.database,
        publisher=app.publisher,
    )
    logger.append_keys(order_number=order.order_number)
    return order


def list_orders(request: Request[None, PageQuery], app: App) -> Page[Order]:
    """List the caller's orders, newest first."""
    query = request.query
    return service.list_orders(request.customer.user_id, limit=query.limit, cursor=query.cursor, database=app.database)


def show_order(request: Request[None, None], app: App) -> OrderDetail:
    """Show an order with what happened for it.

    `Retry-After` says when another look may show something new; it is absent once nothing goes on.
    """
    order = service.get_order(request.customer.user_id, request.order_number, database=app.database)
    logger.append_keys(order_number=order.order_number)
    return order


def cancel_order(request: Request[None, None], app: App) -> Order:
    """Cancel an order that is not paid.

    Its stock is given back once; a cancelled order stays cancelled.
    """
    order = service.cancel_order(
        request.customer.user_id,
        request.order_number,
        database=app.database,
        publisher=app.publisher,
        request_id=request.request_id,
    )
    logger.append_keys(order_number=order.order_number)
    return order


ROUTES = (
    Route[OrderRequest, None](
        "POST",
        "/v1/orders",
        place_order,
        OrderAnswer,
        status=201,
        body=OrderRequest,
        headers=lambda order: {"location": f"/v1/orders/{order.order_number}"},
        header_names=("location",),
        problems=(
            problems.IDEMPOTENCY_KEY_MISSING,
            problems.IDEMPOTENCY_KEY_INVALID,
            problems.IDEMPOTENCY_KEY_REUSED,
            problems.CONCURRENT_REQUEST,
            problems.CART_EMPTY,
            problems.CART_FULL,
            problems.CART_ALREADY_ORDERED,
            problems.TOO_MANY_OPEN_ORDERS,
            problems.PURCHASE_LIMIT_EXCEEDED,
            problems.OUT_OF_STOCK,
            problems.PRICE_CHANGED,
        ),
    ),
    Route[None, PageQuery]("GET", "/v1/orders", list_orders, OrderPage, query=PageQuery),
    Route[None, None](
        "GET",
        "/v1/orders/{order_number}",
        show_order,
        OrderDetailAnswer,
        headers=lambda order: {} if order.retry_after_s is None else {"retry-after": str(order.retry_after_s)},
        header_names=("retry-after",),
        problems=(problems.ORDER_UNKNOWN,),
    ),
    Route[None, None](
        "POST",
        "/v1/orders/{order_number}/cancel",
        cancel_order,
        OrderAnswer,
        problems=(problems.ORDER_UNKNOWN, problems.ORDER_NOT_CANCELLABLE, problems.CONCURRENT_REQUEST),
    ),
)
