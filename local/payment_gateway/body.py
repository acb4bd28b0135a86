"""The fields of what somebody asks the gateway for in our own words; each raises `Refused` naming the field."""

from datetime import datetime
from typing import Any

from emulator.gateway.problems import Refused
from skincare.text import flaw, is_blank

_LONGEST = 128


def text(body: dict[str, Any], name: str) -> str:
    """Return a text with something to look at."""
    value = body.get(name)
    if not isinstance(value, str) or len(value) > _LONGEST or flaw(value) or is_blank(value):
        raise invalid(name)
    return value


def rupiah(body: dict[str, Any], name: str, *, least: int = 1) -> int:
    """Return a whole number of rupiah."""
    value = body.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise invalid(name)
    return value


def moment(body: dict[str, Any], name: str) -> str:
    """Return a time with its zone, as it was written (RFC 3339)."""
    written = text(body, name)
    try:
        has_zone = datetime.fromisoformat(written).tzinfo is not None
    except ValueError:
        has_zone = False
    if not has_zone:
        raise invalid(name)
    return written


def invalid(name: str) -> Refused:
    """Return what says that a field cannot be used."""
    return Refused(422, "validation_failed", "The request is invalid", f"The field {name} cannot be used.")
