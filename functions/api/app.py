"""The HTTP API: routes, limits, and what each error means to a client."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from api import errors, problems
from api.body import check_size, read_bytes, read_json
from api.event import HttpEvent, read_event, request_id_of
from api.identity import customer_of
from api.problems import ProblemType, problem
from api.route import Request, Route
from api.router import Router
from api.routes import cart, health, invoices, orders, payments, products
from api.schemas import Query
from api.validation import read_path, read_query, validated
from skincare.app import App
from skincare.carts.errors import CartFull
from skincare.catalog.errors import ProductUnknown
from skincare.database.connection import LockUnavailable
from skincare.errors import ConfigurationError, InvalidInput, TransientError
from skincare.invoices.errors import InvoiceUnknown
from skincare.observability import describe, logger, start_invocation, trace
from skincare.orders import errors as order_errors
from skincare.payments import errors as payment_errors

ROUTES: tuple[Route[Any, Any], ...] = (
    *health.ROUTES,
    *products.ROUTES,
    *cart.ROUTES,
    *orders.ROUTES,
    *invoices.ROUTES,
    *payments.ROUTES,
)


@dataclass(frozen=True)
class Meaning:
    """What an error is to a client; `members` are added to the problem, `headers` to the answer."""

    problem: ProblemType
    members: Callable[[Any], Mapping[str, Any]] = lambda _: {}
    headers: Callable[[Any], Mapping[str, str]] = lambda _: {}


def _own_words(error: Exception) -> dict[str, str]:
    return {"detail": f"{str(error)[:1].upper()}{str(error)[1:]}."}


def _retry_after(error: TransientError) -> dict[str, str]:
    wait = error.retry_after.total_seconds() if error.retry_after else 1
    return {"retry-after": str(max(1, round(wait)))}


def _at_idempotency_key(error: Exception) -> dict[str, Any]:
    return {"errors": (errors.FieldError("/headers/idempotency-key", str(error)),)}


# The class that is nearest in an error's ancestry decides.
MEANINGS: dict[type[Exception], Meaning] = {
    errors.RequestMalformed: Meaning(problems.REQUEST_MALFORMED, _own_words),
    errors.IdempotencyKeyMissing: Meaning(problems.IDEMPOTENCY_KEY_MISSING, _at_idempotency_key),
    errors.IdempotencyKeyInvalid: Meaning(problems.IDEMPOTENCY_KEY_INVALID, _at_idempotency_key),
    errors.Unauthenticated: Meaning(problems.UNAUTHENTICATED, headers=lambda _: {"www-authenticate": "Bearer"}),
    errors.RouteUnknown: Meaning(problems.ROUTE_UNKNOWN),
    payment_errors.WebhookMalformed: Meaning(problems.REQUEST_MALFORMED, _own_words),
    payment_errors.SignatureInvalid: Meaning(problems.SIGNATURE_INVALID, _own_words),
    payment_errors.GatewayUnknown: Meaning(problems.GATEWAY_UNKNOWN),
    ProductUnknown: Meaning(problems.PRODUCT_UNKNOWN),
    order_errors.OrderUnknown: Meaning(problems.ORDER_UNKNOWN),
    InvoiceUnknown: Meaning(problems.INVOICE_UNKNOWN),
    errors.MethodNotAllowed: Meaning(
        problems.METHOD_NOT_ALLOWED, headers=lambda error: {"allow": ", ".join(error.allowed)}
    ),
    order_errors.CartEmpty: Meaning(problems.CART_EMPTY),
    CartFull: Meaning(problems.CART_FULL),
    order_errors.CartAlreadyOrdered: Meaning(
        problems.CART_ALREADY_ORDERED,
        lambda error: {"order_number": error.order_number, "link": f"/v1/orders/{error.order_number}"},
    ),
    order_errors.TooManyOpenOrders: Meaning(
        problems.TOO_MANY_OPEN_ORDERS,
        lambda error: {
            "open": len(error.order_numbers),
            "limit": error.limit,
            "order_numbers": error.order_numbers,
        },
    ),
    order_errors.PurchaseLimitExceeded: Meaning(problems.PURCHASE_LIMIT_EXCEEDED, lambda error: {"items": error.items}),
    order_errors.OutOfStock: Meaning(problems.OUT_OF_STOCK, lambda error: {"items": error.items}),
    order_errors.PriceChanged: Meaning(problems.PRICE_CHANGED, lambda error: {"total_rupiah": error.total_rupiah}),
    order_errors.OrderNotCancellable: Meaning(
        problems.ORDER_NOT_CANCELLABLE, lambda error: {"order_status": error.status}
    ),
    payment_errors.OrderNotPayable: Meaning(problems.ORDER_NOT_PAYABLE, lambda error: {"order_status": error.status}),
    payment_errors.GatewayRefused: Meaning(problems.PAYMENT_REFUSED),
    order_errors.CheckoutOvertaken: Meaning(problems.CONCURRENT_REQUEST, headers=_retry_after),
    LockUnavailable: Meaning(problems.CONCURRENT_REQUEST, headers=_retry_after),
    errors.BodyTooLarge: Meaning(problems.BODY_TOO_LARGE),
    errors.MediaTypeUnsupported: Meaning(problems.MEDIA_TYPE_UNSUPPORTED),
    errors.RequestInvalid: Meaning(problems.VALIDATION_FAILED, lambda error: {"errors": error.errors}),
    InvalidInput: Meaning(
        problems.VALIDATION_FAILED, lambda error: {"errors": (errors.FieldError(error.field, error.message),)}
    ),
    order_errors.IdempotencyKeyReused: Meaning(problems.IDEMPOTENCY_KEY_REUSED),
    TransientError: Meaning(problems.UNAVAILABLE, headers=_retry_after),
    payment_errors.GatewayNotConfigured: Meaning(problems.UNAVAILABLE, headers=lambda _: {"retry-after": "60"}),
    # A setting or a secret is missing: it comes with a deploy, and not within seconds.
    ConfigurationError: Meaning(problems.UNAVAILABLE, headers=lambda _: {"retry-after": "60"}),
    Exception: Meaning(problems.INTERNAL_ERROR),
}


ROUTER = Router(ROUTES)

HttpResponse = dict[str, Any]
"""What the gateway makes an HTTP response of: statusCode, headers with names in lower case, body, isBase64Encoded."""


def handle(event: object, context: LambdaContext, app: Callable[[], App]) -> HttpResponse:
    """Answer one event of the HTTP API. Nothing that the event holds makes it raise.

    `app` gives the container's App; where a setting is missing, every route answers 503.
    """
    started = time.perf_counter()
    request_id = request_id_of(event)
    start_invocation(request_id=request_id, aws_request_id=getattr(context, "aws_request_id", None))
    method = route = None
    try:
        container = app()
        http = read_event(event)
        method = http.method
        if http.trace_id is not None:
            logger.append_keys(trace_id=http.trace_id)
        route, parameters = ROUTER.find(http.method, http.path)
        response = _call(route, _request(route, http, parameters, request_id), container)
    except Exception as error:  # noqa: BLE001  each has a meaning to the client
        response = _refuse(error, request_id, route)
    response["headers"]["x-request-id"] = request_id
    logger.info(
        "http.request",
        method=method,
        route=None if route is None else route.path,
        status=response["statusCode"],
        duration_ms=round((time.perf_counter() - started) * 1000, 1),
    )
    return response


def _request(
    route: Route[Any, Any], event: HttpEvent, parameters: Mapping[str, str], request_id: str
) -> Request[Any, Any]:
    if not route.public:
        customer_of(event.claims)
    check_size(event)
    return Request(
        path=read_path(parameters),
        query=_query(route, event),
        body=_body(route, event),
        headers=event.headers,
        claims=event.claims,
        request_id=request_id,
        trace_id=event.trace_id,
    )


def _query(route: Route[Any, Any], event: HttpEvent) -> Any:
    found = read_query(route.query or Query, event.query_string)
    return None if route.query is None else found


def _body(route: Route[Any, Any], event: HttpEvent) -> Any:
    if route.takes_bytes:
        return read_bytes(event)
    return None if route.body is None else validated(route.body, read_json(event))


def _call(route: Route[Any, Any], request: Request[Any, Any], app: App) -> HttpResponse:
    result = route.handle(request, app)
    return _response(
        status=route.status if route.status_of is None else route.status_of(result),
        content_type="application/json",
        headers={} if route.headers is None else route.headers(result),
        body=route.answer.model_validate(result).model_dump_json(),
    )


def _refuse(error: Exception, request_id: str, route: Route[Any, Any] | None) -> HttpResponse:
    meaning = next(MEANINGS[ancestor] for ancestor in type(error).__mro__ if ancestor in MEANINGS)
    if meaning.problem is problems.INTERNAL_ERROR:
        logger.error("http.error", error=describe(error), frames=trace(error))
    elif isinstance(error, ConfigurationError):
        logger.error("http.misconfigured", error=describe(error))
    elif meaning.problem is problems.UNAVAILABLE:
        logger.warning("http.unavailable", error=describe(error))
    members = {} if route is None else {"detail": route.detail_of(meaning.problem)}
    members |= meaning.members(error)
    return _response(
        status=meaning.problem.status,
        content_type=problems.CONTENT_TYPE,
        headers=meaning.headers(error),
        body=problem(meaning.problem, request_id, **members).model_dump_json(exclude_none=True),
    )


def _response(*, status: int, content_type: str, headers: Mapping[str, str], body: str) -> HttpResponse:
    return {
        "statusCode": status,
        "headers": {"content-type": content_type, **headers},
        "body": body,
        "isBase64Encoded": False,
    }
