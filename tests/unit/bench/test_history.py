"""The history of figures, and the chart that is drawn from it."""

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from bench import chart, history
from bench.__main__ import MEASUREMENTS
from bench.figure import Figure, at_least, at_most
from bench.results import Taken

TAKEN = Taken(commit="abcdef0123", date="2026-01-15T03:00:00+00:00", load=0.5, effort="full")
LATER = replace(TAKEN, date="2026-01-16T03:00:00+00:00")


def figure(name: str, *samples: float) -> Figure:
    return Figure(name, f"what {name} is", samples, aim=at_most(1.05))


def test_a_run_adds_a_line_and_keeps_the_earlier_ones(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    history.append(folder, "first", figure("first.a", 1.0, 1.2, 1.1), TAKEN)
    history.append(folder, "first", figure("first.a", 2.0), LATER)
    assert (folder / "first.jsonl").read_text().count("\n") == 2
    first, second = history.read(folder, ["first", "second"])["first.a"]
    assert first == {
        "name": "first.a",
        "value": 1.1,
        "aim": "at most 1.05",
        "low": 1.0,
        "high": 1.2,
        "commit": "abcdef0123",
        "date": "2026-01-15T03:00:00+00:00",
        "load": 0.5,
        "effort": "full",
    }
    assert second["value"] == 2.0


@pytest.mark.parametrize("torn", [b'{"name": "first.a", "val', b'{"name": "\xe2\x82', b"{"])
def test_half_a_line_spoils_neither_its_neighbours_nor_the_next_run(tmp_path: Path, torn: bytes) -> None:
    history.append(tmp_path, "first", figure("first.a", 1.0), TAKEN)
    with (tmp_path / "first.jsonl").open("ab") as file:
        file.write(torn)
    history.append(tmp_path, "first", figure("first.a", 2.0), LATER)
    assert [each["value"] for each in history.read(tmp_path, ["first"])["first.a"]] == [1.0, 2.0]


def test_lines_that_were_merged_are_read_in_the_order_of_time(tmp_path: Path) -> None:
    history.append(tmp_path, "first", figure("first.a", 2.0), LATER)
    history.append(tmp_path, "first", figure("first.a", 1.0), TAKEN)
    assert [each["value"] for each in history.read(tmp_path, ["first"])["first.a"]] == [1.0, 2.0]


class TestTheChart:
    def test_is_drawn_from_the_history_that_is_kept(self) -> None:
        drawn = chart.draw(history.read(history.FOLDER, list(MEASUREMENTS)))
        assert chart.CHART.read_text() == drawn, "write it with: python -m bench --document"

    def test_shows_each_value_and_whether_it_met_its_aim(self, tmp_path: Path) -> None:
        for value, taken in ((1.0, TAKEN), (1.1, LATER)):
            history.append(tmp_path, "first", figure("first.<a>", value), taken)
        history.append(tmp_path, "first", Figure("first.b", "b", [3.0], aim=at_least(4)), TAKEN)
        history.append(tmp_path, "first", Figure("first.no aim", "c", [3.0]), TAKEN)
        drawn = chart.draw(history.read(tmp_path, ["first"]))
        root = ET.fromstring(drawn)
        assert [each.get("class") for each in root.iter("{http://www.w3.org/2000/svg}circle")] == [
            "met",
            "missed",
            "missed",
        ]
        assert "first.&lt;a&gt;" in drawn
        assert "3.00 · ≥ 4" in drawn
        assert "no aim" not in drawn

    @pytest.mark.parametrize("value", [0.0, 1e-9, 1e9])
    def test_stays_within_its_panel_whatever_the_value(self, tmp_path: Path, value: float) -> None:
        history.append(tmp_path, "first", Figure("first.a", "a", [value], aim=at_most(0)), TAKEN)
        root = ET.fromstring(chart.draw(history.read(tmp_path, ["first"])))
        for circle in root.iter("{http://www.w3.org/2000/svg}circle"):
            assert 0 <= float(circle.get("cy", "nan")) <= 96

    def test_of_no_history_is_a_picture_all_the_same(self) -> None:
        assert ET.fromstring(chart.draw({})).tag.endswith("svg")
