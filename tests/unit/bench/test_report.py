"""What `make bench` prints."""

import io

import pytest
from rich.console import Console

from bench.figure import Figure, at_most
from bench.report import number, print_report

FIGURES = [
    Figure("a.met", "a figure", [1.0, 1.04, 1.5], aim=at_most(1.05), parts={"ours (µs)": 123.456}),
    Figure("a.missed", "another", [2.0], unit="ms", aim=at_most(1)),
    Figure("a.told", "a third", [3.0]),
]


class TestTheTable:
    def printed(self, *, colour: bool) -> str:
        text = io.StringIO()
        console = Console(file=text, width=200, force_terminal=colour, color_system="standard" if colour else None)
        print_report(console, FIGURES, {"cores": "2"}, {"jobs": "redis is not there"})
        return text.getvalue()

    def test_says_what_was_met_and_what_was_missed(self) -> None:
        text = self.printed(colour=False)
        line = next(line for line in text.splitlines() if line.startswith("a figure"))
        assert line.split() == ["a", "figure", "1.04", "×", "1.00…1.50", "≤", "1.05", "met", "ours", "(µs)", "123"]
        assert "missed" in next(line for line in text.splitlines() if line.startswith("another"))
        assert "not measured: jobs: redis is not there" in text

    def test_is_coloured_on_a_terminal_only(self) -> None:
        green, red = "\x1b[32m", "\x1b[31m"
        assert f"{green}met" in self.printed(colour=True)
        assert f"{red}missed" in self.printed(colour=True)
        assert "\x1b[" not in self.printed(colour=False)

    @pytest.mark.parametrize(
        ("value", "text"),
        [(0, "0"), (0.123, "0.12"), (9.999, "10.00"), (12.34, "12.3"), (123.4, "123"), (12345, "12345")],
    )
    def test_shows_the_digits_that_count(self, value: float, text: str) -> None:
        assert number(value) == text
