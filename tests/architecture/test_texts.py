"""Every text that people and gateways fill is held to the one rule: a new field cannot escape it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from api.app import ROUTES
from oncall.dead_letter_requests import DeadLetterRef
from oncall.requests import REQUESTS
from skincare.jobs.catalog import PAYLOADS
from skincare.payments import json_fields

UNSEEN = "\x00\x1b\x7f\x9b\u2028\u2029\u202a\u202e\u2066\u2069\ufff9\ufffe\U000e0041\U000e007f"
NOTHING = (" ", "\u00a0", "\u200b", "\u2060", "\u3164", "\u2800", "\u0301", "\u200d\ufe0f")


def models() -> Iterator[type[BaseModel]]:
    """Everything that is read from outside: bodies, queries, requests of people on call, messages."""
    for route in ROUTES:
        if route.body is not None and issubclass(route.body, BaseModel):
            yield route.body
        if route.query is not None:
            yield route.query
    yield from REQUESTS
    yield DeadLetterRef
    yield from PAYLOADS


FIELDS = [
    pytest.param(model, name, id=f"{model.__name__}.{name}")
    for model in dict.fromkeys(models())
    for name in model.model_fields
]


def taken(model: type[BaseModel], name: str, text: str) -> str:
    """What a field makes of a text, as it is or inside of a list; empty where it refuses both."""
    strict = ConfigDict(strict=model.model_config.get("strict", False))
    field: TypeAdapter[Any] = TypeAdapter(model.model_fields[name].rebuild_annotation(), config=strict)
    for value in (text, [text]):
        try:
            return str(field.validate_json(json.dumps(value)))
        except ValidationError:
            continue
    return ""


class TestEveryField:
    @pytest.mark.parametrize(("model", "name"), FIELDS)
    def test_takes_no_character_that_nobody_sees(self, model: type[BaseModel], name: str) -> None:
        for character in UNSEEN:
            for text in (character, f"Ani{character}", f"A{character}ni", f"SKN-00000-00000{character}"):
                assert character not in taken(model, name, text), f"U+{ord(character):04X}"

    @pytest.mark.parametrize(("model", "name"), FIELDS)
    def test_takes_no_text_that_shows_nothing(self, model: type[BaseModel], name: str) -> None:
        for text in NOTHING:
            assert taken(model, name, text) == "", text.encode("unicode_escape")

    def test_is_known_here(self) -> None:
        assert {"OrderRequest.note", "Refund.reason", "FindDead.error_class", "ExpireOrder.order_number"} <= {
            str(field.id) for field in FIELDS
        }


class TestEveryMemberOfAGateway:
    @pytest.mark.parametrize("text", [*UNSEEN, *NOTHING, *(f"tx{each}1" for each in UNSEEN)])
    def test_is_read_by_the_same_rule(self, text: str) -> None:
        with pytest.raises(json_fields.InvalidField) as flawed:
            json_fields.text({"transaction_id": text}, "transaction_id", longest=128)
        assert text not in str(flawed.value) or text == " "
