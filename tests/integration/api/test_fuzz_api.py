"""Hundreds of requests, fitting and unfitting, through the gateway: no 5xx, and every answer is as documented."""

import json
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import hypothesis
import psycopg
import pytest
import schemathesis
from aws_lambda_powertools.utilities.typing import LambdaContext
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from psycopg import Connection
from pydantic import BaseModel
from schemathesis import Case, GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from api.app import ROUTES, handle
from api.openapi import document
from api.problems import SIGNATURE_INVALID, VALIDATION_FAILED
from api.route import Route
from emulator.gateway.gateway import Gateway
from emulator.gateway.tokens import new_signing_key
from emulator.log.logbook import LogBook
from local.http_api import http_api
from local.tokens import token_issuer
from skincare.app import App
from skincare.pages import encode_cursor
from tests.support.factories import make_order, make_product, pay
from tests.support.http import FakeContext, open_app
from tests.support.randomness import Times

MOST_ROUNDS = 10
PRICES = {"min_price_rupiah", "max_price_rupiah"}
SKUS = ("SERUM-1", "SERUM-2")
# Every request has a token: without one nothing but 401 would be seen.
CONFIG = schemathesis.Config.from_dict({"generation": {"with-security-parameters": False}})
USER = "buyer@example.com"
TOKENS = token_issuer(new_signing_key())


class ApiFunction:
    """Answers in this process, and keeps what was answered."""

    def __init__(self, app: App) -> None:
        self._app = app

    def invoke(self, payload: bytes, *, timeout: timedelta, trace_id: str | None = None) -> bytes:
        return json.dumps(handle(json.loads(payload), cast(LambdaContext, FakeContext()), lambda: self._app)).encode()


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _takes_nothing(route: Route[Any, Any]) -> bool:
    """Whether a request has no part that its schema could be held against."""
    return "{" not in route.path and route.query is None and not issubclass(route.body or bytes, BaseModel)


class Fuzzer:
    """The whole API with a few products and orders in it, so that many requests find what they ask for."""

    def __init__(self, app: App, log: LogBook, conn: Connection) -> None:
        gateway = Gateway(
            ApiFunction(app), api=http_api(), tokens=TOKENS, missing=list, mails=list, page=lambda _: None, log=log
        )
        gateway.open.set()
        self.schema = schemathesis.openapi.from_dict(document(), config=CONFIG)
        self.schema.app = gateway
        self._conn = conn
        self.headers = {"Authorization": f"Bearer {TOKENS.issue(USER, expires_in=timedelta(hours=1))}"}
        self.answered: dict[str, set[int]] = {}

    def cases(self, mode: GenerationMode) -> st.SearchStrategy[Case[Any]]:
        self._renew()
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
                # Nor that these are of the list without a search.
                made.query = {name: made.query[name] for name in made.query if name in {"cursor", "limit"}}
            if positive and PRICES <= made.query.keys():
                # Nor that one number is not below another.
                lowest, highest = sorted((made.query[name] for name in PRICES), key=int)
                made.query |= {"min_price_rupiah": lowest, "max_price_rupiah": highest}
            if positive and isinstance(made.body, dict):
                # JSON Schema takes 2.0 for an integer, and we do not.
                made.body = {name: _whole(value) for name, value in made.body.items()}
            return made

        return case()

    def _renew(self) -> None:
        """Have a paid order and two that are not: requests cancel them, and then nobody could pay any."""
        user = TOKENS.claims(self.headers["Authorization"])["sub"]
        unpaid = self._conn.execute("SELECT order_number FROM orders WHERE status = 'pending'").fetchall()
        for (number,) in unpaid:
            pay(self._conn, number)
        numbers = [make_order(self._conn, user_id=user).order.order_number for _ in range(3)]
        pay(self._conn, numbers[0])
        self.known = {"sku": SKUS, "order_number": tuple(numbers)}
        self.cursors = {
            "/v1/products": [encode_cursor(key) for key in SKUS],
            "/v1/orders": [encode_cursor(key) for key in numbers],
        }

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
def rounds(times: Times, random_seed: int) -> range:
    """The seed of each round."""
    return range(random_seed, random_seed + times(short=2, long=10))


@pytest.fixture
def fuzzer(database_url: str, tmp_path: Path) -> Iterator[Fuzzer]:
    log = LogBook(tmp_path, None)
    with psycopg.connect(database_url, autocommit=True) as conn, open_app(database_url) as app:
        for sku in SKUS:
            make_product(conn, sku=sku, stock=100_000)
        yield Fuzzer(app, log, conn)
    log.close()


def run(fuzzer: Fuzzer, mode: GenerationMode, rounds: Iterable[int], covered: Callable[[], bool]) -> None:
    """Send a hundred requests in each round, and at most ten rounds more until all that must be is covered."""
    for number in rounds:
        _send_a_hundred(fuzzer, mode, seed=number)
    for number in range(MOST_ROUNDS):
        if covered():
            break
        _send_a_hundred(fuzzer, mode, seed=-1 - number)


def _send_a_hundred(fuzzer: Fuzzer, mode: GenerationMode, *, seed: int) -> None:
    @hypothesis.seed(seed)
    @settings(
        max_examples=100,
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
    def test_answers_what_fits_its_document(self, fuzzer: Fuzzer, rounds: Iterable[int]) -> None:
        signed = {f"{route.method} {route.path}" for route in ROUTES if SIGNATURE_INVALID in route.all_problems}
        unsigned = {f"{route.method} {route.path}" for route in ROUTES} - signed

        def done() -> set[str]:
            return {label for label, statuses in fuzzer.answered.items() if statuses & {200, 201, 202}}

        def conflicts() -> set[int]:
            return fuzzer.answered.get("POST /v1/orders", set()) & {201, 409}

        run(fuzzer, GenerationMode.POSITIVE, rounds, lambda: done() == unsigned and len(conflicts()) == 2)
        # Every route has done what it is for, so the run was not one of refusals alone.
        assert done() == unsigned
        # Nobody hits a signature by chance.
        assert all(fuzzer.answered[label] <= {401, 404} for label in signed)
        assert conflicts() == {201, 409}

    def test_refuses_what_does_not(self, fuzzer: Fuzzer, rounds: Iterable[int]) -> None:
        refusing = {f"{route.method} {route.path}" for route in ROUTES if VALIDATION_FAILED in route.all_problems}

        def refused() -> set[str]:
            return {label for label, statuses in fuzzer.answered.items() if 422 in statuses}

        run(fuzzer, GenerationMode.NEGATIVE, rounds, lambda: refused() == refusing)
        assert refused() == refusing
