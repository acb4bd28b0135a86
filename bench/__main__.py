"""`python -m bench`: measure, print, and write each figure to bench/results.json as it comes."""

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from bench import (
    artefact,
    chart,
    checkout,
    document,
    handler,
    history,
    invoices,
    job_life,
    jobs,
    lives,
    relay,
    results,
    round_trips,
    search,
    start,
    system,
    webhooks,
    worker,
)
from bench.environment import bench_environment
from bench.lives import FEWEST_LIVES
from bench.machine import describe_machine
from bench.report import print_report
from bench.results import Results, encode, read
from bench.run import Measurement, Outcome, run
from emulator.processes.stopping import until_stopped

MEASUREMENTS: Mapping[str, Measurement] = {
    "checkout": checkout.throughput,
    "growth": checkout.growth,
    "enqueue": checkout.enqueue,
    "hot-product": checkout.hot_product,
    "round-trips": round_trips.measure,
    "handler": handler.measure,
    "start": start.measure,
    "artefact": artefact.measure,
    "worker": worker.measure,
    "job-life": job_life.measure,
    "lives": lives.measure,
    "relay": relay.measure,
    "jobs": jobs.measure,
    "webhooks": webhooks.measure,
    "invoices": invoices.measure,
    "search": search.measure,
    "system": system.measure,
}


def main(arguments: list[str] | None = None) -> int:
    """Return 0 when everything that was asked for gave its figures, 1 when something did not, 130 when interrupted."""
    options = _parser().parse_args(arguments)
    if options.document:
        _show()
        return 0
    wanted = options.only or list(MEASUREMENTS)
    file = options.output or (results.QUICK if options.quick else results.FULL)
    is_shown = file.resolve() == results.FULL
    kept = Results(file, list(MEASUREMENTS))
    # The table or the JSON goes to standard output, and what happens meanwhile to standard error.
    progress = Console(stderr=True)
    outcome, finished = Outcome(), False
    # A signal still lets every child and folder of ours be cleared away.
    load = f"{os.getloadavg()[0]:.1f}"
    with until_stopped(), bench_environment() as bench:
        machine = describe_machine(bench.scratch)
        kept.describe(machine)
        outcome = run(
            MEASUREMENTS,
            wanted,
            bench,
            effort="quick" if options.quick else "full",
            lives=options.lives,
            results=kept,
            progress=progress,
            history=history.FOLDER if is_shown else None,
        )
        finished = True
    shown = True
    if is_shown and file.exists():
        try:
            _show()
        except OSError as error:
            progress.print(f"docs/benchmarks.md is not written: {error}", markup=False)
            shown = False
    if not finished:
        return 130
    if options.json:
        sys.stdout.write(encode(kept.only(wanted)))
    else:
        console = Console(width=None if sys.stdout.isatty() else 200)
        print_report(console, outcome.figures, machine | {"load before": load}, outcome.missing)
    return 1 if outcome.missing or not shown else 0


def _show() -> None:
    document.write(read(results.FULL))
    chart.write(history.read(history.FOLDER, list(MEASUREMENTS)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--only", metavar="NAME", action="append", choices=MEASUREMENTS, help=", ".join(MEASUREMENTS))
    parser.add_argument("--quick", action="store_true", help="short rounds and few of them: does it run?")
    parser.add_argument(
        "--lives", metavar="N", type=_lives, help="how many jobs live and go in `lives` (default: 1,000,000)"
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON instead of a table")
    parser.add_argument(
        "--output",
        metavar="FILE",
        type=Path,
        help="write there (default: bench/results.json, or .local/bench/quick.json with --quick)",
    )
    parser.add_argument("--document", action="store_true", help="measure nothing: write docs/benchmarks.md's table")
    return parser


def _lives(text: str) -> int:
    number = int(text)
    if number < FEWEST_LIVES:
        raise argparse.ArgumentTypeError(f"{text}: not fewer than {FEWEST_LIVES}")
    return number


if __name__ == "__main__":
    sys.exit(main())
