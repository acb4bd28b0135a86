"""Which jobs a command means: some by their ids, or all that fit conditions. The same options for all commands."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from cli.ids import job_ids, look_like_ids, looks_like_an_id, shown
from cli.oncall import OnCall, typed
from cli.parameters import as_field, parsed_by
from cli.redrive import Which, which_jobs
from cli.tables import print_said
from skincare.deployment.queues import QueueName
from skincare.identifiers import read_order_number
from skincare.moments import read_moment

if TYPE_CHECKING:
    from oncall.job_requests import Which as States
    from skincare.jobs.models import JobRow

AT_ONCE = 100
"""Jobs of one request."""

Job = Annotated[str, typer.Argument(metavar="JOB", callback=looks_like_an_id)]
Jobs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[JOB]…", callback=look_like_ids, help="Jobs by their ids, or how these begin.", show_default=False
    ),
]
JobType = Annotated[str | None, typer.Option("--type", callback=as_field("Name"), help="Only jobs of this type.")]
ErrorClass = Annotated[
    str | None,
    typer.Option("--error", callback=as_field("Name"), help="Only jobs whose last error is of this class."),
]
OfQueue = Annotated[QueueName | None, typer.Option("--queue", help="Only jobs of this queue.")]
OfAnyQueue = Annotated[
    str | None,
    typer.Option("--queue", callback=as_field("Name"), help="Only jobs of this queue, also of one of another release."),
]
Order = Annotated[
    str | None, typer.Option("--order", parser=parsed_by(read_order_number), help="Only jobs of this order.")
]
Before = Annotated[
    datetime | None,
    typer.Option(
        "--before",
        metavar="TIME",
        parser=parsed_by(read_moment),
        help="Only jobs that failed last before this time, such as 2026-11-30 22:27:52 WIB; WIB is the default.",
    ),
]
Everything = Annotated[bool, typer.Option("--all", help="All of them.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only print which jobs are meant.")]


def must_be_known(queue: str | None) -> None:
    """End the command where nothing was found of a queue that this release does not know: its name is mistyped."""
    if queue is not None and queue not in set(QueueName):
        raise typer.BadParameter(f"no job is of {queue!r}; must be one of {', '.join(QueueName)}", param_hint="--queue")


def selected(  # one parameter an option
    oncall: OnCall,
    jobs: Sequence[str] | None,
    *,
    job_type: str | None,
    error: str | None,
    queue: str | None,
    order: str | None,
    before: datetime | None,
    everything: bool,
) -> Which:
    """Return which jobs a command line means; ends the command where it does not say, or says two things."""
    if sum((bool(jobs), any((job_type, error, queue, order, before)), everything)) != 1:
        raise typer.BadParameter("say which: ids of jobs, or conditions such as --type, or --all")
    ids = job_ids(oncall, jobs) if jobs else None
    return which_jobs(ids, job_type=job_type, error=error, queue=queue, order=order, before=before)


def live_jobs(oncall: OnCall, which: Which, states: "States") -> "Iterator[Sequence[JobRow]]":
    """Yield the jobs in pages, each job once: one that changes meanwhile is not met a second time."""
    from oncall.job_requests import FindJobs

    if which.job_ids is not None:
        for start in range(0, len(which.job_ids), AT_ONCE):
            chunk = list(which.job_ids[start : start + AT_ONCE])
            if found := oncall.ask(typed(FindJobs, which=states, job_ids=chunk)).jobs:
                yield found
        return
    conditions: dict[str, Any] = {**which.conditions, "before": which.conditions["failed_before"]}
    del conditions["failed_before"]
    after, more = None, True
    while more:
        page = oncall.ask(typed(FindJobs, which=states, **conditions, after=after))
        more = page.more
        if page.jobs:
            after = UUID(page.jobs[-1].id)
            yield page.jobs


def print_jobs(rows: "Sequence[JobRow]") -> None:
    """Print jobs, newest first or as they were found; columns that say nothing are left out."""
    columns = ("created", "job", "type", "state", "paused", "order", "attempts", "crashes", "last error")
    table = [
        (
            r.created_at,
            shown(r.id),
            r.type,
            r.state,
            r.paused,
            r.order_number,
            r.attempts,
            r.crashes,
            f"{r.error_class}: {r.error_message}" if r.error_class else "",
        )
        for r in rows
    ]
    print_said(columns, table)
