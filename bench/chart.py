"""docs/benchmarks.svg: each figure that has an aim over its last runs, in small panels beside each other."""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from bench.report import SIGNS, number
from bench.results import replace
from local.settings import ROOT

CHART = ROOT / "docs" / "benchmarks.svg"

_COLUMNS, _WIDTH, _HEIGHT, _GAP = 3, 280, 96, 16
_TOP, _BOTTOM = 30, 84
"""Between these a panel draws its values."""
_RUNS = 20

# One picture for both: the page's own background shows through, and the colours follow the reader's setting.
_STYLE = """
    text { font: 12px system-ui, sans-serif; fill: #1f2328 }
    .quiet { fill: #59636e } .line { stroke: #0969da } .met { fill: #0969da } .missed { fill: #bc4c00 }
    .aim { stroke: #59636e; stroke-dasharray: 3 3 } .frame { stroke: #d1d9e0 }
    @media (prefers-color-scheme: dark) {
      text { fill: #f0f6fc } .quiet { fill: #9198a1 } .line { stroke: #4493f8 } .met { fill: #4493f8 }
      .missed { fill: #f0883e } .aim { stroke: #9198a1 } .frame { stroke: #3d444d }
    }
  """


def draw(history: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Return the picture; the same history gives the same bytes. A figure whose newest line has no aim is left out."""
    shown = [(name, lines[-_RUNS:]) for name, lines in history.items() if lines[-1]["aim"]]
    rows = -(-len(shown) // _COLUMNS)
    width, height = _COLUMNS * (_WIDTH + _GAP) - _GAP, max(rows * (_HEIGHT + _GAP) - _GAP, 1)
    panels = [
        _panel(name, lines, x=index % _COLUMNS * (_WIDTH + _GAP), y=index // _COLUMNS * (_HEIGHT + _GAP))
        for index, (name, lines) in enumerate(shown)
    ]
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
            f' viewBox="0 0 {width} {height}" role="img" aria-label="figures over their last runs">',
            f"  <style>{_STYLE}</style>",
            *panels,
            "</svg>",
            "",
        )
    )


def write(history: Mapping[str, Sequence[Mapping[str, Any]]], file: Path = CHART) -> None:
    """Draw the picture into a file."""
    replace(file, draw(history))


def _panel(name: str, lines: Sequence[Mapping[str, Any]], *, x: int, y: int) -> str:
    bound, _, limit = lines[-1]["aim"].rpartition(" ")
    aim, values = float(limit), [float(each["value"]) for each in lines]
    highest = max(*values, aim) * 1.1 or 1.0

    def at(value: float) -> float:
        return _BOTTOM - (_BOTTOM - _TOP) * value / highest

    step = (_WIDTH - 16) / max(len(values) - 1, 1)
    points = [(8 + step * index, at(value)) for index, value in enumerate(values)]
    met = [value <= aim if bound == "at most" else value >= aim for value in values]
    drawn = [
        f'<g transform="translate({x} {y})">',
        f"  <title>{escape(name)}: {', '.join(number(value) for value in values)}</title>",
        f'  <rect class="frame" x=".5" y=".5" width="{_WIDTH - 1}" height="{_HEIGHT - 1}" rx="6" fill="none"/>',
        f'  <text x="8" y="18">{escape(name)}</text>',
        f'  <text class="quiet" x="{_WIDTH - 8}" y="18" text-anchor="end">'
        f"{number(values[-1])} · {SIGNS[bound]} {aim:g}</text>",
        f'  <line class="aim" x1="8" x2="{_WIDTH - 8}" y1="{at(aim):.1f}" y2="{at(aim):.1f}"/>',
        f'  <polyline class="line" fill="none" points="{" ".join(f"{px:.1f},{py:.1f}" for px, py in points)}"/>',
        *(
            f'  <circle class="{"met" if well else "missed"}" cx="{px:.1f}" cy="{py:.1f}" r="3"/>'
            for (px, py), well in zip(points, met, strict=True)
        ),
        "</g>",
    ]
    return "\n".join("  " + line for line in drawn)
