import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from werkzeug import Request
from werkzeug.test import Client, TestResponse

from emulator.gateway.gateway import Gateway
from emulator.gateway.tokens import new_signing_key
from emulator.log.logbook import LogBook
from local.http_api import http_api
from local.page import STATE, Site, site
from local.tokens import token_issuer

TOKENS = token_issuer(new_signing_key())
STATIC = Path(site.__file__).parent / "static"
FILES = sorted(file.name for file in STATIC.iterdir())
HOME = "http://127.0.0.1:8000"


class NoFunction:
    def invoke(self, payload: bytes, **_: Any) -> bytes:
        raise AssertionError("the page is no business of the API")


class Visitor:
    """A browser before a gateway that has the page, on an open system."""

    def __init__(self, folder: Path) -> None:
        self.log = LogBook(folder, None)
        self.gateway = Gateway(
            NoFunction(),
            api=http_api(),
            tokens=TOKENS,
            waiting=[STATE],
            missing=list,
            mails=lambda: [{"to": "b@example.com"}, {"to": "a@example.com"}],
            page=Site(tokens=TOKENS, state=lambda: {"missing": []}, actions={"/_local/echo": lambda body: body}).answer,
            log=self.log,
        )
        self.gateway.open.set()
        self._client = Client(self.gateway)

    def call(self, method: str, path: str, *, base: str = HOME, **options: Any) -> TestResponse:
        return self._client.open(path, method=method, base_url=base, **options)

    def csrf_token(self) -> str:
        return str(self.call("GET", "/_local/state").json["csrf_token"])  # type: ignore[index]

    def sign_in(self, wishes: Any, **headers: str) -> TestResponse:
        return self.call(
            "POST",
            "/_local/token",
            data=json.dumps(wishes),
            headers={"Content-Type": "application/json", "X-CSRF-Token": self.csrf_token(), **headers},
        )


@pytest.fixture
def visitor(tmp_path: Path) -> Iterator[Visitor]:
    visitor = Visitor(tmp_path)
    yield visitor
    visitor.log.close()


def assert_problem(response: TestResponse, status: int, code: str) -> None:
    assert response.content_type == "application/problem+json"
    assert (response.status_code, response.json["code"]) == (status, code)  # type: ignore[index]


class TestTheFilesOfThePage:
    def test_the_address_without_its_slash_leads_to_the_one_with_it(self, visitor: Visitor) -> None:
        response = visitor.call("GET", "/_local")
        assert (response.status_code, response.headers["Location"]) == (308, "/_local/")

    def test_each_has_its_type(self, visitor: Visitor) -> None:
        types = {"html": "text/html", "css": "text/css", "js": "text/javascript"}
        for name in FILES:
            response = visitor.call("GET", f"/_local/{name if name != 'index.html' else ''}")
            assert response.status_code == 200
            assert response.content_type == f"{types[name.rpartition('.')[2]]}; charset=utf-8"
            assert response.get_data() == (STATIC / name).read_bytes()

    @pytest.mark.parametrize("path", ["/_local/", "/_local/page.css", "/_local/page.js", "/_local/state"])
    def test_whatever_is_shown_may_load_nothing_from_elsewhere_and_stand_in_no_frame(
        self, visitor: Visitor, path: str
    ) -> None:
        headers = visitor.call("GET", path).headers
        policy = dict(part.strip().partition(" ")[::2] for part in headers["Content-Security-Policy"].split(";"))
        assert policy["default-src"] == "'self'"
        assert "script-src" not in policy
        assert "connect-src" not in policy
        assert policy["frame-ancestors"] == "'none'"
        assert headers["Cache-Control"] == "no-store"
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"

    @pytest.mark.parametrize(
        "path", ["/_local/site.py", "/_local/../site.py", "/_local/static/page.js", "/_local/index"]
    )
    def test_there_are_no_others(self, visitor: Visitor, path: str) -> None:
        assert_problem(visitor.call("GET", path), 404, "route_unknown")

    @pytest.mark.parametrize("name", FILES)
    def test_none_names_another_site(self, name: str) -> None:
        text = (STATIC / name).read_text().replace("http://www.w3.org/2000/svg", "")
        assert re.findall(r"(?:https?:)?//[\w.]+\.\w+", re.sub(r"^\s*//.*$", "", text, flags=re.M)) == []

    def test_the_document_has_no_script_or_style_of_its_own(self) -> None:
        text = (STATIC / "index.html").read_text()
        assert re.findall(r"<script(?![^>]*\bsrc=)", text) == []
        assert re.findall(r"<style|\sstyle=|\son\w+=", text) == []

    @pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".js")])
    def test_text_becomes_text_and_never_markup(self, name: str) -> None:
        text = (STATIC / name).read_text()
        assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", text) == []


class TestWhoMayLook:
    @pytest.mark.parametrize("path", ["/_local/", "/_local/page.js", "/_local/state", "/_local/mails"])
    @pytest.mark.parametrize("host", ["evil.example.com:8000", "127.0.0.1.example.com", "localhost.example.com:8000"])
    def test_nobody_by_another_name_for_this_address(self, visitor: Visitor, path: str, host: str) -> None:
        assert_problem(visitor.call("GET", path, headers={"Host": host}), 403, "forbidden")

    def test_nor_may_anybody_sign_in_under_such_a_name(self, visitor: Visitor) -> None:
        answer = visitor.sign_in({"email": "buyer@example.com", "locale": "id"}, Host="evil.example.com")
        assert_problem(answer, 403, "forbidden")

    @pytest.mark.parametrize("base", [HOME, "http://localhost:8000"])
    def test_this_machine_under_its_own_names(self, visitor: Visitor, base: str) -> None:
        assert visitor.call("GET", "/_local/state", base=base).status_code == 200

    @pytest.mark.parametrize("path", ["/_local/state", "/_local/mails"])
    def test_a_page_of_an_origin_that_may_call_the_api_may_not_read_it(self, visitor: Visitor, path: str) -> None:
        response = visitor.call("GET", path, headers={"Origin": "http://localhost:3000"})
        assert "Access-Control-Allow-Origin" not in response.headers

    def test_nor_may_it_ask_whether_it_may_sign_in(self, visitor: Visitor) -> None:
        headers = {
            "Origin": "http://localhost:3000",
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "x-csrf-token",
        }
        response = visitor.call("OPTIONS", "/_local/token", headers=headers)
        assert response.status_code == 403
        assert "Access-Control-Allow-Origin" not in response.headers


class TestTheState:
    def test_before_the_database_is_migrated_there_is_none(self, visitor: Visitor) -> None:
        visitor.gateway.open.clear()
        assert_problem(visitor.call("GET", "/_local/state"), 503, "unavailable")
        assert visitor.call("GET", "/_local/").status_code == 200

    def test_it_carries_what_the_page_needs_to_sign_somebody_in(self, visitor: Visitor) -> None:
        first, second = (visitor.call("GET", "/_local/state").json for _ in range(2))
        assert first == second
        assert first is not None
        assert first.keys() == {"csrf_token", "missing"}
        assert len(first["csrf_token"]) >= 32

    def test_the_mails_can_be_limited(self, visitor: Visitor) -> None:
        assert visitor.call("GET", "/_local/mails?limit=1").json == [{"to": "b@example.com"}]
        assert len(visitor.call("GET", "/_local/mails").json or []) == 2


class TestSigningIn:
    @pytest.mark.parametrize("locale", ["id", "en"])
    def test_gives_a_token_of_the_customer_that_the_gateway_takes(self, visitor: Visitor, locale: str) -> None:
        response = visitor.sign_in({"email": "buyer@EXAMPLE.com", "locale": locale})
        assert response.status_code == 200
        answer = dict(response.json or {})
        claims = TOKENS.claims(f"Bearer {answer.pop('token')}")
        assert (claims["email"], claims["locale"]) == ("buyer@example.com", locale)
        assert claims["exp"] - claims["iat"] == 3600
        assert answer == {"email": "buyer@example.com", "locale": locale}
        assert response.headers["Cache-Control"] == "no-store"

    @pytest.mark.parametrize("token", ["", "guessed", "ünseen"])
    def test_needs_the_token_that_only_the_page_can_read(self, visitor: Visitor, token: str) -> None:
        wishes = {"email": "buyer@example.com", "locale": "id"}
        assert_problem(visitor.sign_in(wishes, **{"X-CSRF-Token": token}), 403, "forbidden")

    def test_needs_that_of_this_start_of_the_system(self, visitor: Visitor, tmp_path: Path) -> None:
        wishes = {"email": "buyer@example.com", "locale": "id"}
        earlier = Visitor(tmp_path)
        assert_problem(visitor.sign_in(wishes, **{"X-CSRF-Token": earlier.csrf_token()}), 403, "forbidden")
        earlier.log.close()

    @pytest.mark.parametrize(
        ("wishes", "said"),
        [
            ({"email": "buyer", "locale": "id"}, "The email must contain exactly one @."),
            ({"email": None, "locale": "id"}, "The email must be text."),
            ({"email": "buyer@example.com", "locale": "fr"}, "The locale must be one of id, en."),
            ({"email": "buyer@example.com"}, "The locale must be text."),
        ],
    )
    def test_says_what_is_wrong_with_a_wish(self, visitor: Visitor, wishes: Any, said: str) -> None:
        response = visitor.sign_in(wishes)
        assert_problem(response, 422, "validation_failed")
        assert response.json is not None
        assert response.json["detail"] == said

    @pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b"[" * 4000])
    def test_takes_nothing_but_a_json_object(self, visitor: Visitor, body: bytes) -> None:
        headers = {"X-CSRF-Token": visitor.csrf_token()}
        assert_problem(visitor.call("POST", "/_local/token", data=body, headers=headers), 400, "request_malformed")

    def test_reads_no_long_body(self, visitor: Visitor) -> None:
        response = visitor.sign_in({"email": "a" * 5000, "locale": "id"})
        assert_problem(response, 413, "body_too_large")

    @pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
    def test_is_a_post(self, visitor: Visitor, method: str) -> None:
        assert_problem(visitor.call(method, "/_local/token"), 404, "route_unknown")


class TestActions:
    def test_one_is_done_for_the_page_only(self, visitor: Visitor) -> None:
        for headers in ({}, {"X-CSRF-Token": "guessed"}):
            assert_problem(visitor.call("POST", "/_local/echo", data="{}", headers=headers), 403, "forbidden")
        headers = {"X-CSRF-Token": visitor.csrf_token()}
        assert visitor.call("POST", "/_local/echo", data='{"a": 1}', headers=headers).json == {"a": 1}

    def test_one_is_done_by_post_only_and_with_an_object_of_a_bounded_size(self, visitor: Visitor) -> None:
        headers = {"X-CSRF-Token": visitor.csrf_token()}
        assert_problem(visitor.call("GET", "/_local/echo", headers=headers), 404, "route_unknown")
        for content, status, code in [("[]", 400, "request_malformed"), (" " * 20_000, 413, "body_too_large")]:
            assert_problem(visitor.call("POST", "/_local/echo", data=content, headers=headers), status, code)

    def test_files_may_come_from_one_other_place_where_it_is_named(self) -> None:
        site = Site(tokens=TOKENS, state=dict, files_origin="http://127.0.0.1:4566")
        response = site.answer(Request.from_values("/_local/", base_url=HOME))
        assert response is not None
        assert "connect-src 'self' http://127.0.0.1:4566" in response.headers["Content-Security-Policy"]
