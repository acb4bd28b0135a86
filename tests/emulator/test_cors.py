"""Pages of other origins: what the gateway lets them ask and read, as API Gateway would."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client, TestResponse

from emulator.functions.function import InvocationFailed
from emulator.gateway.gateway import Gateway
from emulator.log.logbook import LogBook
from tests.emulator.example_api import API, ORIGIN, TOKENS

TOKEN = TOKENS.issue("buyer@example.com", expires_in=timedelta(hours=1))
FOREIGN = "https://evil.example.com"


class FakeFunction:
    """Answers what it was told to and counts the calls."""

    def __init__(self) -> None:
        self.calls = 0
        self.answer: bytes | InvocationFailed = b'{"statusCode": 200, "body": "hello"}'

    def invoke(self, payload: bytes, *, timeout: timedelta, trace_id: str | None = None) -> bytes:
        self.calls += 1
        if isinstance(self.answer, InvocationFailed):
            raise self.answer
        return self.answer


class Browser:
    """A page that calls the gateway."""

    def __init__(self, folder: Path) -> None:
        self.function = FakeFunction()
        self.log = LogBook(folder, None)
        self.gateway = Gateway(
            self.function,
            api=replace(API, max_body_bytes=100),
            tokens=TOKENS,
            missing=list,
            mails=list,
            page=lambda _: None,
            log=self.log,
        )
        self.gateway.open.set()

    def call(
        self, method: str, path: str, origin: str | None, *, token: str | None = TOKEN, **options: Any
    ) -> TestResponse:
        headers = {"Origin": origin, "Authorization": token and f"Bearer {token}"} | options.pop("headers", {})
        given = {name: value for name, value in headers.items() if value is not None}
        return Client(self.gateway).open(
            path, method=method, headers=given, base_url="http://127.0.0.1:8000", **options
        )

    def ask(self, origin: str, path: str = "/v1/orders") -> TestResponse:
        wish = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "idempotency-key"}
        return self.call("OPTIONS", path, origin, token=None, headers=wish)


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    browser = Browser(tmp_path)
    yield browser
    browser.log.close()


def cors_headers(response: TestResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers if name.lower().startswith("access-control-")}


class TestAPreflight:
    @pytest.mark.parametrize("path", ["/v1/orders", "/v1/nothing", "/health"])
    def test_of_an_allowed_origin_is_answered_by_the_gateway_alone(self, browser: Browser, path: str) -> None:
        response = browser.ask(ORIGIN, path)
        assert (response.status_code, response.get_data()) == (204, b"")
        assert cors_headers(response) == {
            "access-control-allow-origin": ORIGIN,
            "access-control-allow-methods": "DELETE,GET,POST,PUT",
            "access-control-allow-headers": "authorization,content-type,idempotency-key",
            "access-control-expose-headers": "location,retry-after,x-request-id",
            "access-control-max-age": "3600",
        }
        assert response.headers["X-Request-Id"]
        assert browser.function.calls == 0

    def test_of_a_foreign_origin_is_told_nothing(self, browser: Browser) -> None:
        response = browser.ask(FOREIGN)
        assert (response.status_code, cors_headers(response)) == (204, {})
        assert browser.function.calls == 0

    def test_is_answered_before_the_database_is_migrated(self, browser: Browser) -> None:
        browser.gateway.open.clear()
        assert browser.ask(ORIGIN).status_code == 204

    def test_is_none_without_the_method_that_is_meant(self, browser: Browser) -> None:
        assert browser.call("OPTIONS", "/v1/orders", ORIGIN, token=None).status_code == 404

    def test_about_the_pages_of_this_machine_is_refused(self, browser: Browser) -> None:
        response = browser.ask(ORIGIN, "/_local/mails")
        assert (response.status_code, cors_headers(response)) == (403, {})


ALLOWED = {
    "access-control-allow-origin": ORIGIN,
    "access-control-expose-headers": "location,retry-after,x-request-id",
}


def problem_of_function(status: int) -> bytes:
    headers = '{"content-type": "application/problem+json", "x-request-id": "r-1"}'
    return f'{{"statusCode": {status}, "headers": {headers}, "body": "{{}}"}}'.encode()


class TestAnAnswer:
    @pytest.mark.parametrize("status", [200, 201, 404, 405, 409, 413, 415, 422, 500, 503])
    @pytest.mark.parametrize(("origin", "headers"), [(ORIGIN, ALLOWED), (FOREIGN, {}), ("null", {}), (None, {})])
    def test_of_the_function_can_be_read_by_an_allowed_origin_alone(
        self, browser: Browser, status: int, origin: str | None, headers: dict[str, str]
    ) -> None:
        browser.function.answer = problem_of_function(status)
        response = browser.call("POST", "/v1/orders", origin)
        assert (response.status_code, cors_headers(response)) == (status, headers)
        assert response.headers["X-Request-Id"] == "r-1"
        assert response.headers["Vary"] == "Origin"

    @pytest.mark.parametrize(("origin", "headers"), [(ORIGIN, ALLOWED), (FOREIGN, {}), (None, {})])
    @pytest.mark.parametrize("status", [401, 413, 500, 503])
    def test_of_the_gateway_can_be_read_likewise(
        self, browser: Browser, status: int, origin: str | None, headers: dict[str, str]
    ) -> None:
        browser.function.answer = InvocationFailed(
            {500: "ValueError", 503: "TooManyRequestsException"}.get(status, ""), ""
        )
        token = None if status == 401 else TOKEN
        body = b"x" * (101 if status == 413 else 2)
        response = browser.call("POST", "/v1/orders", origin, token=token, data=body)
        assert (response.status_code, cors_headers(response)) == (status, headers)
        assert response.content_type == "application/problem+json"
        assert response.json is not None
        assert response.headers["X-Request-Id"] == response.json["request_id"]
        assert response.headers.get("Retry-After") == ("1" if status == 503 else None)

    def test_has_a_request_id_even_where_the_function_gave_none(self, browser: Browser) -> None:
        assert browser.call("GET", "/v1/cart", None).headers["X-Request-Id"]
        assert browser.call("GET", "/health", None).headers["X-Request-Id"]

    @pytest.mark.parametrize("origin", [ORIGIN, FOREIGN])
    def test_has_nothing_of_what_the_function_says_about_origins(self, browser: Browser, origin: str) -> None:
        browser.function.answer = (
            b'{"statusCode": 200, "headers": {"Access-Control-Allow-Origin": "*",'
            b' "access-control-allow-credentials": "true"}, "body": "hello"}'
        )
        assert cors_headers(browser.call("GET", "/v1/cart", origin)) == (ALLOWED if origin == ORIGIN else {})

    def test_about_this_machine_is_for_no_other_origin(self, browser: Browser) -> None:
        response = browser.call("GET", "/_local/mails", ORIGIN)
        assert (response.status_code, cors_headers(response)) == (403, {})
