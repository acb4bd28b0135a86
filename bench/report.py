"""Results as a table for people and as JSON for comparing."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bench.figure import Figure

_JUDGEMENT = {True: ("met", "green"), False: ("missed", "red"), None: ("", "")}


def results(figures: Sequence[Figure], machine: Mapping[str, str], notes: Sequence[str]) -> dict[str, Any]:
    """Return everything that was measured as JSON values."""
    return {
        "machine": dict(machine),
        "notes": list(notes),
        "figures": [
            {
                "name": figure.name,
                "says": figure.says,
                "value": _short(figure.value),
                "unit": figure.unit,
                "aim": None if figure.aim is None else f"{figure.aim.bound} {figure.aim.value:g}",
                "met": figure.is_met,
                "samples": [_short(sample) for sample in figure.samples],
                "parts": {name: _short(value) for name, value in figure.parts.items()},
            }
            for figure in figures
        ],
    }


def encode(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def table(figures: Sequence[Figure]) -> Table:
    """Return the table that a run prints."""
    grid = Table(box=None, pad_edge=False, header_style="bold")
    grid.add_column("figure")
    grid.add_column("value", justify="right")
    grid.add_column("rounds", justify="right")
    grid.add_column("aim", justify="right")
    grid.add_column("")
    grid.add_column("made of", overflow="fold")
    for figure in figures:
        word, colour = _JUDGEMENT[figure.is_met]
        sign = "" if figure.aim is None else {"at most": "≤", "at least": "≥"}[figure.aim.bound]
        low, high = min(figure.samples), max(figure.samples)
        grid.add_row(
            figure.says,
            Text(f"{number(figure.value)} {figure.unit}".rstrip(), style=colour),
            "" if len(figure.samples) == 1 else f"{number(low)}…{number(high)}",
            "" if figure.aim is None else f"{sign} {figure.aim.value:g}",
            Text(word, style=colour),
            Text(", ".join(f"{name} {number(value)}" for name, value in figure.parts.items()), style="dim"),
        )
    return grid


def print_report(console: Console, figures: Sequence[Figure], machine: Mapping[str, str], notes: Sequence[str]) -> None:
    console.print(Text(" · ".join(f"{name} {value}" for name, value in machine.items()), style="dim"))
    console.print()
    console.print(table(figures))
    for note in notes:
        console.print(Text(f"\n{note}", style="yellow"))


def number(value: float) -> str:
    """Return a number with three digits that count, or all digits before the point."""
    if value == 0 or abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"


def _short(value: float) -> float:
    return round(value, 4)
