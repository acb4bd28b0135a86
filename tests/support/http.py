"""The HTTP API as tests use it: events of payload format 2.0 in, checked answers out.

Every answer is held to what the gateway needs and to what its route declares.
"""

import base64
import contextlib
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from aws_lambda_powertools.utilities.typing import LambdaContext

from api import problems
from api.app import ROUTES, handle
from api.errors import RequestMalformed
from api.event import read_event
from api.problem import CONTENT_TYPE, Problem
from api.route import Route
from skincare.app import App
from skincare.database.connection import Database, StaticCredentials
from skincare.jobs.models import DueJob
from skincare.jobs.publisher import Publisher
from tests.fakes.email import FakeEmailSender
from tests.fakes.gateway_client import FakeGatewayClient
from tests.fakes.object_store import FakeObjectStore
from tests.support.factories import make_settings
from tests.support.webhooks import SECRETS, FixedSecrets

NOWHERE = "postgresql://nobody@127.0.0.1:1/none"
"""A database that nobody answers for: a test that should not reach it gets 503."""

_numbers = itertools.count(1)
_OUTSIDE_OF_ROUTES = {problems.REQUEST_MALFORMED, problems.ROUTE_UNKNOWN, problems.METHOD_NOT_ALLOWED}


class RecordingPublisher(Publisher):
    """Keeps what it is asked to publish and sends nothing."""

    def __init__(self) -> None:
        self.jobs: list[DueJob] = []

    def publish_now(self, jobs: Sequence[DueJob], *, taken: bool = False) -> None:
        self.jobs.extend(jobs)


def make_app(database_url: str = NOWHERE, *, publisher: Publisher | None = None, max_connections: int = 1) -> App:
    """An App around one database; without a URL it has none."""
    return App(
        settings=make_settings(
            database_url, PAYMENT_GATEWAY="standard_webhooks", OPEN_ORDER_LIMIT="1000", OPEN_UNIT_LIMIT="100000"
        ),
        database=Database(StaticCredentials(database_url), max_connections=max_connections),
        queues={},
        publisher=publisher or RecordingPublisher(),
        email=FakeEmailSender(),
        webhook_secrets=FixedSecrets({gateway: (secret,) for gateway, secret in SECRETS.items()}),
        gateways={name: FakeGatewayClient(name) for name in ("standard_webhooks", "midtrans", "xendit")},
        files=FakeObjectStore(),
    )


@contextlib.contextmanager
def open_app(database_url: str, *, publisher: Publisher | None = None, max_connections: int = 1) -> Iterator[App]:
    """An App whose connections are closed at the end."""
    app = make_app(database_url, publisher=publisher, max_connections=max_connections)
    try:
        yield app
    finally:
        app.database.close()


def http_event(
    method: str,
    path: str,
    *,
    body: object = None,
    headers: Mapping[str, str] | None = None,
    claims: Mapping[str, object] | None = None,
    query: str = "",
    in_base64: bool = False,
    **changes: Any,
) -> dict[str, Any]:
    """An event as API Gateway makes it. A `body` that is not text becomes JSON; `changes` replace members."""
    number = next(_numbers)
    text = body if body is None or isinstance(body, str) else json.dumps(body)
    if in_base64 and text is not None:
        text = base64.b64encode(text.encode()).decode()
    context: dict[str, Any] = {
        "http": {
            "method": method,
            "path": path,
            "protocol": "HTTP/1.1",
            "sourceIp": "203.0.113.9",
            "userAgent": "tests",
        },
        "stage": "$default",
        "requestId": f"request-{number}=",
        "routeKey": "$default",
        "timeEpoch": 1767225600000,
    }
    if claims is not None:
        context["authorizer"] = {"jwt": {"claims": dict(claims), "scopes": None}}
    event = {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": query,
        "headers": {"content-type": "application/json", **(headers or {})},
        "requestContext": context,
        "isBase64Encoded": in_base64,
    }
    return event | ({} if text is None else {"body": text}) | changes


@dataclass(frozen=True)
class Answer:
    """What a client gets."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def body(self) -> Any:
        return json.loads(self.text)

    @property
    def code(self) -> str:
        """The problem's code."""
        return str(self.body["code"])

    @property
    def pointers(self) -> list[str]:
        """The fields that the problem names."""
        return [error["pointer"] for error in self.body.get("errors", [])]


class FakeContext:
    aws_request_id = "invocation-1"


def call(app: App, event: object) -> Answer:
    """Let the handler answer, and check the answer against the gateway's format and the route's declaration."""
    raw = handle(event, cast(LambdaContext, FakeContext()), lambda: app)
    assert raw["isBase64Encoded"] is False
    assert isinstance(raw["statusCode"], int)
    assert all(isinstance(value, str) for value in raw["headers"].values())
    json.dumps(raw).encode()
    answer = Answer(raw["statusCode"], {name.lower(): value for name, value in raw["headers"].items()}, raw["body"])
    assert answer.headers["x-request-id"]
    _check(answer, _route_of(event))
    return answer


class Client:
    """A customer with a token, or a visitor without one."""

    def __init__(self, app: App, user_id: str | None = None, **claims: object) -> None:
        self.app = app
        self.claims = None if user_id is None else {"sub": user_id, "email": "buyer@example.com"} | claims

    def request(self, method: str, path: str, **parts: Any) -> Answer:
        return call(self.app, http_event(method, path, **({"claims": self.claims} | parts)))

    def get(self, path: str, query: str = "") -> Answer:
        return self.request("GET", path, query=query)

    def put_item(self, sku: str, quantity: object = 1) -> Answer:
        return self.request("PUT", f"/v1/cart/items/{sku}", body={"quantity": quantity})

    def order(self, key: str | None = None, body: object = None, **parts: Any) -> Answer:
        """Check out; each call has its own key unless it is given one."""
        headers = {"idempotency-key": key or f"key-{next(_numbers)}"}
        return self.request("POST", "/v1/orders", body={} if body is None else body, headers=headers, **parts)

    def cancel(self, order_number: str) -> Answer:
        return self.request("POST", f"/v1/orders/{order_number}/cancel")


def _route_of(event: object) -> Route[Any, Any] | None:
    try:
        request = read_event(event)
    except RequestMalformed:
        return None
    return next(
        (
            route
            for route in ROUTES
            if route.method == request.method and re.fullmatch(re.sub(r"{\w+}", "[^/]+", route.path), request.path)
        ),
        None,
    )


def _check(answer: Answer, route: Route[Any, Any] | None) -> None:
    if answer.status < 400:
        assert route is not None
        assert answer.status in {route.status, *route.other_statuses}
        assert answer.headers["content-type"] == "application/json"
        assert set(answer.headers) <= {
            "content-type",
            "x-request-id",
            *(route.header_names if answer.status == route.status else route.other_statuses[answer.status]),
        }
        route.answer.model_validate_json(answer.text, strict=False, extra="forbid")
        return
    assert answer.headers["content-type"] == CONTENT_TYPE
    problem = Problem.model_validate(answer.body)
    assert (problem.status, problem.request_id) == (answer.status, answer.headers["x-request-id"])
    declared = _OUTSIDE_OF_ROUTES if route is None else route.all_problems
    kind = next((kind for kind in declared if kind.code == problem.code), None)
    assert kind is not None, f"{problem.code} is not declared by {route.path if route else 'any route'}"
    assert (kind.status, kind.title) == (problem.status, problem.title)
    kind.body.model_validate_json(answer.text, extra="forbid")
