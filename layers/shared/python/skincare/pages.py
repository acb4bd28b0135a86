"""Cursor lists: a page, and the opaque text that leads to the next one.

A cursor names the last entry seen, so that a list stays stable while entries are added: nothing is
shown twice and nothing that was there is left out.
"""

import base64
import binascii
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from skincare.errors import InvalidInput

_LONGEST_CURSOR = 200


@dataclass(frozen=True)
class Page[T]:
    """Part of a list. `next_cursor` is None on the last page."""

    data: tuple[T, ...]
    next_cursor: str | None

    @property
    def has_more(self) -> bool:
        return self.next_cursor is not None


def page_of[T](entries: Sequence[T], *, limit: int, key: Callable[[T], str]) -> Page[T]:
    """Make a page of at most `limit` entries; one entry more tells that another page follows."""
    shown = tuple(entries[:limit])
    return Page(shown, encode_cursor(key(shown[-1])) if len(entries) > limit else None)


def encode_cursor(key: str) -> str:
    """Return the text that stands for a key: URL-safe, and nothing that invites being put together by hand."""
    return base64.urlsafe_b64encode(key.encode()).decode().rstrip("=")


def decode_cursor(cursor: str, *, longest: int = _LONGEST_CURSOR) -> str:
    """Return the key that a cursor stands for; raises `InvalidInput` for anything that we never made."""
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        key = base64.b64decode(padded, altchars=b"-_", validate=True).decode("ascii")
    except (UnicodeError, binascii.Error):
        key = ""
    if not key or not key.isprintable() or len(cursor) > longest or encode_cursor(key) != cursor:
        raise InvalidInput("/query/cursor", "is not a cursor of this list")
    return key
