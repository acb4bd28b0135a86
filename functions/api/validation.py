"""Checks the parts of a request against their models, and says which field breaks which rule."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote_to_bytes

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from api.errors import FieldError, RequestInvalid
from skincare.text import flaw

_MAX_QUERY_FIELDS = 50

# A member's name is the client's own text: only one that looks like a field name is repeated.
_FIELD_NAME = re.compile(r"[A-Za-z][A-Za-z_-]{0,39}")

# Of each kind of error that our models can give: pydantic's own words are about Python and name our classes.
# https://docs.pydantic.dev/latest/errors/validation_errors/
_MESSAGES = {
    "extra_forbidden": "is not a known field",
    "greater_than_equal": "must be at least {ge}",
    "int_from_float": "must be a whole number",
    "int_type": "must be a whole number",
    "less_than_equal": "must be at most {le}",
    "missing": "is missing",
    "model_type": "must be an object",
    "string_too_long": "must have at most {max_length} characters",
    "string_too_short": "must have at least {min_length} character",
    "string_type": "must be text",
    "string_unicode": "must be text without half a surrogate pair",
}


def validated[T: BaseModel](model: type[T], value: object, *, at: str = "") -> T:
    """Return the value as its model; raises `RequestInvalid` with pointers that start with `at`."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        raise RequestInvalid(
            tuple(FieldError(at + _pointer(each["loc"]), _message(each), each["type"]) for each in found)
        ) from None


def read_query[T: BaseModel](model: type[T], query_string: str) -> T:
    """Return the query as its model; raises `RequestInvalid`.

    A member is given once, and its value is text; the model says which members there are. One that looks like a name
    of ours is named in the refusal, as misspelt ones do.
    """
    try:
        pairs = parse_qsl(
            query_string, keep_blank_values=True, errors="surrogateescape", max_num_fields=_MAX_QUERY_FIELDS
        )
    except ValueError:
        raise RequestInvalid((FieldError("/query", "has too many fields"),)) from None
    fields: dict[str, str] = {}
    for name, value in pairs:
        pointer = "/query" + _pointer((name,))
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


def _message(error: ErrorDetails) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if kind == "value_error":
        return str(context["error"])
    return _MESSAGES.get(kind, "is not valid").format_map(context)


def _pointer(location: tuple[Any, ...]) -> str:
    parts: list[str] = []
    for part in location:
        if isinstance(part, str) and not _FIELD_NAME.fullmatch(part):
            break
        parts.append(f"/{part}")
    return "".join(parts)
