"""The HTTP API: its routes, and how one event is answered."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from api import problems
from api.body import check_size, read_bytes, read_json
from api.event import HttpEvent, read_event, request_id_of
from api.identity import customer_of
from api.problem import CONTENT_TYPE, problem
from api.route import Request, Route
from api.router import Router
from api.routes import cart, health, invoices, orders, payments, products
from api.schemas import Query
from api.validation import read_path, read_query, validated
from skincare.app import App
from skincare.errors import ConfigurationError
from skincare.observability import describe, logger, start_invocation, trace

ROUTES: tuple[Route[Any, Any], ...] = (
    *health.ROUTES,
    *products.ROUTES,
    *cart.ROUTES,
    *orders.ROUTES,
    *invoices.ROUTES,
    *payments.ROUTES,
)


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
    kind = problems.meaning_of(error)
    if kind is problems.INTERNAL_ERROR:
        logger.error("http.error", error=describe(error), frames=trace(error))
    elif isinstance(error, ConfigurationError):
        logger.error("http.misconfigured", error=describe(error))
    elif kind is problems.UNAVAILABLE:
        logger.warning("http.unavailable", error=describe(error))
    members = {} if route is None else {"detail": route.detail_of(kind)}
    members |= kind.members(error)
    return _response(
        status=kind.status,
        content_type=CONTENT_TYPE,
        headers=kind.headers(error),
        body=problem(kind, request_id, **members).model_dump_json(exclude_none=True),
    )


def _response(*, status: int, content_type: str, headers: Mapping[str, str], body: str) -> HttpResponse:
    return {
        "statusCode": status,
        "headers": {"content-type": content_type, **headers},
        "body": body,
        "isBase64Encoded": False,
    }
