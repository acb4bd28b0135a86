"""One run: measurement after measurement, whatever becomes of each."""

import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.console import Console

from bench.environment import FULL, QUICK, BenchEnvironment, Effort, NotMeasured
from bench.figure import Figure
from bench.history import append
from bench.results import Results, taken_now

type Measurement = Callable[[BenchEnvironment, Effort], Iterator[Figure]]


@dataclass
class Outcome:
    """What a run gave: its figures, and the reason of each measurement that gave not all of its own."""

    figures: list[Figure] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)


def run(
    measurements: Mapping[str, Measurement],
    wanted: Sequence[str],
    bench: BenchEnvironment,
    *,
    effort: str,
    lives: int | None = None,
    results: Results,
    progress: Console,
    history: Path | None = None,
) -> Outcome:
    """Measure what is wanted and write each figure as it comes; one that fails is named, and the others go on.

    `lives` takes the place of the effort's own. What cannot be written, as on a full disk, fails like what cannot be
    measured. `history` is the folder that gets a line of each figure.
    """
    outcome = Outcome()
    how_long = QUICK if effort == "quick" else FULL
    if lives is not None:
        how_long = replace(how_long, lives=lives)
    for name in wanted:
        taken = taken_now(effort)
        mine: list[str] = []
        with progress.status(f"measuring {name}"):
            try:
                for figure in measurements[name](bench, how_long):
                    mine.append(figure.name)
                    outcome.figures.append(figure)
                    results.add(name, figure, taken)
                    if history is not None:
                        append(history, name, figure, taken)
            except NotMeasured as reason:
                outcome.missing[name] = str(reason)
            except Exception as error:  # noqa: BLE001  whatever it is, the next measurement may succeed
                progress.print(traceback.format_exc(), markup=False, highlight=False)
                outcome.missing[name] = _in_a_line(error)
        try:
            if name in outcome.missing:
                results.failed(name, outcome.missing[name], taken)
            else:
                results.finished(name, mine)
        except OSError as error:
            outcome.missing.setdefault(name, _in_a_line(error))
        said = f"not measured: {name}: {outcome.missing[name]}" if name in outcome.missing else f"measured {name}"
        progress.print(said, markup=False)
    return outcome


def _in_a_line(error: Exception) -> str:
    said = str(error).strip().splitlines()
    return f"{type(error).__name__}: {said[0][:200]}" if said else type(error).__name__
