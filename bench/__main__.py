"""`python -m bench`: measure, print, and write bench/results.json."""

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console

from bench import checkout, handler, invoices, jobs, relay, round_trips, start, system, webhooks, worker
from bench.figure import Figure
from bench.machine import describe_machine
from bench.report import encode, print_report, results
from bench.surroundings import FULL, QUICK, Effort, NotMeasured, Surroundings, surroundings
from local.stopping import until_stopped

MEASUREMENTS: dict[str, Callable[[Surroundings, Effort], Iterator[Figure]]] = {
    "checkout": checkout.throughput,
    "enqueue": checkout.enqueue,
    "hot-product": checkout.hot_product,
    "round-trips": round_trips.measure,
    "handler": handler.measure,
    "start": start.measure,
    "worker": worker.measure,
    "relay": relay.measure,
    "jobs": jobs.measure,
    "webhooks": webhooks.measure,
    "invoices": invoices.measure,
    "system": system.measure,
}
RESULTS = Path(__file__).with_name("results.json")


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    wanted = options.only or list(MEASUREMENTS)
    # The table or the JSON goes to standard output, and what happens meanwhile to standard error.
    progress = Console(stderr=True)
    machine: dict[str, str] = {}
    figures: list[Figure] = []
    notes: list[str] = []
    finished = False
    # A signal still lets every child and folder of ours be cleared away.
    with until_stopped(), surroundings() as around:
        machine = describe_machine(around.scratch) | {"effort": "quick" if options.quick else "full"}
        for name in wanted:
            with progress.status(f"measuring {name}"):
                try:
                    figures += MEASUREMENTS[name](around, QUICK if options.quick else FULL)
                except NotMeasured as reason:
                    notes.append(f"{name}: {reason}")
            progress.print(f"measured {name}")
        finished = True
    if not finished:
        return 130
    document = encode(results(figures, machine, notes))
    if options.json:
        sys.stdout.write(document)
    else:
        print_report(Console(width=None if sys.stdout.isatty() else 200), figures, machine, notes)
    if not (options.only or options.quick):
        RESULTS.write_text(document)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--only", metavar="NAME", action="append", choices=MEASUREMENTS, help=", ".join(MEASUREMENTS))
    parser.add_argument("--quick", action="store_true", help="short rounds and few of them: does it run?")
    parser.add_argument("--json", action="store_true", help="print the results as JSON instead of a table")
    return parser


if __name__ == "__main__":
    sys.exit(main())
