"""bench/results.json: the newest value of every figure, each with the commit, the day and the load it was taken at."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.figure import Figure
from local.settings import ROOT

FULL = ROOT / "bench" / "results.json"
"""What docs/benchmarks.md shows."""
QUICK = ROOT / ".local" / "bench" / "quick.json"
"""Short rounds say whether everything runs: they are kept out of what is shown."""

_WRITTEN_BY_US = (":!bench/results.json", ":!bench/history", ":!docs/benchmarks.md", ":!docs/benchmarks.svg")


@dataclass(frozen=True)
class Taken:
    """When and of what a figure was taken: `load` is the machine's just before, `effort` is quick or full."""

    commit: str
    date: str
    load: float
    effort: str


def taken_now(effort: str) -> Taken:
    """Return the moment, with the commit that is checked out; `+` behind it: with changes that are not committed."""
    return Taken(_commit(), datetime.now(UTC).isoformat(timespec="seconds"), round(os.getloadavg()[0], 1), effort)


class Results:
    """A file of figures that is written anew for each: a run that is cut short has lost nothing."""

    def __init__(self, file: Path, order: Sequence[str]) -> None:
        """`order` names the measurements, first to last."""
        self._file = file
        self._order = tuple(order)
        document = read(file) if file.exists() else {}
        self._machine: Mapping[str, str] = document.get("machine", {})
        self._figures: list[dict[str, Any]] = [each for each in document.get("figures", []) if self._knows(each)]
        self._missing: list[dict[str, Any]] = [each for each in document.get("missing", []) if self._knows(each)]

    def describe(self, machine: Mapping[str, str]) -> None:
        """Say on which machine the next figures are taken."""
        self._machine = dict(machine)

    def add(self, measurement: str, figure: Figure, taken: Taken) -> None:
        """Write a figure in the place of its last value."""
        self._figures = [each for each in self._figures if each["name"] != figure.name]
        self._figures.append({"measurement": measurement} | as_json(figure) | {"taken": asdict(taken)})
        self._write()

    def finished(self, measurement: str, names: Sequence[str]) -> None:
        """Forget what the measurement once gave beside these figures, and that it once failed."""
        self._figures = [each for each in self._figures if each["measurement"] != measurement or each["name"] in names]
        self._missing = [each for each in self._missing if each["measurement"] != measurement]
        self._write()

    def failed(self, measurement: str, reason: str, taken: Taken) -> None:
        """Write why a measurement gave nothing; the values that it gave before stay, with their own dates."""
        self._missing = [each for each in self._missing if each["measurement"] != measurement]
        self._missing.append({"measurement": measurement, "reason": reason, "taken": asdict(taken)})
        self._write()

    def only(self, measurements: Sequence[str]) -> Mapping[str, Any]:
        """Return the document with nothing but these measurements."""
        document = self._document()
        for part in ("figures", "missing"):
            document[part] = [each for each in document[part] if each["measurement"] in measurements]
        return document

    def _knows(self, entry: Mapping[str, Any]) -> bool:
        return entry.get("measurement") in self._order

    def _document(self) -> dict[str, Any]:
        def place(entry: Mapping[str, Any]) -> int:
            return self._order.index(entry["measurement"])

        return {
            "machine": dict(self._machine),
            "figures": sorted(self._figures, key=place),
            "missing": sorted(self._missing, key=place),
        }

    def _write(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        replace(self._file, encode(self._document()))


def replace(file: Path, text: str) -> None:
    """Write a file anew, whole or not at all: on a full disk, or when this process dies, it stays as it was."""
    new = file.with_suffix(".new")
    try:
        new.write_text(text)
        new.replace(file)
    finally:
        new.unlink(missing_ok=True)


def read(file: Path) -> dict[str, Any]:
    """Return what a file of results holds."""
    document: dict[str, Any] = json.loads(file.read_text())
    return document


def encode(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def as_json(figure: Figure) -> dict[str, Any]:
    """Return a figure's values as JSON values, rounded to four digits."""
    return {
        "name": figure.name,
        "says": figure.says,
        "value": _short(figure.value),
        "unit": figure.unit,
        "aim": None if figure.aim is None else f"{figure.aim.bound} {figure.aim.value:g}",
        "met": figure.is_met,
        "samples": [_short(sample) for sample in figure.samples],
        "parts": {name: _short(value) for name, value in figure.parts.items()},
    }


def _short(value: float) -> float:
    return round(value, 4)


def _commit() -> str:
    def git(*arguments: str) -> str:
        return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()

    try:
        commit = git("rev-parse", "--short=10", "HEAD")
        return commit + "+" * bool(git("status", "--porcelain", "--", ".", *_WRITTEN_BY_US))
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
