"""What reaches the routes from an event, whoever made it."""

import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from api.errors import RequestMalformed
from api.event import read_event, request_id_of
from tests.support.http import Client, call, http_event, make_app

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=[])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
MEMBERS = [
    "version",
    "rawPath",
    "rawQueryString",
    "headers",
    "requestContext",
    "body",
    "isBase64Encoded",
]


class TestAPayload1Event:
    EVENT: ClassVar[dict[str, Any]] = {
        "version": "1.0",
        "resource": "/v1/orders",
        "path": "/v1/orders",
        "httpMethod": "POST",
        "headers": {"Content-Type": "application/json", "Idempotency-Key": "k-1"},
        "multiValueHeaders": {"Content-Type": ["application/json"]},
        "requestContext": {"requestId": "r-1", "stage": "$default", "httpMethod": "POST"},
        "body": "{}",
        "isBase64Encoded": False,
    }

    def test_is_refused_in_a_way_that_both_formats_understand(self) -> None:
        answer = call(make_app(), self.EVENT)
        assert (answer.status, answer.code) == (400, "request_malformed")
        assert answer.headers["x-request-id"] == "r-1"
        assert "payload format 2.0" in answer.body["detail"]


class TestAnEventThatIsNotOne:
    @pytest.mark.parametrize("event", [None, [], "x", 7, {}, {"version": "2.0"}, {"Records": []}, {"version": 2.0}])
    def test_is_refused_and_never_an_exception(self, event: object) -> None:
        answer = call(make_app(), event)
        assert (answer.status, answer.code) == (400, "request_malformed")

    @settings(deadline=None)
    @given(st.sampled_from(MEMBERS), JSON)
    def test_is_answered_whatever_one_member_holds(self, member: str, value: object) -> None:
        event = http_event("PATCH", "/v1/nothing") | {member: value}
        assert call(make_app(), event).status in {400, 404}

    @settings(deadline=None)
    @given(st.sampled_from(["authorizer", "http", "stage", "requestId"]), JSON)
    def test_is_answered_whatever_the_context_holds(self, member: str, value: object) -> None:
        event = http_event("GET", "/v1/cart")
        event["requestContext"] |= {member: value}
        assert call(make_app(), event).status in {400, 401, 404}


class TestTheStage:
    def test_is_cut_off_the_path(self) -> None:
        event = http_event("GET", "/prod/v1/cart")
        event["requestContext"]["stage"] = "prod"
        assert call(make_app(), event).status == 401

    def test_is_not_missed_behind_a_custom_domain(self) -> None:
        event = http_event("GET", "/v1/cart")
        event["requestContext"]["stage"] = "prod"
        assert call(make_app(), event).status == 401

    def test_is_not_mistaken_for_the_start_of_a_longer_segment(self) -> None:
        event = http_event("GET", "/v1/cart")
        event["requestContext"]["stage"] = "v"
        assert call(make_app(), event).status == 401


class TestThePath:
    @pytest.mark.parametrize(
        "path", ["/v1/products/%00", "/v1/products/\x00", "/v1/products/A%C2%85", "/v1/products/\u0085"]
    )
    def test_names_the_parameter_that_holds_a_control_character(self, path: str) -> None:
        answer = Client(make_app()).get(path)
        assert (answer.status, answer.pointers) == (422, ["/path/sku"])

    @pytest.mark.parametrize("path", ["/v1/products/%FF", "/v1/products/%ED%A0%80", "/v1/products/\ud800"])
    def test_names_the_parameter_that_is_not_text(self, path: str) -> None:
        answer = Client(make_app()).get(path)
        assert (answer.status, answer.pointers) == (422, ["/path/sku"])

    @pytest.mark.parametrize(
        "path", ["/v1/products/A/B", "/v1/products/", "/v1/products//", "/V1/products", "v1/products", ""]
    )
    def test_matches_whole_segments_only(self, path: str) -> None:
        assert Client(make_app()).get(path).code == "route_unknown"

    @pytest.mark.parametrize("path", ["/v1/cart\n", "/v1/cart/", "/v1/cart;a=b", "/v1//cart", "/v1/../v1/cart"])
    def test_is_not_tidied_up(self, path: str) -> None:
        assert Client(make_app(), "user").get(path).code == "route_unknown"

    @given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
    def test_is_the_same_whether_or_not_the_gateway_decoded_it(self, segment: str) -> None:
        plain = segment.replace("/", "").replace("%", "")
        decoded = read_event(http_event("GET", f"/v1/products/{plain}"))
        encoded = read_event(http_event("GET", f"/v1/products/{quote(plain, safe='')}"))
        assert decoded.path == encoded.path


class TestHeaders:
    def test_are_found_in_any_case(self) -> None:
        event = http_event("GET", "/", headers={"Idempotency-KEY": "k-1"})
        assert read_event(event).headers["idempotency-key"] == "k-1"

    def test_that_differ_in_case_only_are_duplicates(self) -> None:
        event = http_event("GET", "/", headers={"Idempotency-Key": "k-1", "idempotency-key": "k-2"})
        assert read_event(event).headers["idempotency-key"] == "k-1,k-2"


class TestTheRequestId:
    def test_is_the_gateways(self) -> None:
        assert request_id_of(http_event("GET", "/")).endswith("=")

    @pytest.mark.parametrize("given_id", [None, 7, "", "a b", "a\nb", "ä", "x" * 129])
    def test_is_a_new_one_where_the_gateways_cannot_be_printed(self, given_id: object) -> None:
        made = request_id_of({"requestContext": {"requestId": given_id}})
        assert len(made) == 36
        assert made != request_id_of({"requestContext": {"requestId": given_id}})

    def test_that_is_too_long_for_a_header_is_refused_before_it_is_one(self) -> None:
        event = http_event("GET", "/v1/nothing")
        event["requestContext"]["requestId"] = "r\r\nset-cookie: a=b"
        assert "\n" not in call(make_app(), event).headers["x-request-id"]


class TestThreads:
    def test_each_have_a_request_of_their_own(self) -> None:
        """An interpreter that switches often would mix up what is kept outside of a call."""
        app = make_app()
        expected = {"/v1/cart": 401, "/v1/nothing": 404, "/v1/products/%00": 422}
        paths = list(expected) * 300
        interval = sys.getswitchinterval()
        sys.setswitchinterval(1e-6)
        try:
            with ThreadPoolExecutor(8) as threads:
                statuses = list(threads.map(lambda path: Client(app).get(path).status, paths))
        finally:
            sys.setswitchinterval(interval)
        assert statuses == [expected[path] for path in paths]


class TestAMethod:
    def test_that_is_no_word_is_malformed(self) -> None:
        with pytest.raises(RequestMalformed):
            read_event(http_event("GET /", "/"))
