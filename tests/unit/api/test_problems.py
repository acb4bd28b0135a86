"""Every error is a problem document: the right status, no internals, and a request id that leads to the log."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from api import problems
from api.app import ROUTES
from api.route import Route
from skincare.database.connection import DatabaseUnavailable, LockUnavailable
from skincare.errors import PermanentError, TransientError
from skincare.identifiers import OrderNumber
from skincare.orders.activity import OrderDetail
from skincare.orders.models import OrderStatus
from tests.support.http import Client, call, http_event, make_app
from tests.support.log import RecordedLog, recorded_log

PATHS = sorted({route.path for route in ROUTES})
SECRET = "canary-7f3a"


@pytest.fixture
def log() -> Iterator[RecordedLog]:
    with recorded_log() as recorded:
        yield recorded


class TestTheTable:
    def test_gives_every_problem_one_status_and_a_code_of_its_own(self) -> None:
        assert len({kind.code for kind in problems.EVERY}) == len(problems.EVERY)
        assert all(400 <= kind.status < 600 for kind in problems.EVERY)

    def test_gives_each_class_of_error_one_meaning(self) -> None:
        classes = [error for kind in problems.EVERY for error in kind.errors]
        assert len(classes) == len(set(classes))
        assert all(kind.errors for kind in problems.EVERY)


class TestAPathThatIsUnknown:
    @pytest.mark.parametrize("path", ["/", "/v2/orders", "/v1", "/v1/order", "/health/db", "/v1/orders/a/b", "/docs"])
    def test_is_404(self, path: str) -> None:
        answer = Client(make_app(), "user").get(path)
        assert (answer.status, answer.code) == (404, "route_unknown")

    def test_is_not_echoed(self) -> None:
        assert SECRET not in Client(make_app()).get(f"/{SECRET}").text


class TestAWrongMethod:
    @pytest.mark.parametrize("path", PATHS)
    def test_is_told_the_right_ones(self, path: str) -> None:
        expected = ", ".join(sorted(route.method for route in ROUTES if route.path == path))
        answer = Client(make_app(), "user").request("PATCH", path.replace("{", "").replace("}", ""))
        assert (answer.status, answer.code, answer.headers["allow"]) == (405, "method_not_allowed", expected)

    def test_is_wrong_before_the_token_is_looked_at(self) -> None:
        assert Client(make_app()).request("DELETE", "/v1/cart").status == 405


class TestAServiceThatIsDown:
    @pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
    def test_speaks_of_an_idempotency_key_only_where_one_is_taken(self, route: Route[Any, Any]) -> None:
        reported = [route.detail_of(kind) for kind in route.all_problems if kind in problems.REPEATABLE]
        keyed = problems.IDEMPOTENCY_KEY_MISSING in route.all_problems
        assert reported
        assert all(("Idempotency-Key" in detail) == keyed for detail in reported)

    def test_is_told_so_in_the_answer(self) -> None:
        products, order = Client(make_app()).get("/v1/products"), Client(make_app(), "user").order()
        assert (products.status, products.body["detail"]) == (503, "Repeat the request shortly.")
        assert (order.status, order.body["detail"]) == (
            503,
            "Repeat the request shortly. Send the same Idempotency-Key.",
        )


class TestARequestWithoutAUsableToken:
    @pytest.mark.parametrize(
        "claims",
        [
            None,
            {},
            {"sub": ""},
            {"sub": None},
            {"sub": 7},
            {"sub": ["a"]},
            {"sub": "a\x00"},
            {"sub": "x" * 256},
            {"sub": "\ud800"},
        ],
    )
    @pytest.mark.parametrize(
        "route", [route for route in ROUTES if not route.public], ids=lambda route: f"{route.method} {route.path}"
    )
    def test_is_401_on_every_route_that_needs_one(
        self, route: Route[Any, Any], claims: dict[str, object] | None
    ) -> None:
        event = http_event(route.method, route.path.replace("{", "").replace("}", ""), body={}, claims=claims)
        answer = call(make_app(), event)
        assert (answer.status, answer.code, answer.headers["www-authenticate"]) == (401, "unauthenticated", "Bearer")

    @pytest.mark.parametrize(
        "authorizer", [None, [], "x", {"jwt": None}, {"jwt": {"claims": []}}, {"lambda": {"sub": "a"}}]
    )
    def test_is_401_whatever_the_authorizer_left_behind(self, authorizer: object) -> None:
        event = http_event("GET", "/v1/cart")
        event["requestContext"]["authorizer"] = authorizer
        assert call(make_app(), event).status == 401

    def test_does_not_need_one_to_look_around(self) -> None:
        assert Client(make_app()).get("/v1/products").status == 503


class TestAnErrorOfOurs:
    @pytest.mark.parametrize(
        ("error", "status", "code", "retry_after"),
        [
            (LockUnavailable(), 409, "concurrent_request", "1"),
            (DatabaseUnavailable(psycopg.OperationalError(SECRET)), 503, "unavailable", "1"),
            (TransientError(SECRET, retry_after=timedelta(seconds=7)), 503, "unavailable", "7"),
            (TransientError(SECRET, retry_after=timedelta(milliseconds=3)), 503, "unavailable", "1"),
            (PermanentError(SECRET), 500, "internal_error", None),
            (KeyError(SECRET), 500, "internal_error", None),
            (RecursionError(SECRET), 500, "internal_error", None),
            (psycopg.DataError(SECRET), 500, "internal_error", None),
        ],
        ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
    )
    def test_has_its_status_and_no_internals(
        self,
        error: Exception,
        status: int,
        code: str,
        retry_after: str | None,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        def fail(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr("skincare.carts.service.put_item", fail)
        answer = Client(make_app(), "user").put_item("A")
        assert (answer.status, answer.code, answer.headers.get("retry-after")) == (status, code, retry_after)
        assert SECRET not in answer.text
        assert "Traceback" not in answer.text


class TestTheDatabaseBeingAway:
    @pytest.mark.parametrize(
        "route",
        # What a gateway did not sign never gets as far as the database.
        [route for route in ROUTES if not route.takes_bytes],
        ids=lambda route: f"{route.method} {route.path}",
    )
    def test_is_503_with_a_time_to_come_back_on_every_route(self, route: Route[Any, Any]) -> None:
        bodies = {"PUT": {"quantity": 1}, "POST": {}}
        client = Client(make_app(), "user")
        path = route.path.replace("{", "").replace("}", "")
        query = "q=serum" if path.endswith("/suggest") else ""
        answer = client.request(
            route.method, path, query=query, body=bodies.get(route.method), headers={"idempotency-key": "k"}
        )
        assert (answer.status, answer.code, answer.headers["retry-after"]) == (503, "unavailable", "1")


class TestTheLog:
    def test_has_one_line_for_each_request(self, log: RecordedLog) -> None:
        answer = Client(make_app(), "user").request("PATCH", f"/v1/products/{SECRET}", query=f"q={SECRET}")
        (line,) = log.lines
        assert line["request_id"] == answer.headers["x-request-id"]
        assert (line["message"], line["method"], line["status"]) == ("http.request", "PATCH", 405)
        assert isinstance(line["duration_ms"], float)
        assert SECRET not in json.dumps(line)

    def test_knows_the_route_by_its_template(self, log: RecordedLog) -> None:
        Client(make_app(), "user").put_item(SECRET, 0)
        (line,) = log.lines
        assert (line["route"], line["status"]) == ("/v1/cart/items/{sku}", 422)

    def test_tells_where_an_unforeseen_error_came_from_and_not_what_it_said(
        self, monkeypatch: pytest.MonkeyPatch, log: RecordedLog
    ) -> None:
        def fail(*_: object, **__: object) -> None:
            raise ValueError(SECRET)

        monkeypatch.setattr("skincare.carts.service.get_cart", fail)
        answer = Client(make_app(), "user").get("/v1/cart")
        error, request = log.lines
        assert (error["level"], error["message"], error["request_id"]) == (
            "ERROR",
            "http.error",
            answer.body["request_id"],
        )
        assert "ValueError" in error["error"]
        assert any("routes/cart.py" in frame for frame in error["frames"])
        assert SECRET not in json.dumps([error, request])

    def test_forgets_the_request_before(self, monkeypatch: pytest.MonkeyPatch, log: RecordedLog) -> None:
        number = OrderNumber("SKN-00000-00007")
        order = OrderDetail(number, OrderStatus.PAID, 1, datetime.now(UTC), None, (), activity=(), retry_after_s=None)
        monkeypatch.setattr("skincare.orders.service.get_order", lambda *_, **__: order)
        client = Client(make_app(), "user")
        client.get("/v1/orders/SKN-00000-00007")
        monkeypatch.undo()
        client.get("/v1/orders/SKN-00000-00008")
        *first, failing, last = log.lines
        assert {line["order_number"] for line in first} == {"SKN-00000-00007"}
        for line in (failing, last):
            assert "order_number" not in line
            assert line["service"] == "skincare"
            assert line["request_id"] != first[0]["request_id"]
            assert line["aws_request_id"] == "invocation-1"
