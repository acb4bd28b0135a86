"""The fields of a gateway's JSON body, read loosely: what we do not need may be anything."""

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any, NoReturn

from skincare.payments.errors import WebhookMalformed
from skincare.text import flaw, is_blank

_DEEPEST = 32
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)
_WHOLE = re.compile(r"-?[0-9]{1,18}(?:\.0{1,2})?")


class Digits(str):
    """A number of the body in its own characters: a signature covers `150000.00` and not 150000.0."""

    __slots__ = ()


class InvalidField(ValueError):
    """A field that we need is missing or not usable; the message names it and does not quote it."""


def parse(body: bytes) -> dict[str, Any]:
    """Return the fields of a JSON object; raises `WebhookMalformed`.

    Half surrogate pairs and NUL pass: the fields that hold them are invalid, if we need them at all.
    """
    value = parse_any(body)
    if not isinstance(value, dict):
        raise WebhookMalformed("the body is not a JSON object")
    return value


def parse_any(body: bytes) -> Any:
    """Return any JSON value, read as `parse` does; raises `WebhookMalformed`."""
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise WebhookMalformed("the body is not UTF-8") from None
    if _too_deep(text):
        raise WebhookMalformed(f"the body is nested more than {_DEEPEST} levels deep")
    try:
        return json.loads(
            text, parse_int=Digits, parse_float=Digits, parse_constant=_refuse, object_pairs_hook=_without_repetition
        )
    except ValueError:
        raise WebhookMalformed("the body is not JSON") from None


def signed(body: bytes) -> dict[str, Any]:
    """Return the fields of a body that its sender really signed; raises `InvalidField`.

    What cannot be read then is evidence all the same: nobody would send it again.
    """
    try:
        return parse(body)
    except WebhookMalformed as error:
        raise InvalidField(str(error)) from None


def digest(body: bytes) -> str:
    """Name a body by its SHA-256."""
    return hashlib.sha256(body).hexdigest()


def inner(fields: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the fields of an object inside, none where it is no object."""
    value = fields.get(name)
    return value if isinstance(value, dict) else {}


def text(fields: Mapping[str, Any], name: str, *, longest: int) -> str:
    """Return a text by the rule of `skincare.text`; raises `InvalidField`."""
    value = fields.get(name)
    if not isinstance(value, str) or isinstance(value, Digits):
        raise InvalidField(f"{name} is not text")
    if len(value) > longest or flaw(value) or is_blank(value):
        raise InvalidField(f"{name} is not 1 to {longest} printable characters")
    return value


def rupiah(fields: Mapping[str, Any], name: str) -> int:
    """Return whole rupiah, from a number or a text such as `150000` and `150000.00`; raises `InvalidField`."""
    value = fields.get(name)
    if not isinstance(value, str) or not _WHOLE.fullmatch(value):
        raise InvalidField(f"{name} is not an amount of whole rupiah")
    return int(value.partition(".")[0])


def moment(fields: Mapping[str, Any], name: str, *, zone: tzinfo = UTC) -> datetime | None:
    """Return a time, None where there is none; one without an offset is of `zone`. Raises `InvalidField`."""
    value = fields.get(name)
    if value is None:
        return None
    try:
        read = datetime.fromisoformat(value if isinstance(value, str) else "")
        return (read if read.tzinfo else read.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidField(f"{name} is not a time") from None


def _too_deep(content: str) -> bool:
    depth = 0
    for match in _BRACKETS.finditer(content):
        depth += (match[0] in "[{") - (match[0] in "]}")
        if depth > _DEEPEST:
            return True
    return False


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)


def _without_repetition(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    # Two readers of one body could see two values: nobody means that.
    unique = dict(fields)
    if len(unique) != len(fields):
        raise ValueError("repeated member")
    return unique
