"""Request headers that mean something to us."""

import re
from collections.abc import Mapping

from api.errors import IdempotencyKeyInvalid, IdempotencyKeyMissing
from skincare.locales import Locale

IDEMPOTENCY_KEY = "idempotency-key"

# The wire form is a structured-field string (RFC 9651, 3.3.3); most clients send the bare key. A comma is
# refused in both: the gateway joins duplicate headers with one, and "k-1,k-2" must not become a key. A double
# quote in a bare key is half a quoted one.
_BARE = r"[!#-+\x2d-~]{1,255}"
_QUOTED = r'"(?:[!#-+\x2d-\x5b\x5d-~]|\\["\\]){1,255}"'
_BARE_KEY = re.compile(_BARE)
_QUOTED_KEY = re.compile(_QUOTED)
IDEMPOTENCY_KEY_PATTERN = f"^(?:{_BARE}|{_QUOTED})$"
"""The same in the dialect of JSON Schema."""

_LANGUAGE_RANGE = re.compile(
    r"\s*([A-Za-z]{2,8})(?:[-_][A-Za-z0-9]{1,8})*\s*(?:;\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*)?"
)
# "in" is what Java and old Android call Indonesian.
_LOCALES = {"id": Locale.ID, "in": Locale.ID, "en": Locale.EN}


def idempotency_key(headers: Mapping[str, str]) -> str:
    """Return the key without its quotes; raises `IdempotencyKeyMissing` and `IdempotencyKeyInvalid`.

    https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/
    """
    text = headers.get(IDEMPOTENCY_KEY, "").strip(" \t")
    if not text:
        raise IdempotencyKeyMissing
    if _BARE_KEY.fullmatch(text):
        return text
    if not _QUOTED_KEY.fullmatch(text):
        raise IdempotencyKeyInvalid
    return re.sub(r'\\(["\\])', r"\1", text[1:-1])


def preferred_locale(claim: object, accept_language: str) -> Locale:
    """Return the language for a customer's mail: the token's, else the browser's favourite of ours, else Indonesian."""
    if isinstance(claim, str) and (known := _known(claim)):
        return known[0]
    candidates = filter(None, map(_known, accept_language.split(",")))
    locale, quality = max(candidates, key=lambda candidate: candidate[1], default=(Locale.ID, 0.0))
    return locale if quality > 0 else Locale.ID


def _known(language_range: str) -> tuple[Locale, float] | None:
    match = _LANGUAGE_RANGE.fullmatch(language_range)
    locale = _LOCALES.get(match[1].lower()) if match else None
    return (locale, float(match[2] or 1)) if match and locale else None
