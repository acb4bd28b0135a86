"""bench/history: a line of JSON for each figure of each full run, so that a value can be compared with earlier ones."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.figure import Figure
from bench.results import Taken, as_json
from local.settings import ROOT

FOLDER = ROOT / "bench" / "history"


def append(folder: Path, measurement: str, figure: Figure, taken: Taken) -> None:
    """Add a figure to its measurement's file; behind half a line, which a full disk leaves, a new one begins."""
    values = as_json(figure)
    line = {name: values[name] for name in ("name", "value", "aim")}
    line |= {"low": min(values["samples"]), "high": max(values["samples"])}
    line |= {"commit": taken.commit, "date": taken.date, "load": taken.load, "effort": taken.effort}
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{measurement}.jsonl").open("a+b") as file:
        end = file.tell()
        if end:
            file.seek(end - 1)
        whole = not end or file.read(1) == b"\n"
        file.write(b"\n" * (not whole) + json.dumps(line, ensure_ascii=False).encode() + b"\n")


def read(folder: Path, measurements: Sequence[str]) -> dict[str, list[Mapping[str, Any]]]:
    """Return each figure's lines, oldest first, in the order of these measurements; half a line is passed over."""
    figures: dict[str, list[Mapping[str, Any]]] = {}
    for measurement in measurements:
        file = folder / f"{measurement}.jsonl"
        for line in file.read_text(errors="replace").splitlines() if file.exists() else []:
            try:
                each = json.loads(line)
            except ValueError:
                continue
            figures.setdefault(each["name"], []).append(each)
    for lines in figures.values():
        lines.sort(key=lambda each: each["date"])
    return figures
