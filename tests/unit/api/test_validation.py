"""Fields are exactly what they should be, and a refusal names them without repeating them."""

import contextlib
import re
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from api.app import ROUTES
from api.errors import RequestInvalid
from api.route import Route
from api.schemas import OrderRequest, PageQuery
from api.validation import read_query, validated
from tests.support.http import Answer, Client, make_app

ACCEPTED = 503  # there is no database behind these requests

NOT_TEXT = ["Ani\x00", "\x07", "Ani\x7f", "Ani\u0085", "\ud800", "Ani\udc00"]


def order(**fields: object) -> Answer:
    return Client(make_app(), "user").order(body=fields)


def refused_fields(answer: Answer) -> list[str]:
    assert (answer.status, answer.code) == (422, "validation_failed")
    return answer.pointers


def messages(answer: Answer) -> list[str]:
    return [error["message"] for error in answer.body["errors"]]


class TestAQuantity:
    @pytest.mark.parametrize(
        "quantity",
        [0, -1, -5, 100, 1.5, 2.0, "2", True, False, None, [], {}, 100_000_000, 2_147_483_648, 2**63, 10**30],
    )
    def test_is_a_whole_number_from_1_to_99_and_nothing_else(self, quantity: object) -> None:
        assert refused_fields(Client(make_app(), "user").put_item("A", quantity)) == ["/quantity"]

    @pytest.mark.parametrize("quantity", [1, 99])
    def test_may_be_at_its_limits(self, quantity: int) -> None:
        assert Client(make_app(), "user").put_item("A", quantity).status == ACCEPTED

    def test_must_be_there(self) -> None:
        answer = Client(make_app(), "user").request("PUT", "/v1/cart/items/A", body={})
        assert refused_fields(answer) == ["/quantity"]


class TestAnExpectedTotal:
    @pytest.mark.parametrize("total", [0, -1, 1.5, "150000", True, "NaN", 10**13, 2**63])
    def test_is_a_whole_number_that_an_order_can_cost(self, total: object) -> None:
        assert refused_fields(order(expected_total_rupiah=total)) == ["/expected_total_rupiah"]

    @pytest.mark.parametrize("total", [1, 2_147_483_648, 50 * 99 * 100_000_000, None])
    def test_reaches_to_fifty_lines_of_the_dearest(self, total: object) -> None:
        assert order(expected_total_rupiah=total).status == ACCEPTED


class TestText:
    @pytest.mark.parametrize("field", ["recipient_name", "shipping_address", "note"])
    @pytest.mark.parametrize("text", NOT_TEXT)
    def test_holds_no_control_character_and_no_half_surrogate(self, field: str, text: str) -> None:
        assert refused_fields(order(**{field: text})) == [f"/{field}"]

    @pytest.mark.parametrize("field", ["recipient_name", "shipping_address", "note"])
    @pytest.mark.parametrize("value", [1, True, [], {}, "", "x" * 1001])
    def test_is_text_of_a_sane_length(self, field: str, value: object) -> None:
        assert refused_fields(order(**{field: value})) == [f"/{field}"]

    def test_of_one_line_has_no_line_break(self) -> None:
        assert refused_fields(order(recipient_name="Ani\nBcc: x")) == ["/recipient_name"]

    def test_may_have_lines_where_an_address_has_them(self) -> None:
        assert order(shipping_address="Jl. Melati 5\r\nBandung", note="a\nb").status == ACCEPTED

    @pytest.mark.parametrize("name", ["Siti 🌸", "Joséō", "مريم", "测试", "👩‍👩‍👧", "O'Neill <b>"])
    def test_may_be_in_any_script(self, name: str) -> None:
        assert order(recipient_name=name).status == ACCEPTED

    @pytest.mark.parametrize("field", ["recipient_name", "shipping_address", "note"])
    @pytest.mark.parametrize(
        "text", [" ", "   ", "\u00a0\u2003", "\u3000", "\u200b", "\u3164\u115f", "\u2800", "\u0301"]
    )
    def test_is_more_than_blanks(self, field: str, text: str) -> None:
        answer = order(**{field: text})
        assert refused_fields(answer) == [f"/{field}"]
        assert messages(answer) == ["must not be blank"]

    @pytest.mark.parametrize("field", ["shipping_address", "note"])
    def test_of_several_lines_is_more_than_line_breaks(self, field: str) -> None:
        assert messages(order(**{field: " \n\r\n "})) == ["must not be blank"]

    def test_may_begin_and_end_with_blanks(self) -> None:
        assert order(recipient_name=" Ani ", shipping_address="\nJl. Melati 5\n").status == ACCEPTED

    def test_may_be_absent_or_null(self) -> None:
        assert order(recipient_name=None, note=None).status == ACCEPTED


class TestAnExtraField:
    @pytest.mark.parametrize("name", ["price", "status", "user_id", "total", "items"])
    def test_is_refused_by_its_name(self, name: str) -> None:
        assert refused_fields(order(**{name: 1})) == [f"/{name}"]

    @pytest.mark.parametrize("name", ["ani@example.com", "4111111111111111", "\ud800", "\x00", "A" * 50])
    def test_is_not_named_where_its_name_could_be_personal(self, name: str) -> None:
        answer = order(**{name: 1})
        assert refused_fields(answer) == [""]
        assert name not in answer.text


class TestARefusal:
    def test_names_all_fields_at_once(self) -> None:
        answer = order(note=1, price=1, expected_total_rupiah="1")
        assert sorted(refused_fields(answer)) == ["/expected_total_rupiah", "/note", "/price"]

    @settings(deadline=None)
    @given(
        st.dictionaries(
            st.sampled_from(["note", "recipient_name", "expected_total_rupiah", "other"]),
            st.just("canary-7f3a") | st.lists(st.just("canary-7f3a"), min_size=1) | st.just({"canary": "canary-7f3a"}),
            min_size=1,
        )
    )
    def test_never_repeats_what_was_sent(self, body: dict[str, object]) -> None:
        with pytest.raises(RequestInvalid) as refusal:
            validated(OrderRequest, body | {"note": ["canary-7f3a"]})
        assert "canary-7f3a" not in repr(refusal.value.errors)

    @pytest.mark.parametrize("body", ["null", "[]", '"x"', "7"])
    def test_of_what_is_no_object_says_so(self, body: str) -> None:
        answer = Client(make_app(), "user").order(body=body)
        assert (refused_fields(answer), messages(answer)) == ([""], ["must be an object"])

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"note": 1}, "must be text"),
            ({"note": ""}, "must have at least 1 character"),
            ({"note": "x" * 1001}, "must have at most 1000 characters"),
            ({"recipient_name": "x" * 201}, "must have at most 200 characters"),
            ({"note": "\x00"}, "must be text without control characters"),
            ({"note": "\ud800"}, "must be text without half a surrogate pair"),
            ({"expected_total_rupiah": "1"}, "must be a whole number"),
            ({"expected_total_rupiah": 1.5}, "must be a whole number"),
            ({"expected_total_rupiah": True}, "must be a whole number"),
            ({"expected_total_rupiah": 0}, "must be at least 1"),
            ({"expected_total_rupiah": 10**13}, "must be at most 495000000000"),
            ({"price": 1}, "is not a known field"),
        ],
    )
    def test_says_which_rule_is_broken(self, fields: dict[str, object], message: str) -> None:
        assert messages(order(**fields)) == [message]

    def test_says_what_is_missing(self) -> None:
        answer = Client(make_app(), "user").request("PUT", "/v1/cart/items/A", body={})
        assert messages(answer) == ["is missing"]

    @pytest.mark.parametrize(
        ("query", "message"),
        [("limit=x", "must be digits"), ("limit=", "must be digits"), ("limit=101", "must be at most 100")],
    )
    def test_of_a_query_does_too(self, query: str, message: str) -> None:
        assert messages(Client(make_app()).get("/v1/products", query)) == [message]

    def test_of_a_kind_that_nobody_thought_of_is_a_sentence_of_ours_all_the_same(self) -> None:
        class Moment(BaseModel):
            at: datetime

        with pytest.raises(RequestInvalid) as refusal:
            validated(Moment, {"at": "canary-7f3a"})
        assert [(error.pointer, error.message) for error in refusal.value.errors] == [("/at", "is not valid")]

    @settings(deadline=None)
    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=[])),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.text(st.characters(exclude_categories=[])), inner, max_size=3)
            ),
            max_leaves=8,
        )
    )
    def test_is_all_that_can_come_of_a_parsed_body(self, body: object) -> None:
        said: list[str] = []
        try:
            validated(OrderRequest, body)
        except RequestInvalid as refusal:
            said = [error.message for error in refusal.errors]
        # Neither the sentence for what nobody thought of, nor the parser's words: those begin in upper case.
        assert all(re.fullmatch(r"(must|is) (?!not valid).*", message) for message in said)


class TestAQuery:
    @pytest.mark.parametrize(
        "query",
        [
            "limit=0",
            "limit=101",
            "limit=-1",
            "limit=",
            "limit=x",
            "limit=1.0",
            "limit=1_0",
            "limit=%201",
            "limit=%2B1",
            "limit=%D9%A1",
            "limit=0000001",
            "limit=1&limit=2",
        ],
    )
    def test_has_a_limit_from_1_to_100_in_digits(self, query: str) -> None:
        assert refused_fields(Client(make_app()).get("/v1/products", query)) == ["/query/limit"]

    @pytest.mark.parametrize(
        "query",
        [
            "cursor=",
            "cursor=%00",
            "cursor=%FF",
            "cursor=x",
            "cursor=U0tV%3D",
            "cursor=U0tV!",
            "cursor=%C3%A9",
            "cursor=" + "QUFB" * 99,
        ],
    )
    def test_has_a_cursor_that_we_made(self, query: str) -> None:
        assert refused_fields(Client(make_app()).get("/v1/products", query)) == ["/query/cursor"]

    @pytest.mark.parametrize(
        ("query", "pointer"),
        [
            ("q=%00", "/query/q"),
            ("%00=1", "/query"),
            ("q=%FF", "/query/q"),
            ("%ED%A0%80=1", "/query"),
            ("q=\ud800", "/query/q"),
            ("&".join(f"a{n}=1" for n in range(60)), "/query"),
        ],
    )
    def test_is_text_in_fields_that_we_do_not_know_either(self, query: str, pointer: str) -> None:
        assert refused_fields(Client(make_app()).get("/v1/products", query)) == [pointer]

    @pytest.mark.parametrize(
        "query", ["word=serum", "word=", "word", "%77ord=serum", "limit=5&word=serum", "word=serum&word=cream"]
    )
    @pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
    def test_has_no_member_that_its_route_does_not_know(self, route: Route[Any, Any], query: str) -> None:
        path = re.sub(r"{\w+}", "SKN-00000-00000", route.path)
        answer = Client(make_app(), "user").request(route.method, path, query=query)
        fields = {} if route.query is None else route.query.model_fields
        refused = {"/query/word"}
        if query.startswith("limit") and "limit" not in fields:
            refused.add("/query/limit")
        if not query.endswith("cream"):
            refused |= {f"/query/{name}" for name, field in fields.items() if field.is_required()}
        assert set(refused_fields(answer)) == refused

    @pytest.mark.parametrize("name", ["ani@example.com", "4111111111111111", "a4111", "%20", "A" * 50, ""])
    def test_does_not_repeat_a_name_that_could_be_personal(self, name: str) -> None:
        answer = Client(make_app()).get("/v1/products", f"{name}=1")
        assert refused_fields(answer) == ["/query"]
        assert not name or name not in answer.text

    @pytest.mark.parametrize("query", ["", "&", "&&"])
    def test_may_be_empty(self, query: str) -> None:
        assert Client(make_app()).get("/health", query).status == ACCEPTED

    def test_shows_fifty_entries_if_it_does_not_say(self) -> None:
        assert read_query(PageQuery, "") == PageQuery(limit=50, cursor=None)

    @given(st.text(st.characters(exclude_categories=["Cs"])))
    def test_is_read_or_refused_and_nothing_else(self, query: str) -> None:
        with contextlib.suppress(RequestInvalid):
            assert 1 <= read_query(PageQuery, query).limit <= 100


class TestTheAddressInTheToken:
    @pytest.mark.parametrize(
        "email",
        [
            None,
            "",
            7,
            ["ani@example.com"],
            "ani",
            "ani\u200b@example.com",
            "ani\u00a0@example.com",
            "ani\u00ad@example.com",
            "jörg@example.com",
            "ani@example.com\r\nBcc: x@example.com",
        ],
    )
    def test_must_be_one_that_can_be_mailed(self, email: object) -> None:
        answer = Client(make_app(), "user", email=email).order()
        assert refused_fields(answer) == ["/claims/email"]
        assert answer.body["errors"][0]["message"]

    @pytest.mark.parametrize("verified", [False, "false", "False", None, "", 0, 1, "no", ["true"]])
    def test_must_be_verified_where_the_token_says_something_about_it(self, verified: object) -> None:
        answer = Client(make_app(), "user", email_verified=verified).order()
        assert refused_fields(answer) == ["/claims/email"]
        assert messages(answer) == ["is not verified"]

    @pytest.mark.parametrize("verified", [True, "true", "True"])
    def test_may_be_verified_as_a_truth_value_or_as_text(self, verified: object) -> None:
        assert Client(make_app(), "user", email_verified=verified).order().status == ACCEPTED

    def test_may_come_without_a_word_about_that(self) -> None:
        assert Client(make_app(), "user").order().status == ACCEPTED

    def test_may_have_a_domain_in_any_script(self) -> None:
        assert Client(make_app(), "user", email="ani@contoh-ñ.example").order().status == ACCEPTED

    def test_is_not_looked_at_where_no_mail_comes_of_it(self) -> None:
        assert Client(make_app(), "user", email=None).get("/v1/cart").status == ACCEPTED
