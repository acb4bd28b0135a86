"""What `make bench` writes: figure by figure, and the document that shows them."""

import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from rich.console import Console

from bench import document, history
from bench.__main__ import MEASUREMENTS
from bench.environment import BenchEnvironment, Effort, NotMeasured
from bench.figure import Figure, at_most
from bench.results import FULL, QUICK, Results, Taken, read, taken_now
from bench.run import Measurement, Outcome, run

TAKEN = Taken(commit="abcdef0123", date="2026-01-15T03:00:00+00:00", load=0.5, effort="full")
ORDER = ["first", "second"]


def figure(name: str, *samples: float) -> Figure:
    return Figure(
        name, f"what {name} is", samples or [1.0, 1.04, 1.5], aim=at_most(1.05), parts={"ours (µs)": 12.34567}
    )


def values(file: Path) -> dict[str, float]:
    return {each["name"]: each["value"] for each in read(file)["figures"]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "new folder" / "results.json"


class TestResults:
    def test_hold_everything_that_a_figure_says_and_when_it_was_taken(self, file: Path) -> None:
        results = Results(file, ORDER)
        results.describe({"cores": "2"})
        results.add("first", figure("first.a"), TAKEN)
        assert read(file) == {
            "machine": {"cores": "2"},
            "figures": [
                {
                    "measurement": "first",
                    "name": "first.a",
                    "says": "what first.a is",
                    "value": 1.04,
                    "unit": "×",
                    "aim": "at most 1.05",
                    "met": True,
                    "samples": [1.0, 1.04, 1.5],
                    "parts": {"ours (µs)": 12.3457},
                    "taken": {
                        "commit": "abcdef0123",
                        "date": "2026-01-15T03:00:00+00:00",
                        "load": 0.5,
                        "effort": "full",
                    },
                }
            ],
            "missing": [],
        }

    def test_keep_the_figures_that_a_later_run_does_not_take(self, file: Path) -> None:
        earlier = Results(file, ORDER)
        earlier.add("second", figure("second.a", 2.0), TAKEN)
        earlier.add("first", figure("first.a", 1.0), TAKEN)
        Results(file, ORDER).add("first", figure("first.a", 3.0), TAKEN)
        assert list(values(file).items()) == [("first.a", 3.0), ("second.a", 2.0)]

    def test_forget_a_figure_that_its_measurement_no_longer_gives(self, file: Path) -> None:
        results = Results(file, ORDER)
        for name in ("first.a", "first.gone"):
            results.add("first", figure(name), TAKEN)
        results.finished("first", ["first.a"])
        assert list(values(file)) == ["first.a"]

    def test_forget_a_measurement_that_is_no_more(self, file: Path) -> None:
        Results(file, ORDER).add("second", figure("second.a"), TAKEN)
        Results(file, ["first"]).add("first", figure("first.a"), TAKEN)
        assert list(values(file)) == ["first.a"]

    def test_know_the_commit_that_is_checked_out(self) -> None:
        taken = taken_now("quick")
        assert taken.effort == "quick"
        assert len(taken.commit.rstrip("+")) == 10 or taken.commit == "unknown"

    def test_do_without_a_commit_where_git_is_absent(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "/nowhere")
        assert taken_now("full").commit == "unknown"


def measurement(*figures: Figure, then: Exception | None = None) -> Measurement:
    def measure(*_: object) -> Iterator[Figure]:
        yield from figures
        if then is not None:
            raise then

    return measure


class TestARun:
    def run(self, file: Path, wanted: Sequence[str] = ORDER, **measurements: Measurement) -> Outcome:
        return run(
            measurements,
            wanted,
            cast(BenchEnvironment, None),
            effort="quick",
            results=Results(file, ORDER),
            progress=Console(file=io.StringIO()),
        )

    def test_names_what_fails_and_goes_on(self, file: Path) -> None:
        outcome = self.run(
            file,
            first=measurement(figure("first.a", 1.0), then=RuntimeError("9 of 10 mails were sent\nand more")),
            second=measurement(figure("second.a", 2.0)),
        )
        assert outcome.missing == {"first": "RuntimeError: 9 of 10 mails were sent"}
        assert values(file) == {"first.a": 1.0, "second.a": 2.0}
        assert [each["measurement"] for each in read(file)["missing"]] == ["first"]

    def test_names_what_cannot_be_measured_here(self, file: Path) -> None:
        outcome = self.run(file, ["first"], first=measurement(then=NotMeasured("redis is not there")))
        assert outcome.missing == {"first": "redis is not there"}

    def test_that_succeeds_takes_the_failure_back(self, file: Path) -> None:
        self.run(file, ["first"], first=measurement(then=ValueError()))
        assert read(file)["missing"][0]["reason"] == "ValueError"
        assert self.run(file, ["first"], first=measurement(figure("first.a"))).missing == {}
        assert read(file)["missing"] == []

    def test_has_written_each_figure_before_the_next_is_taken(self, file: Path) -> None:
        seen: list[list[str]] = []

        def measure(*_: object) -> Iterator[Figure]:
            for name in ("first.a", "first.b"):
                seen.append(list(values(file)) if file.exists() else [])
                yield figure(name)

        self.run(file, ["first"], first=measure)
        assert seen == [[], ["first.a"]]

    def test_whose_results_cannot_be_written_says_so_and_goes_on(self, file: Path) -> None:
        """A full disk, say: nothing can be written, and what was written before is as it was."""
        self.run(file, ["first"], first=measurement(figure("first.a", 1.0)))
        before = file.read_text()
        file.with_suffix(".new").mkdir()
        outcome = self.run(
            file, first=measurement(figure("first.a", 9.0)), second=measurement(then=RuntimeError("no mail"))
        )
        assert list(outcome.missing) == ["first", "second"]
        assert "IsADirectoryError" in outcome.missing["first"]
        assert file.read_text() == before

    def test_whose_results_do_not_fit_on_the_disk_leaves_the_earlier_ones(self, file: Path) -> None:
        Results(file, ORDER).add("first", figure("first.a", 1.0), TAKEN)
        before = file.read_text()
        file.with_suffix(".new").symlink_to("/dev/full")
        with pytest.raises(OSError, match="No space left"):
            Results(file, ORDER).add("first", figure("first.a", 9.0), TAKEN)
        assert file.read_text() == before
        assert [each.name for each in file.parent.iterdir()] == [file.name]

    def test_takes_a_number_of_lives_in_place_of_its_own(self, file: Path) -> None:
        efforts: list[Effort] = []

        def measure(_: BenchEnvironment, effort: Effort) -> Iterator[Figure]:
            efforts.append(effort)
            yield from ()

        for lives in (None, 30_000):
            run(
                {"first": measure},
                ["first"],
                cast(BenchEnvironment, None),
                effort="quick",
                lives=lives,
                results=Results(file, ORDER),
                progress=Console(file=io.StringIO()),
            )
        assert [effort.lives for effort in efforts] == [20_000, 30_000]

    def test_that_is_shown_is_added_to_the_history(self, file: Path, tmp_path: Path) -> None:
        run(
            {"first": measurement(figure("first.a"), then=RuntimeError())},
            ["first"],
            cast(BenchEnvironment, None),
            effort="full",
            results=Results(file, ORDER),
            progress=Console(file=io.StringIO()),
            history=tmp_path / "history",
        )
        assert list(history.read(tmp_path / "history", ORDER)) == ["first.a"]


class TestTheDocument:
    def test_shows_the_results_that_are_kept(self) -> None:
        text = document.DOCUMENT.read_text()
        assert text == document.with_figures(text, read(FULL)), "write it with: python -m bench --document"

    def test_describes_every_measurement(self) -> None:
        text = document.DOCUMENT.read_text()
        missing = [name for name in MEASUREMENTS if f"\n| `{name}` | " not in text]
        assert missing == []

    def test_shows_a_figure_of_every_measurement_or_why_there_is_none(self) -> None:
        kept = read(FULL)
        assert {each["measurement"] for part in ("figures", "missing") for each in kept[part]} == set(MEASUREMENTS)

    def test_says_of_each_figure_when_it_was_taken_and_whether_in_short_rounds(self, file: Path) -> None:
        results = Results(file, ORDER)
        results.describe({"cores": "2", "system": "not told"})
        results.add("first", figure("first.a"), TAKEN)
        results.add("second", figure("second.a", 0.0), Taken("0123456789+", "2026-02-01T00:00:00+00:00", 12.0, "quick"))
        results.failed("second", "redis is not there", TAKEN)
        assert document.figures(read(file)).splitlines() == [
            "cores 2.",
            "",
            "| figure | value | rounds | aim | | taken |",
            "|---|---|---|---|---|---|",
            "| what first.a is | 1.04 × | 1.00…1.50 | ≤ 1.05 | met | 2026-01-15, `abcdef0123`, load 0.5 |",
            "| what second.a is | 0 × |  | ≤ 1.05 | met | 2026-02-01, `0123456789+`, load 12, quick |",
            "",
            "`second` has no newer figure: redis is not there.",
        ]

    @pytest.mark.parametrize("spoil", [str.upper, lambda text: text * 2, lambda text: text.replace(document.END, "")])
    def test_without_both_markers_is_not_written(self, spoil: Callable[[str], str]) -> None:
        text = spoil(f"before\n{document.BEGIN}\nold\n{document.END}\nafter\n")
        with pytest.raises(ValueError, match="once each"):
            document.with_figures(text, {"machine": {}, "figures": [], "missing": []})

    def test_keeps_what_stands_around_the_figures(self) -> None:
        empty: dict[str, Any] = {"machine": {}, "figures": [], "missing": []}
        once = document.with_figures(f"before\n{document.BEGIN}\nold\n{document.END}\nafter\n", empty)
        assert once.startswith("before\n")
        assert once.endswith("\nafter\n")
        assert "old" not in once
        assert document.with_figures(once, empty) == once


def test_quick_figures_are_kept_out_of_the_ones_that_are_shown() -> None:
    assert QUICK != FULL
    assert ".local" in QUICK.parts
