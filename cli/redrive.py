"""A redrive of any number of jobs, in pieces that may each be the last."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

import typer

from cli.oncall import OnCall, typed
from cli.pace import Pace

if TYPE_CHECKING:
    from oncall.dead_letter_requests import DeadLetterRef
    from skincare.operations.dead_letters import DeadJob

_MOST_JOBS = 100
"""What one request takes."""


@dataclass
class Redriven:
    """What a redrive did, as `--json` tells it. `jobs` is filled by a dry run."""

    dry_run: bool
    stopped: bool = False
    matched: int = 0
    job_ids: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    jobs: "list[DeadJob]" = field(default_factory=list)

    @property
    def all_of_them(self) -> bool:
        """Whether something matched and nothing was left alone."""
        left = (count for name, count in self.counts.items() if name not in {"redriven", "redriven_past_use"})
        return self.matched > 0 and not self.stopped and not any(left)


@dataclass(frozen=True)
class Which:
    """Which dead jobs are meant: some by their ids, or all that fit the conditions."""

    job_ids: Sequence[UUID] | None
    conditions: dict[str, Any]


def which_jobs(
    job_ids: Sequence[UUID] | None,
    *,
    job_type: str | None = None,
    error: str | None = None,
    queue: str | None = None,
    order: str | None = None,
    before: datetime | None = None,
) -> Which:
    """Return which jobs a command line means; `before` carries its zone."""
    found = {
        "job_type": job_type,
        "error_class": error,
        "queue": queue,
        "order_number": order,
        "failed_before": before,
    }
    return Which(list(dict.fromkeys(job_ids)) if job_ids else None, found)


def dead_jobs(oncall: OnCall, which: Which) -> "Iterator[Sequence[DeadJob]]":
    """Yield the dead jobs in pages, each job once: one that dies again meanwhile is not met a second time."""
    from oncall.dead_letter_requests import FindDead

    if which.job_ids is not None:
        for start in range(0, len(which.job_ids), _MOST_JOBS):
            chunk = list(which.job_ids[start : start + _MOST_JOBS])
            if found := oncall.ask(typed(FindDead, job_ids=chunk)).jobs:
                yield found
        return
    after, more = None, True
    while more:
        page = oncall.ask(typed(FindDead, **which.conditions, after=after))
        more = page.more
        if page.jobs:
            after = UUID(page.jobs[-1].id)
            yield page.jobs


def dead_letter_refs(jobs: "Sequence[DeadJob]") -> "list[DeadLetterRef]":
    """Return which dead letters were looked at."""
    from oncall.dead_letter_requests import DeadLetterRef

    return [DeadLetterRef(job_id=UUID(job.id), dead_letter_no=job.dead_letter_no) for job in jobs]


class Redrive:
    """One run of `dlq redrive`. Each request is a transaction of the ledger, so a run may end between any two."""

    def __init__(
        self, oncall: OnCall, *, force: bool, even_crashed: bool = False, max_rate: float | None, reason: str | None
    ) -> None:
        self._oncall = oncall
        self._force = force
        self._even_crashed = even_crashed
        self._reason = reason
        self._pace = Pace(max_rate, largest=_MOST_JOBS)

    def run(self, which: Which, *, dry_run: bool) -> Redriven:
        """Redrive, or only look; Ctrl-C ends it between two requests or within one, and loses nothing."""
        done = Redriven(dry_run)
        with _progress() as advance:
            try:
                for page in dead_jobs(self._oncall, which):
                    done.matched += len(page)
                    if dry_run:
                        done.jobs += page
                    else:
                        for group in self._pace.groups(page):
                            self._redrive(group, done)
                            advance(len(group))
            except KeyboardInterrupt:
                done.stopped = True
            except typer.Exit:
                if done.job_ids:
                    typer.echo(
                        f"Before that {len(done.job_ids)} were redriven; the same command goes on there.", err=True
                    )
                raise
        if which.job_ids is not None and not done.stopped and len(which.job_ids) > done.matched:
            done.counts["not_dead"] = len(which.job_ids) - done.matched
        return done

    def _redrive(self, jobs: "Sequence[DeadJob]", done: Redriven) -> None:
        from oncall.dead_letter_requests import Redrive as Request

        change = self._oncall.ask(
            typed(
                Request,
                claimed_identity=self._oncall.identity,
                deaths=dead_letter_refs(jobs),
                force=self._force,
                even_crashed=self._even_crashed,
                reason=self._reason,
            )
        )
        done.job_ids += change.job_ids
        done.counts.update(change.counts)


@contextmanager
def _progress() -> Iterator[Callable[[int], None]]:
    """Give what moves a bar on stderr, where that is a terminal."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    screen = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("redriven"), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=screen, disable=not screen.is_terminal, transient=True) as bar:
        task = bar.add_task("redriven", total=None)
        yield lambda count: bar.advance(task, count)
