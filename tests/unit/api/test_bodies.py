"""Which bodies are read, and in which order the limits are looked at."""

import base64
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.body import nesting, read_json
from api.event import read_event
from skincare.deployment.http import HTTP
from tests.support.http import Answer, Client, call, http_event, make_app

REACHED_THE_DATABASE = 503


def order(body: object, **parts: object) -> Answer:
    """Check out where there is no database: 503 means that the body was fine."""
    return Client(make_app(), "user").request(
        "POST", "/v1/orders", body=body, **({"headers": {"idempotency-key": "k-1"}} | parts)
    )


def nested(levels: int) -> str:
    return '{"note":' + "[" * (levels - 1) + "]" * (levels - 1) + "}"


class TestAMissingBody:
    @pytest.mark.parametrize("members", [{}, {"body": None}, {"body": ""}, {"body": "  \n"}])
    @pytest.mark.parametrize("in_base64", [False, True])
    @pytest.mark.parametrize("content_type", ["application/json", ""])
    def test_is_malformed(self, members: dict[str, object], in_base64: bool, content_type: str) -> None:
        headers = {"content-type": content_type, "idempotency-key": "k-1"}
        event = http_event("POST", "/v1/orders", headers=headers, claims={"sub": "user"}, in_base64=in_base64)
        assert "body" not in event
        answer = call(make_app(), event | members)
        assert (answer.status, answer.code) == (400, "request_malformed")
        assert answer.body["detail"] in {"The body is missing.", "The body cannot be decoded."}

    def test_is_fine_where_none_is_needed(self) -> None:
        assert Client(make_app(), "user").cancel("SKN-00000-00000").status == REACHED_THE_DATABASE


class TestABase64Body:
    def test_reads_like_the_plain_one(self) -> None:
        body = {"note": "Ruko Ñ 5 🌸"}
        plain, encoded = (http_event("POST", "/", body=body, in_base64=flag) for flag in (False, True))
        assert read_json(read_event(plain)) == read_json(read_event(encoded)) == body

    @pytest.mark.parametrize("text", ["{}", "e30", "e30=e30=", "é"])
    def test_that_is_not_base64_is_malformed(self, text: str) -> None:
        assert order(text, isBase64Encoded=True).code == "request_malformed"

    def test_that_is_not_utf8_is_malformed(self) -> None:
        text = base64.b64encode(b'{"note":"\xff"}').decode()
        assert order(text, isBase64Encoded=True).body["detail"] == "The body is not UTF-8."

    def test_is_not_guessed(self) -> None:
        assert order("e30=", isBase64Encoded=False).code == "request_malformed"


class TestBrokenJson:
    @pytest.mark.parametrize(
        "text",
        [
            '{"items":[{"sku":1,}',
            "{",
            "{'note': 1}",
            '{"note":"a"} {}',
            '{"note":"a\nb"}',
            '{"note":"\\x"}',
            "\ufeff{}",
            '{"a":1,"a":1}',
            '{"a":{"b":1,"b":2}}',
            "9" * 5000,
        ],
    )
    def test_is_malformed_and_goes_no_further(self, text: str) -> None:
        answer = order(text)
        assert (answer.status, answer.code) == (400, "request_malformed")

    @pytest.mark.parametrize(
        ("text", "detail"),
        [
            ('{"note": ', "The body is not JSON."),
            ('{"note": NaN}', "The body is not JSON."),
            ('{"expected_total_rupiah": ' + "9" * 60_000 + "}", "A number in the body is too long."),
            ('{"expected_total_rupiah": -' + "9" * 60_000 + "}", "A number in the body is too long."),
            ('{"expected_total_rupiah": 1e400}', "A number in the body is too large."),
            ('{"note": "a", "note": "b"}', "An object in the body has a member twice."),
        ],
    )
    def test_is_told_what_is_wrong_with_it(self, text: str, detail: str) -> None:
        answer = order(text)
        assert (answer.status, answer.code, answer.body["detail"]) == (400, "request_malformed", detail)

    @pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "-1e400"])
    def test_includes_what_is_no_finite_number(self, number: str) -> None:
        assert order('{"expected_total_rupiah":' + number + "}").code == "request_malformed"

    def test_includes_half_a_surrogate_pair_in_the_event(self) -> None:
        assert order('{"note":"\ud800"}').code == "request_malformed"


class TestAnythingButAnObject:
    @pytest.mark.parametrize("text", ["null", "[]", "true", "0", '"x"', "[[]]"])
    def test_is_invalid(self, text: str) -> None:
        assert order(text).code == "validation_failed"


class TestTheSize:
    @pytest.mark.parametrize("in_base64", [False, True])
    def test_may_be_64_kib(self, in_base64: bool) -> None:
        body = '{"note":"' + "x" * (HTTP.max_body_bytes - 11) + '"}'
        assert len(body) == HTTP.max_body_bytes
        assert order(body, in_base64=in_base64).code == "validation_failed"

    @pytest.mark.parametrize("in_base64", [False, True])
    def test_may_not_be_a_byte_more(self, in_base64: bool) -> None:
        answer = order("{}" + " " * (HTTP.max_body_bytes - 1), in_base64=in_base64)
        assert (answer.status, answer.code) == (413, "body_too_large")

    def test_is_counted_in_bytes(self) -> None:
        assert order('{"note":"' + "é" * (HTTP.max_body_bytes // 2) + '"}').code == "body_too_large"

    def test_is_limited_where_the_body_is_not_read(self) -> None:
        answer = Client(make_app(), "user").request("GET", "/v1/cart", body=" " * (HTTP.max_body_bytes + 1))
        assert answer.code == "body_too_large"


class TestTheNesting:
    def test_may_be_32_levels(self) -> None:
        assert order(nested(HTTP.max_nesting)).code == "validation_failed"

    def test_may_not_be_a_level_more(self) -> None:
        answer = order(nested(HTTP.max_nesting + 1))
        assert (answer.status, answer.code) == (400, "request_malformed")
        assert "32 levels" in answer.body["detail"]

    @pytest.mark.parametrize("text", ["[" * 60000, '{"a":' * 12000, '{"a":[' * 9000])
    def test_is_looked_at_before_the_parser_recurses(self, text: str) -> None:
        assert "levels" in order(text).body["detail"]

    def test_does_not_count_brackets_in_text(self) -> None:
        assert order({"note": "[" * 40 + '\\"[{'}).status == REACHED_THE_DATABASE

    @given(
        st.recursive(
            st.text(st.sampled_from('[]{}"\\a')) | st.integers(),
            lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(st.sampled_from('[}"\\')), inner),
            max_leaves=12,
        )
    )
    def test_is_counted_as_the_parser_would(self, value: object) -> None:
        def depth(part: object) -> int:
            if isinstance(part, dict):
                return 1 + max(map(depth, part.values()), default=0)
            return 1 + max(map(depth, part), default=0) if isinstance(part, list) else 0

        padding: list[list[int]] = [[]] * (HTTP.max_nesting + 1)
        assert nesting(json.dumps([value, padding])) == max(1 + depth(value), 3)


class TestTheContentType:
    @pytest.mark.parametrize(
        "value",
        [
            "application/json",
            "Application/JSON; charset=UTF-8",
            'application/json;charset="utf-8"',
            " application/json ",
            "application/json; charset=utf8",
            "application/json;",
            "application/json; charset=utf-8;",
            "application/json ; ; charset=UTF8 ;;",
            "application/json; version=1",
            'application/json; profile="a;b, \\"c\\"; charset=latin-1"; charset="utf\\-8"',
            "application/json; charset=utf-8; charset=utf8",
        ],
    )
    def test_may_be_json(self, value: str) -> None:
        assert order({}, headers={"content-type": value, "idempotency-key": "k"}).status == REACHED_THE_DATABASE

    @pytest.mark.parametrize(
        "value",
        [
            "",
            "text/plain",
            "application/x-www-form-urlencoded",
            "application/json, text/plain",
            "application/jsonp",
            "application/json; charset=latin-1",
            "application/json,application/json",
            "application/json;charset=utf-8,application/json;charset=utf-8",
            "application/json; charset=utf-8; charset=latin-1",
            'application/json; charset="utf-8',
            "application/json; charset=",
            "application/json; charset",
            "application/json; charset = utf-8",
            "application/json charset=utf-8",
            "application/json; charset=utf-16",
            "application /json",
            "application/json/json",
            "application/json\x0b; charset=utf-8",
            "application/problem+json",
        ],
    )
    def test_may_be_nothing_else(self, value: str) -> None:
        answer = order({}, headers={"content-type": value, "idempotency-key": "k"})
        assert (answer.status, answer.code) == (415, "media_type_unsupported")

    @given(st.text('application/json;charset=utf-8"\\, \t', max_size=60) | st.text())
    def test_is_read_or_refused_whatever_it_is(self, value: str) -> None:
        answer = order({}, headers={"content-type": value, "idempotency-key": "k"})
        assert answer.status in {REACHED_THE_DATABASE, 415}

    def test_takes_no_long_time_to_be_refused(self) -> None:
        # API Gateway hands on headers of 10 KB: a pattern that goes back would take minutes.
        begun = time.monotonic()
        order({}, headers={"content-type": "application/json" + "; \t" * 2500 + "!", "idempotency-key": "k"})
        assert time.monotonic() - begun < 1


class TestAnAnswer:
    def test_is_text_and_says_so(self) -> None:
        """`call` checks `isBase64Encoded` of every answer; here it is that a body in base64 changes nothing."""
        event = http_event("POST", "/v1/orders", body={}, in_base64=True, claims={"sub": "user"})
        assert call(make_app(), event).headers["content-type"] == "application/problem+json"
