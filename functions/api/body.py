"""The JSON body of a request: limits first, then parsing."""

import base64
import binascii
import json
import math
import re
from typing import Any, NoReturn

from api.errors import BodyTooLarge, MediaTypeUnsupported, RequestMalformed
from api.event import HttpEvent
from skincare.deployment.http import HTTP

_MAX_BASE64_CHARACTERS = (HTTP.max_body_bytes + 2) // 3 * 4
_BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)

# RFC 9110, 5.6.6 and 8.3.1. A semicolon may have nothing behind it.
_WORD = r"[A-Za-z0-9!#$%&'*+.^_`|~-]+"
_PARAMETER = rf'[ \t]*+;[ \t]*+(?:({_WORD})=(?:({_WORD})|"((?:[^"\\]|\\.)*+)"))?+'
_MEDIA_TYPE = re.compile(rf"({_WORD}/{_WORD})((?:{_PARAMETER})*+)[ \t]*")
_PARAMETERS = re.compile(_PARAMETER)
_UTF_8 = {"utf-8", "utf8"}


def check_size(event: HttpEvent) -> None:
    """Raise `BodyTooLarge` for a body that we do not even want to decode."""
    limit = _MAX_BASE64_CHARACTERS if event.is_base64 else HTTP.max_body_bytes
    if event.body is not None and len(event.body) > limit:
        raise BodyTooLarge(HTTP.max_body_bytes)


def read_bytes(event: HttpEvent) -> bytes:
    """Return the body as its sender wrote it; raises `RequestMalformed` and `BodyTooLarge`."""
    check_size(event)
    content = _content(event)
    if len(content) > HTTP.max_body_bytes:
        raise BodyTooLarge(HTTP.max_body_bytes)
    return content


def read_json(event: HttpEvent) -> Any:
    """Return the parsed body.

    Raises `RequestMalformed` for a body that is absent, not UTF-8, not JSON (NaN and infinities are not),
    nested too deeply, or has a repeated member or a number that is too long or too large; `BodyTooLarge`;
    `MediaTypeUnsupported`.
    """
    check_size(event)
    content = _content(event)
    if not content.strip():
        raise RequestMalformed("the body is missing")
    if not _is_json(event.headers.get("content-type", "")):
        raise MediaTypeUnsupported
    if len(content) > HTTP.max_body_bytes:
        raise BodyTooLarge(HTTP.max_body_bytes)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise RequestMalformed("the body is not UTF-8") from None
    if nesting(text) > HTTP.max_nesting:
        raise RequestMalformed(f"the body is nested more than {HTTP.max_nesting} levels deep")
    try:
        return json.loads(
            text,
            parse_constant=_refuse_constant,
            parse_int=_whole,
            parse_float=_finite,
            object_pairs_hook=_without_repetition,
        )
    except ValueError:
        raise RequestMalformed("the body is not JSON") from None


def nesting(text: str) -> int:
    """Return how deep the brackets of a JSON text go, without parsing it."""
    if text.count("[") + text.count("{") <= HTTP.max_nesting:
        return 0
    depth = deepest = 0
    for match in _BRACKETS.finditer(text):
        if match[0] in {"[", "{"}:
            depth += 1
            deepest = max(deepest, depth)
        elif match[0] in {"]", "}"}:
            depth -= 1
    return deepest


def _is_json(content_type: str) -> bool:
    """Tell whether a content type is that of JSON in UTF-8; other parameters than the charset mean nothing."""
    read = _MEDIA_TYPE.fullmatch(content_type.strip())
    if read is None or read[1].lower() != "application/json":
        return False
    parameters = _PARAMETERS.findall(read[2])
    charsets = {
        (plain or re.sub(r"\\(.)", r"\1", quoted)).lower()
        for name, plain, quoted in parameters
        if name.lower() == "charset"
    }
    return charsets <= _UTF_8


def _content(event: HttpEvent) -> bytes:
    if event.body is None:
        return b""
    try:
        if event.is_base64:
            return base64.b64decode(event.body, validate=True)
        return event.body.encode()
    except (binascii.Error, ValueError):
        raise RequestMalformed("the body cannot be decoded") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _whole(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:  # Python stops at 4300 digits, because the time that they take grows with their square
        raise RequestMalformed("a number in the body is too long") from None


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise RequestMalformed("a number in the body is too large")
    return number


def _without_repetition(members: list[tuple[str, Any]]) -> dict[str, Any]:
    # Two readers of one body could see two values: nobody means that.
    unique = dict(members)
    if len(unique) != len(members):
        raise RequestMalformed("an object in the body has a member twice")
    return unique
