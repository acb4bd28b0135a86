"""What the signatures of several gateways have in common."""

import base64
import binascii
import hmac
import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from skincare.payments.errors import SignatureInvalid
from skincare.payments.models import Webhook

OLDEST = timedelta(seconds=300)
NEWEST = timedelta(seconds=60)
"""How far a signed time may lie behind and ahead of our clock.

A wide window ahead would let a captured request live for twice as long, and none at all would refuse true
ones whenever our clock is behind.
"""

# A comma would mean that the header was sent twice: then nobody can say which one the gateway meant.
_PLAIN = re.compile(r"[!-+\x2d-~]{1,255}")


def plain_header(webhook: Webhook, name: str) -> str:
    """Return a header of 1 to 255 visible ASCII characters without a comma; raises `SignatureInvalid`."""
    value = webhook.headers.get(name, "")
    if not _PLAIN.fullmatch(value):
        raise SignatureInvalid(f"the header {name} is missing, repeated or malformed")
    return value


def check_time(sent_at: datetime, now: datetime) -> None:
    """Raise `SignatureInvalid` for a time outside the window."""
    if not now - OLDEST <= sent_at <= now + NEWEST:
        raise SignatureInvalid("its time is too far from ours")


def matches_any(given: bytes, expected: Iterable[bytes]) -> bool:
    """Compare with each in constant time; what is given must be the very text that we would have written."""
    found = False
    for each in expected:
        found |= hmac.compare_digest(given, each)
    return found


def seconds_since_1970(text: str) -> datetime:
    """Read a Unix time; raises `SignatureInvalid` for anything but plain digits."""
    if not re.fullmatch(r"[0-9]{1,11}", text):
        raise SignatureInvalid("its time is not a number of seconds")
    return datetime.fromtimestamp(int(text), UTC)


def base64_bytes(text: str) -> bytes | None:
    """Return what a text encodes, or None where it is no base64."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
