"""What people read: aligned, in colour on a terminal; and what programs read."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from skincare.moments import iso, shown
from skincare.money import rupiah
from skincare.text import escaped

_FILE_WIDTH = 240
"""Where nobody looks at a screen lines are not broken."""

_COLOURS = {
    "completed": "green",
    "dead_letter": "red",
    "cancelled": "dim",
    "processing": "cyan",
    "retry_waiting": "yellow",
    "yes": "green",
    "no": "red",
}


class Rupiah(int):
    """Whole rupiah, in a column of amounts."""


def print_json(value: object) -> None:
    """Print a value of the function's answers, or anything made of them, as JSON; times are UTC."""
    print(json.dumps(value, default=_jsonable, indent=2))


_WHOLE = {"job", "event", "order", "id", "subject", "safe?"}
"""Columns that people copy from: never broken over lines, others give way."""
_LONGEST_WORD = 30
"""Characters of a word that are kept together: people copy job types and classes of errors, too."""


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str = "") -> None:
    """Print rows under their names. Numbers stand to the right; a state has its colour.

    On a terminal that is too narrow for the columns each row is printed by itself, a line for each name.
    """
    from rich.table import Table
    from rich.text import Text

    rows = [list(row) for row in rows]
    screen = console()
    if title:
        screen.print(Text(title, style="bold"))
    texts = [[name, *(_text(row[index]) for row in rows)] for index, name in enumerate(columns)]
    whole = [
        name in _WHOLE or any(isinstance(row[index], Rupiah) for row in rows) for index, name in enumerate(columns)
    ]
    widths = _widths(texts, whole, screen.width)
    if screen.is_terminal and widths is None:
        _print_each(screen, columns, rows)
        return
    table = Table(box=None, pad_edge=False)
    for index, name in enumerate(columns):
        right = bool(rows) and all(isinstance(row[index], int) for row in rows)
        table.add_column(
            name,
            justify="right" if right else "left",
            overflow="fold",
            no_wrap=whole[index],
            width=widths[index] if widths else None,
        )
    for row in rows:
        table.add_row(*map(_cell, row))
    screen.print(table)


def _widths(columns: Sequence[Sequence[str]], whole: Sequence[bool], room: int) -> list[int] | None:
    """Return the widths at which no word of a column breaks, None where there is not the room for that."""
    longest = [max(map(len, texts)) for texts in columns]
    words = [max((len(word) for text in texts for word in text.split()), default=0) for texts in columns]
    least = [most if kept else min(word, _LONGEST_WORD) for most, word, kept in zip(longest, words, whole, strict=True)]
    spare = room - sum(least) - 2 * (len(columns) - 1)
    if spare < 0:
        return None
    wanted = [most - few for most, few in zip(longest, least, strict=True)]
    shared = min(spare, sum(wanted))
    return [few + shared * more // max(sum(wanted), 1) for few, more in zip(least, wanted, strict=True)]


def _print_each(screen: Any, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    from rich.table import Table

    for number, row in enumerate(rows):
        if number:
            screen.print()
        table = Table(box=None, pad_edge=False, show_header=False)
        table.add_column(no_wrap=True, style="dim")
        table.add_column(overflow="fold")
        for name, value in zip(columns, row, strict=True):
            if _text(value):
                table.add_row(name, _cell(value))
        screen.print(table)


def print_said(columns: Sequence[str], rows: Sequence[Sequence[object]], *, title: str = "") -> None:
    """Print a table without the columns that are empty in every row: a narrow screen has no room for them."""
    said = [index for index in range(len(columns)) if any(row[index] not in {None, "", 0} for row in rows)]
    print_table([columns[index] for index in said], [[row[index] for index in said] for row in rows], title=title)


def print_facts(facts: Mapping[str, object]) -> None:
    """Print names with their values, one a line; what is None is left out."""
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        if value is not None:
            print(f"{name:<{width}}  {_text(value)}")


def console() -> Any:
    """Return where tables go."""
    from rich.console import Console

    found = Console()
    if not found.is_terminal:
        found.width = _FILE_WIDTH
    return found


def age(moment: datetime) -> str:
    """Return how long ago a moment was, in its two largest units."""
    return duration((datetime.now(UTC) - moment).total_seconds())


def duration(seconds: float) -> str:
    """Return a span of time in its two largest units, such as `2 d 3 h`."""
    left = max(int(seconds), 0)
    parts: list[str] = []
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        count, left = divmod(left, size)
        if count or (unit == "s" and not parts):
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2])


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case datetime():
            return shown(value)
        case Rupiah():
            return rupiah(value)
        case _:
            # Untrusted text must not move the cursor, colour the screen or look like another text.
            return escaped(str(value))


def _jsonable(value: object) -> object:
    match value:
        case datetime():
            return iso(value)
        case UUID():
            return str(value)
        case _ if is_dataclass(value) and not isinstance(value, type):
            return {field.name: getattr(value, field.name) for field in fields(value)}
        case _:
            raise TypeError(type(value).__name__)


def _cell(value: object) -> str:
    from rich.markup import escape

    return _coloured(escape(_text(value)))


def _coloured(text: str) -> str:
    colour = _COLOURS.get(text)
    return f"[{colour}]{text}[/{colour}]" if colour else text
