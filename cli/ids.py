"""Ids of jobs and payment events: typed by their beginning, and printed so that they can be copied."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

import typer

from cli.oncall import Exit, OnCall, end
from cli.tables import console

if TYPE_CHECKING:
    from oncall.job_requests import Kind

FEWEST_DIGITS = 4
_SHORT = 18
"""Characters of a shortened id: its time to the millisecond and four random digits, almost always of one row only."""
_WIDE = 140
_AT_ONCE = 100
_WORDS = {"job": "job", "payment_event": "payment event"}


def shown(row_id: str) -> str:
    """Return an id as a table prints it: whole where there is room or nobody looks, otherwise its beginning."""
    screen = console()
    return row_id[:_SHORT] if screen.is_terminal and screen.width < _WIDE else row_id


def job_ids(oncall: OnCall, words: Sequence[str]) -> list[UUID]:
    """Return the jobs that people mean by whole ids or by how they begin, each once; ends the command where unclear."""
    from oncall.job_requests import Kind

    return _ids(oncall, Kind.JOB, words)


def event_id(oncall: OnCall, word: str) -> UUID:
    """Return the payment event that somebody means, as `job_ids` does."""
    from oncall.job_requests import Kind

    return _ids(oncall, Kind.PAYMENT_EVENT, [word])[0]


def _ids(oncall: OnCall, kind: "Kind", words: Sequence[str]) -> list[UUID]:
    beginnings = {word: _digits(word) for word in words}
    found = {word: UUID(digits) for word, digits in beginnings.items() if len(digits) == 32}
    short = {word: digits for word, digits in beginnings.items() if word not in found}
    found |= _looked_up(oncall, kind, short)
    return list(dict.fromkeys(found[word] for word in words))


def look_like_ids(words: Sequence[str] | None) -> Sequence[str] | None:
    """Refuse words that are no beginning of an id, before the system is asked about any: a callback of typer."""
    for word in words or ():
        _digits(word)
    return words


def looks_like_an_id(word: str) -> str:
    """Refuse a word that is no beginning of an id: a callback of typer."""
    _digits(word)
    return word


def an_event(sentence: str) -> Any:
    """Return the argument that is a payment event."""
    return typer.Argument(metavar="EVENT", callback=looks_like_an_id, help=sentence)


def _digits(word: str) -> str:
    digits = word.strip().replace("-", "").lower()
    if not re.fullmatch(f"[0-9a-f]{{{FEWEST_DIGITS},32}}", digits):
        raise typer.BadParameter(f"{word!r} is no id: hexadecimal digits and hyphens, at least {FEWEST_DIGITS} digits")
    return digits


def _looked_up(oncall: OnCall, kind: "Kind", short: dict[str, str]) -> dict[str, UUID]:
    from oncall.job_requests import FindIds

    found: dict[str, UUID] = {}
    for start in range(0, len(short), _AT_ONCE):
        words = list(short)[start : start + _AT_ONCE]
        matches = oncall.ask(FindIds(kind=kind, beginnings=[short[word] for word in words])).matches
        for word, match in zip(words, matches, strict=True):
            if not match.ids:
                end(Exit.NOT_ALL, f"No {_WORDS[kind]} begins with {word}.")
            if len(match.ids) > 1:
                more = "\n  …" if match.more else ""
                listed = "".join(f"\n  {row_id}" for row_id in match.ids)
                end(Exit.WRONG, f"Several {_WORDS[kind]}s begin with {word}; type more of it:{listed}{more}")
            found[word] = UUID(match.ids[0])
    return found
