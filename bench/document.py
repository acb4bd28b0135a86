"""The table of docs/benchmarks.md, written from bench/results.json between two markers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench.report import SIGNS, number
from bench.results import replace
from local.settings import ROOT

DOCUMENT = ROOT / "docs" / "benchmarks.md"
BEGIN = "<!-- figures: written by `make bench`, do not edit -->"
END = "<!-- end of figures -->"

_SHOWN = ("processor", "cores", "memory", "python", "postgresql", "psycopg", "pydantic", "aws-lambda-powertools")


def write(results: Mapping[str, Any], file: Path = DOCUMENT) -> None:
    """Put the figures between the markers of a document."""
    replace(file, with_figures(file.read_text(), results))


def with_figures(text: str, results: Mapping[str, Any]) -> str:
    """Return the document with these figures; raises `ValueError` where it does not hold each marker once."""
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        raise ValueError(f"a document holds {BEGIN!r} and {END!r} once each")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{figures(results)}\n{END}{after}"


def figures(results: Mapping[str, Any]) -> str:
    """Return the machine, a table of all figures, and what is missing, as Markdown."""
    machine = results["machine"]
    lines = [
        ", ".join(f"{name} {machine[name]}" for name in _SHOWN if name in machine) + ".",
        "",
        "| figure | value | rounds | aim | | taken |",
        "|---|---|---|---|---|---|",
        *(_row(each) for each in results["figures"]),
    ]
    if results["missing"]:
        lines.append("")
    lines += [f"`{each['measurement']}` has no newer figure: {each['reason']}." for each in results["missing"]]
    return "\n".join(lines) + "\n"


def _row(figure: Mapping[str, Any]) -> str:
    samples, taken = figure["samples"], figure["taken"]
    span = "" if len(samples) == 1 else f"{number(min(samples))}…{number(max(samples))}"
    bound, _, aim = (figure["aim"] or "").rpartition(" ")
    judgement = {True: "met", False: "missed", None: ""}[figure["met"]]
    effort = "" if taken["effort"] == "full" else f", {taken['effort']}"
    columns = (
        figure["says"],
        f"{number(figure['value'])} {figure['unit']}".rstrip(),
        span,
        f"{SIGNS[bound]} {aim}" if bound else "",
        judgement,
        f"{taken['date'][:10]}, `{taken['commit']}`, load {taken['load']:g}{effort}",
    )
    return f"| {' | '.join(columns)} |"
