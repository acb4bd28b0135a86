import errno
import http.client
import json
import os
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client, TestResponse

from emulator.functions.function import FunctionStopped, InvocationFailed
from emulator.gateway.gateway import Gateway
from emulator.log.logbook import LogBook
from tests.emulator.example_api import API, TOKENS


class FakeFunction:
    """Answers 200, or what it was told to; keeps the events."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.answer: bytes | InvocationFailed = b'{"statusCode": 200, "body": "hello"}'
        self.may_answer = threading.Event()
        self.may_answer.set()

    def invoke(self, payload: bytes, *, timeout: timedelta, trace_id: str | None = None) -> bytes:
        self.events.append(json.loads(payload))
        self.may_answer.wait(30)
        if isinstance(self.answer, InvocationFailed):
            raise self.answer
        return self.answer


class Front:
    """A gateway with a fake function behind it and an HTTP client before it."""

    def __init__(self, folder: Path) -> None:
        self.function = FakeFunction()
        self.missing: list[str] = []
        self.mails: list[dict[str, Any]] = [{"to": "buyer@example.com"}]
        self.gateway = Gateway(
            self.function,
            api=API,
            tokens=TOKENS,
            missing=lambda: self.missing,
            mails=lambda: self.mails,
            log=LogBook(folder, None),
        )
        self.gateway.open.set()
        self._client = Client(self.gateway)

    def call(self, method: str, path: str, *, token: str | None = None, **options: Any) -> TestResponse:
        headers = options.pop("headers", {})
        if token:
            headers["Authorization"] = f"Bearer {token}"
        return self._client.open(path, method=method, headers=headers, base_url="http://127.0.0.1:8000", **options)


@pytest.fixture
def front(tmp_path: Path) -> Iterator[Front]:
    front = Front(tmp_path)
    yield front
    front.function.may_answer.set()
    front.gateway._log.close()


@pytest.fixture(scope="module")
def token() -> str:
    return TOKENS.issue("buyer@example.com", expires_in=timedelta(hours=1))


def assert_problem(response: TestResponse, status: int, code: str) -> None:
    assert response.status_code == status
    assert response.content_type == "application/problem+json"
    assert response.json is not None
    assert {name: response.json[name] for name in ("type", "status", "code")} == {
        "type": f"urn:example:problem:{code}",
        "status": status,
        "code": code,
    }
    assert response.json["instance"] == f"urn:example:request:{response.json['request_id']}"


class TestTheAuthorizer:
    def test_a_token_becomes_the_claims_of_the_event(self, front: Front, token: str) -> None:
        assert front.call("POST", "/v1/orders", token=token).get_data() == b"hello"
        [event] = front.function.events
        assert event["routeKey"] == "POST /v1/orders"
        assert event["requestContext"]["authorizer"]["jwt"]["claims"]["email"] == "buyer@example.com"

    @pytest.mark.parametrize("path", ["/v1/orders", "/v1/cart", "/v1/orders/SKN-1", "/v1/orders/SKN-1/invoice"])
    @pytest.mark.parametrize("bad_token", [None, "a.b.c"])
    def test_without_a_valid_one_the_function_is_not_asked(
        self, front: Front, path: str, bad_token: str | None
    ) -> None:
        response = front.call("GET", path, token=bad_token)
        assert_problem(response, 401, "unauthenticated")
        assert response.headers["WWW-Authenticate"] == "Bearer"
        assert front.function.events == []

    @pytest.mark.parametrize(
        ("method", "path", "route", "parameters"),
        [
            ("GET", "/v1/products", "GET /v1/products", None),
            ("GET", "/v1/products/SERUM-1", "GET /v1/products/{sku}", {"sku": "SERUM-1"}),
            (
                "POST",
                "/v1/payments/webhook/midtrans",
                "POST /v1/payments/webhook/{gateway}",
                {"gateway": "midtrans"},
            ),
        ],
    )
    def test_a_public_route_needs_none_and_looks_at_none(
        self, front: Front, method: str, path: str, route: str, parameters: dict[str, str] | None
    ) -> None:
        assert front.call(method, path, token="a.b.c").status_code == 200
        [event] = front.function.events
        assert (event["routeKey"], event.get("pathParameters")) == (route, parameters)
        assert "authorizer" not in event["requestContext"]

    @pytest.mark.parametrize("with_token", [True, False])
    @pytest.mark.parametrize(
        ("method", "path"),
        [
            ("GET", "/v1/nothing"),
            ("GET", "/"),
            ("GET", "/health/"),
            ("GET", "/v1/products/A/B"),
            ("GET", "/v1//products"),
            ("DELETE", "/v1/products"),
            ("HEAD", "/v1/products"),
            ("HEAD", "/health"),
            ("OPTIONS", "/v1/orders"),
            ("PATCH", "/v1/orders"),
        ],
    )
    def test_a_path_or_method_without_a_route_is_a_404_before_any_token_counts(
        self, front: Front, token: str, method: str, path: str, with_token: bool
    ) -> None:
        response = front.call(method, path, token=token if with_token else None)
        assert response.status_code == 404
        assert method == "HEAD" or response.json is not None
        assert front.function.events == []


class TestTheIntegration:
    def test_a_function_that_fails_is_a_500(self, front: Front, token: str) -> None:
        front.function.answer = InvocationFailed("ValueError", "secret details")
        response = front.call("GET", "/v1/cart", token=token)
        assert_problem(response, 500, "internal_error")
        assert "secret" not in response.get_data(as_text=True)

    def test_a_malformed_answer_is_a_500(self, front: Front, token: str) -> None:
        front.function.answer = b'{"statusCode": "ok"}'
        assert_problem(front.call("GET", "/v1/cart", token=token), 500, "internal_error")

    def test_a_function_that_is_too_slow_is_a_503(self, front: Front, token: str) -> None:
        front.gateway._api = replace(API, integration_timeout=timedelta(milliseconds=20))
        front.function.may_answer.clear()
        assert_problem(front.call("GET", "/v1/cart", token=token), 503, "unavailable")

    def test_no_free_container_is_a_503(self, front: Front, token: str) -> None:
        front.function.answer = InvocationFailed("TooManyRequestsException", "")
        assert_problem(front.call("GET", "/v1/cart", token=token), 503, "unavailable")

    def test_a_system_that_stops_before_the_function_has_the_request_is_a_503(self, front: Front, token: str) -> None:
        front.function.answer = FunctionStopped()
        assert_problem(front.call("GET", "/v1/cart", token=token), 503, "unavailable")

    @pytest.mark.parametrize(("size", "limit"), [(10_000_001, 10_000_000), (7_000_000, 6_291_456)])
    def test_a_body_above_the_limit_of_gateway_or_function_is_a_413(
        self, front: Front, token: str, size: int, limit: int
    ) -> None:
        response = front.call("POST", "/v1/orders", token=token, data=b"x" * size)
        assert_problem(response, 413, "body_too_large")
        assert f"{limit} bytes" in response.get_data(as_text=True)
        assert front.function.events == []

    def test_before_the_database_is_migrated_everything_is_a_503(self, front: Front, token: str) -> None:
        front.gateway.open.clear()
        assert_problem(front.call("GET", "/v1/products"), 503, "unavailable")
        assert front.function.events == []


class TestABodyThatCannotBeRead:
    @pytest.mark.parametrize(
        ("head", "body"),
        [
            ("Transfer-Encoding: chunked", b"zz\r\n{}\r\n0\r\n\r\n"),
            ("Transfer-Encoding: chunked", b"-1\r\n{}\r\n0\r\n\r\n"),
            ("Transfer-Encoding: chunked", b"2\r\n{}garbage\r\n"),
            ("Transfer-Encoding: chunked", b"ff\r\n{}"),
            ("Content-Length: 100", b"{}"),
        ],
    )
    def test_is_a_problem_with_a_request_id(self, front: Front, head: str, body: bytes) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            front.gateway.serve(listener)
            with socket.create_connection(listener.getsockname(), timeout=20) as connection:
                connection.sendall(
                    f"POST /v1/payments/webhook HTTP/1.1\r\nHost: 127.0.0.1\r\n{head}\r\n\r\n".encode() + body
                )
                connection.shutdown(socket.SHUT_WR)
                answer = http.client.HTTPResponse(connection)
                answer.begin()
                problem = json.loads(answer.read())
            front.gateway.stop()
        assert (answer.status, answer.getheader("Content-Type")) == (400, "application/problem+json")
        assert problem["code"] == "request_malformed"
        assert problem["request_id"] == answer.getheader("X-Request-Id")
        assert front.function.events == []


class TestWhatAGatewayDoesNotTake:
    def test_is_a_head_above_its_limit(self, front: Front, token: str) -> None:
        limit = API.max_head_bytes
        assert front.call("GET", "/v1/products", headers={"X-Long": "x" * (limit - 100)}).status_code == 200
        assert_problem(front.call("GET", "/v1/products", headers={"X-Long": "x" * limit}), 431, "head_too_large")
        assert_problem(front.call("GET", f"/v1/products?{'x' * limit}"), 431, "head_too_large")


class TestAMistakeOfOurs:
    def test_is_a_problem_with_a_request_id_and_stands_in_the_log(
        self, front: Front, token: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(front.gateway, "_read_body", lambda _: 1 / 0)
        response = front.call("GET", "/v1/cart", token=token)
        assert_problem(response, 500, "internal_error")
        failed, refused = map(json.loads, (tmp_path / "gateway.log").read_text().splitlines())
        assert (failed["message"], failed["error"]) == ("http.failed", "ZeroDivisionError")
        assert failed["request_id"] == refused["request_id"] == response.headers["X-Request-Id"]

    def test_a_full_disk_changes_no_answer(self, front: Front, monkeypatch: pytest.MonkeyPatch) -> None:
        def no_space(*_: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "write", no_space)
        assert_problem(front.call("GET", "/v1/cart"), 401, "unauthenticated")


class TestTheBareAddress:
    def test_leads_a_person_to_the_page_and_tells_a_program_what_aws_would(self, front: Front) -> None:
        visit = front.call("GET", "/", headers={"Accept": "text/html,*/*"})
        assert (visit.status_code, visit.headers["Location"]) == (302, "/_local/")
        assert_problem(front.call("GET", "/"), 404, "route_unknown")


class TestHealth:
    def test_it_is_ok_when_nothing_is_missing(self, front: Front) -> None:
        response = front.call("GET", "/health")
        assert (response.status_code, response.json) == (200, {"status": "ok"})

    def test_it_names_what_is_missing(self, front: Front) -> None:
        front.missing = ["database", "worker of payments"]
        response = front.call("GET", "/health")
        assert (response.status_code, response.json) == (
            503,
            {"status": "unavailable", "missing": ["database", "worker of payments"]},
        )

    def test_before_the_database_is_migrated_nobody_is_asked(
        self, front: Front, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[bool] = []

        def missing() -> list[str]:
            asked.append(True)
            return []

        front.gateway.open.clear()
        monkeypatch.setattr(front.gateway, "_missing", missing)
        response = front.call("GET", "/health")
        assert (response.status_code, response.json) == (503, {"status": "unavailable", "missing": ["database"]})
        assert asked == []


class TestTheLogOfTheGateway:
    @pytest.mark.parametrize(
        ("method", "path", "route"),
        [
            ("GET", "/v1/orders/canary@example.com", "GET /v1/orders/{order_number}"),
            ("CANARY", "/v1/orders/1", "-"),
            ("GET", "/_local/canary", "/_local/"),
            ("POST", "/v1/payments/webhook/canary", "POST /v1/payments/webhook/{gateway}"),
        ],
    )
    def test_it_names_the_route_and_nothing_that_the_client_chose(
        self, front: Front, tmp_path: Path, method: str, path: str, route: str
    ) -> None:
        front.function.answer = InvocationFailed("ValueError", "")
        response = front.call(method, path)
        [line] = (tmp_path / "gateway.log").read_text().splitlines()
        assert "canary" not in line.lower()
        entry = json.loads(line)
        assert (entry["route"], entry["status"]) == (route, response.status_code)
        assert entry["request_id"] == response.headers["X-Request-Id"]


class TestWhatIsOnlyForThisMachine:
    def test_it_shows_the_mails(self, front: Front) -> None:
        response = front.call("GET", "/_local/mails")
        assert (response.status_code, response.json) == (200, [{"to": "buyer@example.com"}])

    @pytest.mark.parametrize("error", [ConnectionRefusedError(), json.JSONDecodeError("no JSON", "<html>", 0)])
    def test_without_the_local_aws_the_mails_are_unavailable(
        self, front: Front, monkeypatch: pytest.MonkeyPatch, error: Exception
    ) -> None:
        def refuse() -> list[dict[str, Any]]:
            raise error

        monkeypatch.setattr(front.gateway, "_mails", refuse)
        assert_problem(front.call("GET", "/_local/mails"), 503, "unavailable")

    @pytest.mark.parametrize(("method", "path"), [("GET", "/_local/"), ("GET", "/_local/x"), ("POST", "/_local/mails")])
    def test_there_is_nothing_else(self, front: Front, method: str, path: str) -> None:
        assert_problem(front.call(method, path), 404, "route_unknown")
        assert front.function.events == []

    def test_a_page_under_another_name_for_this_address_gets_nothing(self, front: Front) -> None:
        response = front.call("GET", "/_local/mails", headers={"Host": "evil.example.com:8000"})
        assert_problem(response, 403, "forbidden")
