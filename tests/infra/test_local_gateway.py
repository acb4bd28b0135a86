"""The local gateway lets through what the HTTP API of every stage would: the templates are held against it."""

import itertools
import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from werkzeug.test import Client

from emulator.gateway.gateway import Gateway
from emulator.gateway.tokens import new_signing_key
from emulator.log.logbook import LogBook
from local.http_api import http_api
from local.tokens import token_issuer
from skincare.deployment.http import HTTP
from tests.infra.templates import Templates

TOKENS = token_issuer(new_signing_key())
STRANGERS = token_issuer(new_signing_key())
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
SEGMENTS = ("v1", "products", "orders", "cart", "items", "payments", "webhook", "health", "")
KNOWN = (
    "/health",
    "/v1/cart/items/A",
    "/v1/orders/SKN-1/cancel",
    "/v1/orders/SKN-1/invoice",
    "/v1/orders/SKN-1/payment",
    "/v1/payments/webhook/midtrans",
    "/V1/products",
)
AUTHORIZATIONS = {
    "none": None,
    "valid": f"Bearer {TOKENS.issue('buyer@example.com', expires_in=timedelta(hours=1))}",
    "expired": f"Bearer {TOKENS.issue('buyer@example.com', expires_in=timedelta(seconds=-1))}",
    "another issuer's": f"Bearer {STRANGERS.issue('buyer@example.com', expires_in=timedelta(hours=1))}",
    "another scheme": "Basic YTpi",
}
PREFLIGHT = {"Access-Control-Request-Method": "POST"}


class SayHello:
    def invoke(self, payload: bytes, *, timeout: timedelta, trace_id: str | None = None) -> bytes:
        return b'{"statusCode": 200, "body": "hello"}'


def paths() -> Iterator[str]:
    yield "/"
    for length in (1, 2):
        # A path that begins with two slashes is a host's name to a client.
        yield from ("/" + "/".join(parts) for parts in itertools.product(SEGMENTS, repeat=length) if parts[0])
    yield from ("/v1/" + "/".join(parts) for parts in itertools.product(SEGMENTS, repeat=2))
    yield from KNOWN
    yield from (f"{path}/" for path in KNOWN)


type Question = tuple[str, str, str, bool]
"""Method, path, authorization and whether it is a preflight."""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[Question, int]:
    """What the local gateway answers."""
    log = LogBook(tmp_path_factory.mktemp("logs"), None)
    gateway = Gateway(SayHello(), api=http_api(), tokens=TOKENS, missing=list, mails=list, log=log)
    gateway.open.set()
    client = Client(gateway)
    found = {}
    for method, path, (name, authorization) in itertools.product(METHODS, paths(), AUTHORIZATIONS.items()):
        for preflight in (False, True) if method == "OPTIONS" else (False,):
            headers = {"Authorization": authorization} if authorization else {}
            headers |= {"Origin": HTTP.cors.allow_origins[0], **PREFLIGHT} if preflight else {}
            answer = client.open(path, method=method, headers=headers, base_url="http://127.0.0.1:8000")
            found[method, path, name, preflight] = answer.status_code
    log.close()
    return found


class Deployed:
    """What API Gateway would answer, by the routes and authorizers of a template.

    https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-routes.html and …/http-api-cors.html:
    a route first, then its authorizer; a preflight is answered where no route matches.
    """

    def __init__(self, templates: Templates) -> None:
        self._routes = [
            (_pattern(route.properties["RouteKey"]), route.properties["AuthorizationType"] != "NONE")
            for route in templates.of("AWS::ApiGatewayV2::Route")
        ]
        (api,) = templates.of("AWS::ApiGatewayV2::Api")
        self.cors = api.properties["CorsConfiguration"]

    def status(self, method: str, path: str, *, authorized: bool, preflight: bool) -> int:
        found = [needs_token for pattern, needs_token in self._routes if pattern.fullmatch(f"{method} {path}")]
        if not found:
            return 204 if method == "OPTIONS" and preflight else 404
        # Every stage has one route at most for a method and a path.
        (needs_token,) = found
        return 401 if needs_token and not authorized else 200


def _pattern(key: str) -> re.Pattern[str]:
    if key == "$default":
        return re.compile(r"\S+ .*")
    method, path = key.split(" ")
    return re.compile((r"\S+" if method == "ANY" else method) + " " + re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path)))


def test_every_method_path_and_token_is_answered_as_by_the_template(
    templates: Templates, answers: dict[Question, int]
) -> None:
    deployed = Deployed(templates)
    expected = {
        (method, path, name, preflight): deployed.status(method, path, authorized=name == "valid", preflight=preflight)
        for method, path, name, preflight in answers
    }
    assert {question: status for question, status in answers.items() if status != expected[question]} == {}
    assert set(expected.values()) == {200, 204, 401, 404}


def test_no_route_with_an_authorizer_matches_a_preflight(templates: Templates) -> None:
    for path in paths():
        assert Deployed(templates).status("OPTIONS", path, authorized=False, preflight=True) == 204
