"""Checks the parts of a request against their models, and says which field breaks which rule."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes

from pydantic import BaseModel, ValidationError

from api.errors import FieldError, RequestInvalid
from api.text import flaw

_MAX_QUERY_FIELDS = 50

# A member's name is the client's own text: only one that looks like a field name is repeated.
_FIELD_NAME = re.compile(r"[a-z][a-z_]{0,39}")


def validated[T: BaseModel](model: type[T], value: object, *, at: str = "") -> T:
    """Return the value as its model; raises `RequestInvalid` with pointers that start with `at`."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        raise RequestInvalid(
            tuple(FieldError(at + _pointer(each["loc"]), each["msg"], each["type"]) for each in found)
        ) from None


def read_query[T: BaseModel](model: type[T], query_string: str) -> T:
    """Return the query as its model. A field that is given twice, or is not text, is refused."""
    try:
        pairs = parse_qsl(
            query_string, keep_blank_values=True, errors="surrogateescape", max_num_fields=_MAX_QUERY_FIELDS
        )
    except ValueError:
        raise RequestInvalid((FieldError("/query", "has too many fields"),)) from None
    fields: dict[str, str] = {}
    for name, value in pairs:
        pointer = f"/query/{name}" if name in model.model_fields else "/query"
        if message := flaw(name) or flaw(value):
            raise RequestInvalid((FieldError(pointer, message),))
        if name in fields:
            raise RequestInvalid((FieldError(pointer, "is given twice"),))
        fields[name] = value
    return validated(model, fields, at="/query")


def read_path(parameters: Mapping[str, str]) -> dict[str, str]:
    """Return the path's parameters decoded; raises `RequestInvalid` naming the one that is not text."""
    values: dict[str, str] = {}
    for name, encoded in parameters.items():
        value = unquote_to_bytes(encoded).decode("utf-8", "surrogateescape")
        if message := flaw(value):
            raise RequestInvalid((FieldError(f"/path/{name}", message),))
        values[name] = value
    return values


def _pointer(location: tuple[Any, ...]) -> str:
    parts: list[str] = []
    for part in location:
        if isinstance(part, str) and not _FIELD_NAME.fullmatch(part):
            break
        parts.append(f"/{part}")
    return "".join(parts)
