"""Identifiers: what they look like and how new ones are made."""

import re
import secrets
import time
import unicodedata
from typing import NewType
from uuid import UUID

JobId = NewType("JobId", UUID)
LeaseToken = NewType("LeaseToken", UUID)
UserId = NewType("UserId", str)
OrderNumber = NewType("OrderNumber", str)
Sku = NewType("Sku", str)

# Crockford's base 32: no I, L, O or U, so that a number read out over the phone is heard right.
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_LETTER = "[0-9A-HJKMNP-TV-Z]"

ORDER_NUMBER_PATTERN = f"^SKN-{_LETTER}{{5}}-{_LETTER}{{5}}$"
"""An order number as we write it. `$` is the end of the text, as JSON Schema means it."""
CREDIT_NOTE_PATTERN = "^CN/[0-9]{4}/[0-9]{6,10}$"
REFUND_KEY_PATTERN = "^[A-Za-z0-9][A-Za-z0-9-]{0,63}$"
STOCK_KEY_PATTERN = "^[!-~]{1,255}$"
UUID_PATTERN = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
"""A UUID as `str` writes it."""

_SKU = re.compile("[A-Z0-9][A-Z0-9-]{0,31}")
_ORDER_NUMBER = re.compile(ORDER_NUMBER_PATTERN)
_SPOKEN = re.compile(f"(?:SKN)?({_LETTER}{{5}})({_LETTER}{{5}})")
# The letters that the alphabet lacks because they are taken for these.
_MISHEARD = str.maketrans("OIL", "011")


def uuid7() -> UUID:
    """Return a version 7 UUID (RFC 9562, 5.7): 60 bits of time, as 6.2 allows (method 3), then 62 random bits.

    One that a thread makes later is greater, also within a millisecond, unless the clock was set back. So the indexes
    of new rows stay on few pages, and lists by identifier show what is newest. Not a secret.
    """
    milliseconds, rest = divmod(time.time_ns(), 1_000_000)
    moment = (milliseconds & 0xFFFF_FFFF_FFFF) << 16 | 0x7 << 12 | rest * 4096 // 1_000_000
    return UUID(int=moment << 64 | 0x2 << 62 | secrets.randbits(62))


def new_job_id() -> JobId:
    """Return the identifier of a new job."""
    return JobId(uuid7())


def new_order_number() -> OrderNumber:
    """Return `SKN-XXXXX-XXXXX`: 50 random bits, readable, and of no use for counting our orders."""
    bits = secrets.randbits(50)
    letters = "".join(_ALPHABET[bits >> shift & 31] for shift in range(0, 50, 5))
    return OrderNumber(f"SKN-{letters[:5]}-{letters[5:]}")


def is_sku(text: str) -> bool:
    """Tell whether a text is a SKU as we write it."""
    return _SKU.fullmatch(text) is not None


def read_sku(text: str) -> Sku:
    """Return the SKU that somebody has typed, in capitals.

    Raises `ValueError`, whose message does not repeat the text.
    """
    sku = text.strip().upper()
    if not text.isascii() or not is_sku(sku):
        raise ValueError("must be a SKU such as SERUM-30: letters, digits and hyphens, at most 32")
    return Sku(sku)


def is_order_number(text: str) -> bool:
    """Tell whether a text is an order number as we write it, and not only as somebody may say it."""
    return _ORDER_NUMBER.fullmatch(text) is not None


def read_order_number(text: str) -> OrderNumber:
    """Return the number that somebody has typed or heard, in the form in which we write it.

    Case, blanks and hyphens, also typographic ones, do not matter; O is read as 0, I and L as 1; SKN may be left out.
    Raises `ValueError`, whose message does not repeat the text.
    """
    letters = "".join(character for character in text if not _separates(character))
    # Not before the check: the capital of a dotless i is an I.
    spoken = _SPOKEN.fullmatch(letters.upper().translate(_MISHEARD)) if letters.isascii() else None
    if spoken is None:
        raise ValueError("must be an order number such as SKN-4T9QX-0M7KD")
    return OrderNumber(f"SKN-{spoken[1]}-{spoken[2]}")


def _separates(character: str) -> bool:
    return character.isspace() or character == "\N{MINUS SIGN}" or unicodedata.category(character) == "Pd"
