"""What is wrong with a request of a person on call, in words that this person can act on."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from oncall.refusals import broken_rules
from oncall.request import Request
from oncall.requests import REQUESTS

ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 2**63, 1.5, "", " ", "x", "x" * 10_000, "\x00", "\u202e", "2026", "9" * 30),
    *("SKN-00000-0000", [], ["x"], [None], ["x"] * 1000, {}, {"a": 1}),
)


def rules(request: type[Request], name: str, value: Any) -> list[str]:
    """Return what is wrong with a request whose one member has this value, as typed and as the function reads it."""
    found: list[str] = []
    try:
        request.model_validate({name: value})
    except ValidationError as error:
        found += broken_rules(error).values()
    try:
        request.model_validate_json(json.dumps({name: value}))
    except ValidationError as error:
        found += broken_rules(error).values()
    return found


class TestARefusal:
    @pytest.mark.parametrize("request_class", REQUESTS)
    def test_names_no_rule_by_its_technical_name(self, request_class: type[Request]) -> None:
        for name in (*request_class.model_fields, "unknown"):
            for value in ODD:
                assert [rule for rule in rules(request_class, name, value) if "malformed" in rule] == [], name

    @pytest.mark.parametrize("request_class", REQUESTS)
    def test_of_bytes_that_are_no_text_says_so(self, request_class: type[Request]) -> None:
        """As a shell hands them on: each as half a surrogate pair."""
        for name in request_class.model_fields:
            with pytest.raises(ValidationError) as refused:
                request_class.model_validate({name: "\udcff"})
            assert "malformed" not in " ".join(broken_rules(refused.value).values())
