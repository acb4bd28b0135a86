"""Hundreds of requests, fitting and unfitting, through the gateway: no 5xx, and every answer is as documented."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import psycopg
import pytest
import schemathesis
from aws_lambda_powertools.utilities.typing import LambdaContext
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from schemathesis import Case, GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from api.app import ROUTES, handle
from api.openapi import document
from api.problems import SIGNATURE_INVALID, VALIDATION_FAILED
from api.route import Route
from local.api_routes import api_routes
from local.gateway import Gateway
from local.logbook import LogBook
from local.tokens import TokenIssuer, new_signing_key
from skincare.app import App
from skincare.pages import encode_cursor
from tests.factories import make_order, make_product, pay
from tests.http import FakeContext, open_app
from tests.support.randomness import Times

SKUS = ("SERUM-1", "SERUM-2")
# Every request has a token: without one nothing but 401 would be seen.
CONFIG = schemathesis.Config.from_dict({"generation": {"with-security-parameters": False}})
USER = "buyer@example.com"
TOKENS = TokenIssuer(new_signing_key())


class ApiFunction:
    """Answers in this process, and keeps what was answered."""

    def __init__(self, app: App) -> None:
        self._app = app

    def invoke(self, payload: bytes, *, patience: timedelta, trace_id: str | None = None) -> bytes:
        return json.dumps(handle(json.loads(payload), cast(LambdaContext, FakeContext()), lambda: self._app)).encode()


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _takes_nothing(route: Route[Any, Any]) -> bool:
    """Whether a request has no part that its schema could be held against."""
    return "{" not in route.path and route.query is None and not issubclass(route.body or bytes, BaseModel)


class Fuzzer:
    """The whole API with a few products and orders in it, so that many requests find what they ask for."""

    def __init__(self, app: App, log: LogBook, order_numbers: tuple[str, ...]) -> None:
        gateway = Gateway(
            ApiFunction(app), routes=api_routes(), tokens=TOKENS, missing=list, mails=list, page=lambda _: None, log=log
        )
        gateway.open.set()
        self.schema = schemathesis.openapi.from_dict(document(), config=CONFIG)
        self.schema.app = gateway
        self.known = {"sku": SKUS, "order_number": order_numbers}
        self.headers = {"Authorization": f"Bearer {TOKENS.issue(USER, expires_in=timedelta(hours=1))}"}
        self.cursors = {
            "/v1/products": [encode_cursor(key) for key in SKUS],
            "/v1/orders": [encode_cursor(key) for key in order_numbers],
        }
        self.answered: dict[str, set[int]] = {}

    def cases(self, mode: GenerationMode) -> st.SearchStrategy[Case[Any]]:
        positive = mode is GenerationMode.POSITIVE
        routes = [route for route in ROUTES if positive or VALIDATION_FAILED in route.all_problems]
        # A parameter that is given is never unfitting: something else has to be.
        ways = [
            (
                route,
                [self._cases(route, mode, given) for given in self._given(route, known=positive or bool(route.body))],
            )
            for route in routes
        ]

        @st.composite
        def case(draw: st.DrawFn) -> Case[Any]:
            route, strategies = draw(st.sampled_from(ways))
            made: Case[Any] = draw(draw(st.sampled_from(strategies)))
            if not positive and _takes_nothing(route):
                # Nothing of it can be unfitting but a member of the query that nobody knows.
                made.query = {"q": "serum"}
            if positive and "cursor" in made.query:
                # No schema can tell the cursors of a list from any other text.
                made.query["cursor"] = draw(st.sampled_from(self.cursors[route.path]))
            if positive and isinstance(made.body, dict):
                # JSON Schema takes 2.0 for an integer, and we do not.
                made.body = {name: _whole(value) for name, value in made.body.items()}
            return made

        return case()

    def _given(self, route: Route[Any, Any], *, known: bool) -> list[dict[str, str]]:
        """Path parameters to give: none, and those that lead to something."""
        values = [
            (name, value) for name, values in self.known.items() if f"{{{name}}}" in route.path for value in values
        ]
        return [{}, *({name: value} for name, value in values if known)]

    def _cases(
        self, route: Route[Any, Any], mode: GenerationMode, given: dict[str, str]
    ) -> st.SearchStrategy[Case[Any]]:
        strategy: st.SearchStrategy[Case[Any]] = self.schema[route.path][route.method].as_strategy(
            generation_mode=GenerationMode.POSITIVE if _takes_nothing(route) else mode, path_parameters=given or None
        )
        return strategy

    def send(self, case: Case[Any]) -> None:
        response = case.call(headers=self.headers)
        strayed = case.query == {"q": "serum"}
        # What a key was used for before is no matter of this request's form.
        reused = b'"idempotency_key_reused"' in (response.content or b"")
        case.validate_response(
            response, headers=self.headers, excluded_checks=[positive_data_acceptance] if reused or strayed else []
        )
        assert response.headers["x-request-id"]
        self.answered.setdefault(case.operation.label, set()).add(response.status_code)


@pytest.fixture
def fuzzer(database_url: str, tmp_path: Path) -> Iterator[Fuzzer]:
    user = TOKENS.claims(f"Bearer {TOKENS.issue(USER, expires_in=timedelta(hours=1))}")["sub"]
    with psycopg.connect(database_url, autocommit=True) as conn:
        for sku in SKUS:
            make_product(conn, sku=sku, stock=100_000)
        numbers = tuple(make_order(conn, user_id=user).order.order_number for _ in range(4))
        pay(conn, numbers[0])
    log = LogBook(tmp_path, None)
    with open_app(database_url) as app:
        yield Fuzzer(app, log, numbers)
    log.close()


def run(fuzzer: Fuzzer, mode: GenerationMode, times: Times) -> None:
    @settings(
        max_examples=times(short=200, long=1000),
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=fuzzer.cases(mode))
    def fuzz(case: Case[Any]) -> None:
        fuzzer.send(case)

    fuzz()


class TestTheApi:
    def test_answers_what_fits_its_document(self, fuzzer: Fuzzer, times: Times) -> None:
        run(fuzzer, GenerationMode.POSITIVE, times)
        # Every route has done what it is for, so the run was not one of refusals alone.
        done = {label for label, statuses in fuzzer.answered.items() if statuses & {200, 201, 202}}
        signed = {f"{route.method} {route.path}" for route in ROUTES if SIGNATURE_INVALID in route.all_problems}
        assert done == {f"{route.method} {route.path}" for route in ROUTES} - signed
        # Nobody hits a signature by chance.
        assert all(fuzzer.answered[label] <= {401, 404} for label in signed)
        assert {201, 409} <= fuzzer.answered["POST /v1/orders"]

    def test_refuses_what_does_not(self, fuzzer: Fuzzer, times: Times) -> None:
        run(fuzzer, GenerationMode.NEGATIVE, times)
        refused = {label for label, statuses in fuzzer.answered.items() if 422 in statuses}
        assert refused == {
            f"{route.method} {route.path}" for route in ROUTES if VALIDATION_FAILED in route.all_problems
        }
