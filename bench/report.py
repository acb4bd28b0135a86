"""Figures as a table for people."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bench.figure import Figure

SIGNS = {"at most": "≤", "at least": "≥"}

_JUDGEMENT = {True: ("met", "green"), False: ("missed", "red"), None: ("", "")}


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
        low, high = min(figure.samples), max(figure.samples)
        grid.add_row(
            figure.says,
            Text(f"{number(figure.value)} {figure.unit}".rstrip(), style=colour),
            "" if len(figure.samples) == 1 else f"{number(low)}…{number(high)}",
            "" if figure.aim is None else f"{SIGNS[figure.aim.bound]} {figure.aim.value:g}",
            Text(word, style=colour),
            Text(", ".join(f"{name} {number(value)}" for name, value in figure.parts.items()), style="dim"),
        )
    return grid


def print_report(
    console: Console, figures: Sequence[Figure], machine: Mapping[str, str], missing: Mapping[str, str]
) -> None:
    """Print the machine, the figures, and the measurements that gave none with the reason of each."""
    console.print(Text(" · ".join(f"{name} {value}" for name, value in machine.items()), style="dim"))
    console.print()
    console.print(table(figures))
    for name, reason in missing.items():
        console.print(Text(f"\nnot measured: {name}: {reason}", style="red"))


def number(value: float) -> str:
    """Return a number with three digits that count, or all digits before the point."""
    if value == 0 or abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"
