"""Moments: how people read them and how they type them.

What is printed names its year and its zone and can be typed back. The zone is the shop's, WIB; that of the machine
plays no role. Programs get UTC.
"""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo

# No name of the time zone database: an image of Lambda may have no such files, and Jakarta has no summer time.
WIB = timezone(timedelta(hours=7), "WIB")
"""Western Indonesian time: the shop's clock, day and year."""

_ZONES: dict[str, tzinfo] = {"": WIB, "WIB": WIB, "UTC": UTC, "Z": UTC}
_TYPED = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[ T]([0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?))?"
    r" ?(WIB|UTC|Z|[+-][0-9]{2}:?[0-9]{2}|)"
)
_SPAN = re.compile(r"([0-9]{1,6})(min|h|d)")
_UNITS = {"min": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


def shown(moment: datetime) -> str:
    """Return a moment for people, to the second: `2026-11-30 22:27:52 WIB`."""
    try:
        here = moment.astimezone(WIB)
    except OverflowError:  # the last hours of the year 9999, which untrusted input may name
        return f"{_plain(moment.astimezone(UTC))} UTC"
    return f"{_plain(here)} WIB"


def iso(moment: datetime) -> str:
    """Return a moment for programs: `2026-11-30T15:27:52.123456Z`."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def read_moment(text: str) -> datetime:
    """Return the moment that somebody has typed, in UTC.

    It is a day, or a day and a time, of WIB unless it ends in `UTC`, `Z` or an offset such as `+08:00`. What `shown`
    and `iso` print can be read. Raises `ValueError`, whose message does not repeat the text.
    """
    typed = _TYPED.fullmatch(" ".join(text.upper().split()))
    try:
        # An empty text is no time either.
        day, time, zone = typed.groups() if typed else ("", "", "")
        read = datetime.fromisoformat(f"{day}T{time or '00:00'}{'' if zone in _ZONES else zone}")
        return (read if read.tzinfo else read.replace(tzinfo=_ZONES[zone])).astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError("must be a time such as 2026-11-30 22:27:52 WIB; without a zone it is WIB") from None


def read_span(text: str) -> timedelta:
    """Return the span of time that somebody has typed: a whole number of `min`, `h` or `d`. Raises `ValueError`."""
    typed = _SPAN.fullmatch("".join(text.lower().split()))
    if typed is None:
        raise ValueError("must be a span of time such as 2d, 12h or 30min")
    return int(typed[1]) * _UNITS[typed[2]]


def _plain(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat(" ", "seconds")
