"""The place where a page of search results ended: the last hit's sort key and id, good for one search only."""

import json
import re
from dataclasses import asdict, dataclass
from enum import StrEnum
from hashlib import sha256

from skincare.catalog.search.models import Search, Sort
from skincare.errors import InvalidInput
from skincare.pages import decode_cursor, encode_cursor
from skincare.text import flaw

_LONGEST = 2000
_KEYS = {
    Sort.RELEVANCE: re.compile(r"[0-9]{1,4}([.][0-9]{1,20})?|[1-9]([.][0-9]{1,9})?e-[0-3][0-9]"),
    Sort.PRICE: re.compile(r"[0-9]{1,12}"),
    Sort.PRICE_DOWN: re.compile(r"[0-9]{1,12}"),
}
"""What the key of a sort looks like; anything else is a text."""


class Reading(StrEnum):
    """How the words of a search were taken, which all of its pages keep."""

    ALL = "all"
    CORRECTED = "corrected"
    ANY = "any"


@dataclass(frozen=True)
class Place:
    """After which hit a page begins."""

    reading: Reading
    key: str
    product_id: int


def encode_place(place: Place, search: Search) -> str:
    """Return the opaque text for a place."""
    return encode_cursor(json.dumps([_fingerprint(search), place.reading, place.key, place.product_id]))


def decode_place(cursor: str, search: Search) -> Place:
    """Return the place; raises `InvalidInput` for what we never made, and for the place of another search."""
    try:
        fingerprint, reading, key, product_id = json.loads(decode_cursor(cursor, longest=_LONGEST))
        place = Place(Reading(reading), key, product_id)
        is_ours = fingerprint == _fingerprint(search) and encode_place(place, search) == cursor
    except (InvalidInput, ValueError, TypeError, RecursionError):
        raise _not_ours() from None
    if not is_ours or not _can_be(place, search):
        raise _not_ours()
    return place


def _can_be(place: Place, search: Search) -> bool:
    """Whether a place can have come from us: anybody can put a cursor together."""
    if not isinstance(place.key, str) or type(place.product_id) is not int or not 0 < place.product_id < 2**63:
        return False
    form = None if search.order is None else _KEYS.get(search.order)
    return flaw(place.key) is None if form is None else form.fullmatch(place.key) is not None


def _fingerprint(search: Search) -> str:
    return sha256(json.dumps(asdict(search)).encode()).hexdigest()[:12]


def _not_ours() -> InvalidInput:
    return InvalidInput("/query/cursor", "is not a cursor of this search")
