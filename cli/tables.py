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


_WHOLE = {"job", "event", "order", "id", "safe?"}
"""Columns that people copy from: never broken over lines, others give way."""


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str = "") -> None:
    """Print rows under their names. Numbers stand to the right; a state has its colour."""
    from rich.markup import escape
    from rich.table import Table

    rows = [list(row) for row in rows]
    table = Table(box=None, pad_edge=False, title=title or None, title_justify="left", title_style="bold")
    for index, name in enumerate(columns):
        right = bool(rows) and all(isinstance(row[index], int) for row in rows)
        table.add_column(name, justify="right" if right else "left", overflow="fold", no_wrap=name in _WHOLE)
    for row in rows:
        table.add_row(*(_coloured(escape(_text(value))) for value in row))
    console().print(table)


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


def _coloured(text: str) -> str:
    colour = _COLOURS.get(text)
    return f"[{colour}]{text}[/{colour}]" if colour else text
