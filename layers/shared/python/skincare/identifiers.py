"""Identifiers: what they look like and how new ones are made."""

import secrets
import time
from typing import NewType
from uuid import UUID

JobId = NewType("JobId", UUID)
LeaseToken = NewType("LeaseToken", UUID)
UserId = NewType("UserId", str)
OrderNumber = NewType("OrderNumber", str)
Sku = NewType("Sku", str)

# Crockford's base 32: no I, L, O or U, so that a number read out over the phone is heard right.
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def uuid7() -> UUID:
    """Return a version 7 UUID (RFC 9562, 5.7): 48 bits of milliseconds, then random bits.

    Ordered by time, so that the indexes of new rows stay on few pages. Not a secret.
    """
    milliseconds = time.time_ns() // 1_000_000
    value = (milliseconds & 0xFFFF_FFFF_FFFF) << 80 | secrets.randbits(80)
    value = value & ~(0xF << 76) | 0x7 << 76
    return UUID(int=value & ~(0x3 << 62) | 0x2 << 62)


def new_job_id() -> JobId:
    """Return the identifier of a new job."""
    return JobId(uuid7())


def new_order_number() -> OrderNumber:
    """Return `SKN-XXXXX-XXXXX`: 50 random bits, readable, and of no use for counting our orders."""
    bits = secrets.randbits(50)
    letters = "".join(_ALPHABET[bits >> shift & 31] for shift in range(0, 50, 5))
    return OrderNumber(f"SKN-{letters[:5]}-{letters[5:]}")
