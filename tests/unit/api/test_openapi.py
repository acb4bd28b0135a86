"""The OpenAPI document: valid, complete, and the one that is committed."""

import json
import re
import sys
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openapi_spec_validator import validate
from pydantic import ValidationError

from api import problems
from api.app import ROUTES
from api.errors import FieldError
from api.headers import IDEMPOTENCY_KEY_PATTERN, idempotency_key
from api.openapi import document
from api.problem import CONTENT_TYPE, ProblemType, problem
from api.route import Route
from api.schemas import OrderRequest
from skincare.errors import SkincareError
from skincare.identifiers import Sku
from skincare.orders.errors import Shortage
from skincare.text import ONE_LINE_PATTERN, flaw, is_blank
from tests.architecture.tree import ROOT

DOCUMENT = document()
SCHEMAS = DOCUMENT["components"]["schemas"]
MEMBERS = {
    "idempotency_key_missing": {"errors"},
    "idempotency_key_invalid": {"errors"},
    "validation_failed": {"errors"},
    "cart_already_ordered": {"order_number", "link"},
    "too_many_open_orders": {"open", "limit", "order_numbers"},
    "purchase_limit_exceeded": {"items"},
    "out_of_stock": {"items"},
    "price_changed": {"total_rupiah"},
    "order_not_cancellable": {"order_status"},
    "order_not_payable": {"order_status"},
}
USUAL = {"type", "title", "status", "detail", "instance", "code", "request_id"}

every_route = pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")


def operation_of(route: Route[Any, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = DOCUMENT["paths"][route.path][route.method.lower()]
    return operation


def schemas_in(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The schemas of the problems that an answer may be."""
    schema = answer["content"][CONTENT_TYPE]["schema"]
    references = [each["$ref"] for each in schema.get("oneOf", [schema])]
    return [SCHEMAS[reference.rpartition("/")[2]] for reference in references]


def _pattern(field: str) -> str:
    """The pattern of a text in the body of a checkout."""
    (pattern,) = (
        option["pattern"] for option in SCHEMAS["OrderRequest"]["properties"][field]["anyOf"] if "pattern" in option
    )
    return str(pattern)


class TestTheDocument:
    def test_is_valid(self) -> None:
        validate(DOCUMENT)

    def test_is_the_committed_one(self) -> None:
        committed = json.loads((ROOT / "docs" / "openapi.json").read_text())
        assert committed == DOCUMENT, "docs/openapi.json is not what the routes say: run `make openapi`"

    def test_is_the_same_each_time(self) -> None:
        assert json.dumps(document()) == json.dumps(DOCUMENT)

    def test_has_every_route_and_no_other(self) -> None:
        documented = {(method.upper(), path) for path, methods in DOCUMENT["paths"].items() for method in methods}
        assert documented == {(route.method, route.path) for route in ROUTES}

    def test_names_every_operation_once(self) -> None:
        names = [operation_of(route)["operationId"] for route in ROUTES]
        assert len(set(names)) == len(names)


@every_route
class TestARoute:
    def test_documents_each_of_its_problems_and_no_other(self, route: Route[Any, Any]) -> None:
        documented = {
            (int(status), schema["properties"]["code"]["const"])
            for status, answer in operation_of(route)["responses"].items()
            if CONTENT_TYPE in answer["content"]
            for schema in schemas_in(answer)
        }
        assert documented == {(kind.status, kind.code) for kind in route.all_problems}

    def test_says_what_it_does(self, route: Route[Any, Any]) -> None:
        assert re.fullmatch(r"[A-Z].*[a-z]", operation_of(route)["summary"])

    def test_answers_with_its_headers(self, route: Route[Any, Any]) -> None:
        headers = operation_of(route)["responses"][str(route.status)]["headers"]
        assert set(headers) == {"x-request-id", *route.header_names}
        assert headers["x-request-id"]["required"]

    def test_tells_when_to_come_back_wherever_it_may_help(self, route: Route[Any, Any]) -> None:
        for status, answer in operation_of(route)["responses"].items():
            if CONTENT_TYPE in answer["content"]:
                codes = {schema["properties"]["code"]["const"] for schema in schemas_in(answer)}
                expected = bool(codes & {"unavailable", "concurrent_request"})
                assert ("retry-after" in answer["headers"]) == expected, status

    def test_tells_what_the_gateway_answers_by_itself(self, route: Route[Any, Any]) -> None:
        messages = {
            status
            for status, answer in operation_of(route)["responses"].items()
            if answer["content"]
            .get("application/json", {})
            .get("schema", {})
            .get("$ref", "")
            .endswith("GatewayMessage")
        }
        assert messages == {"413", "429", "500", "503"} | (set() if route.public else {"401"})

    def test_needs_a_token_unless_it_is_public(self, route: Route[Any, Any]) -> None:
        assert operation_of(route)["security"] == ([] if route.public else [{"customer": []}])


class TestAProblem:
    @pytest.mark.parametrize("kind", problems.EVERY, ids=lambda kind: kind.code)
    def test_is_documented_with_its_own_members(self, kind: ProblemType) -> None:
        name = "".join(word.capitalize() for word in kind.code.split("_")) + "Problem"
        schema = SCHEMAS[name]
        assert set(schema["properties"]) == set(schema["required"]) == USUAL | MEMBERS.get(kind.code, set())
        fixed = {member: schema["properties"][member]["const"] for member in ("type", "title", "status", "code")}
        assert fixed == {"type": kind.uri, "title": kind.title, "status": kind.status, "code": kind.code}

    def test_has_its_members_when_it_occurs(self) -> None:
        shortage = Shortage(Sku("A"), 2, 1)
        assert problem(problems.OUT_OF_STOCK, "r-1", items=(shortage,)).model_dump()["items"] == (
            {"sku": "A", "requested": 2, "available": 1},
        )
        error = FieldError("/note", "is too long")
        dumped = problem(problems.VALIDATION_FAILED, "r-1", errors=(error,)).model_dump(exclude_none=True)
        assert dumped["errors"] == ({"pointer": "/note", "message": "is too long"},)

    def test_that_belongs_to_no_route_is_there_too(self) -> None:
        answers = DOCUMENT["components"]["responses"]
        assert [schemas_in(answers[name])[0]["title"] for name in ("RouteUnknown", "MethodNotAllowed")] == [
            "RouteUnknownProblem",
            "MethodNotAllowedProblem",
        ]
        assert set(answers["MethodNotAllowed"]["headers"]) == {"allow", "x-request-id"}


class TestAPattern:
    """What a schema says is what the code does."""

    @given(st.text() | st.text("\x00\t\n\r\x1f ~\x7f\x9f\xa0a\u2028"))
    def test_of_a_text_agrees_with_the_check(self, text: str) -> None:
        if "\n" not in text:  # re lets `$` match before a last line feed, and JSON Schema does not
            assert (re.search(ONE_LINE_PATTERN, text) is not None) == (flaw(text) is None)

    @given(
        st.text(" \n\r\xa0\u2003a.", max_size=8)
        | st.text("\x00\t \x85\u1680\u2029\u202f\u205f\u3000\u200b\ufeffa")
        | st.text()
    )
    def test_of_a_field_of_an_order_agrees_with_the_check(self, text: str) -> None:
        if not text:
            return
        for field in ("recipient_name", "shipping_address", "note"):
            pattern = _pattern(field).removesuffix("$") + r"\Z"  # as JSON Schema means `$`
            try:
                OrderRequest.model_validate({field: text})
            except ValidationError:
                accepted = False
            else:
                accepted = True
            if not (is_blank(text) and any(unicodedata.category(each)[0] == "M" for each in text)):
                assert (re.search(pattern, text) is not None) == accepted

    def test_knows_every_blank_that_there_is(self) -> None:
        for character in map(chr, range(sys.maxunicode + 1)):
            if character.isspace():
                assert not re.search(_pattern("recipient_name"), character), f"U+{ord(character):04X}"

    @given(st.text('ab"\\,-~! \x7fé', max_size=6) | st.from_regex(IDEMPOTENCY_KEY_PATTERN, fullmatch=True))
    def test_of_an_idempotency_key_agrees_with_the_check(self, text: str) -> None:
        if text != text.strip(" \t\n"):
            return
        try:
            idempotency_key({"idempotency-key": text})
        except SkincareError:
            accepted = False
        else:
            accepted = True
        assert (re.search(IDEMPOTENCY_KEY_PATTERN, text) is not None) == accepted
