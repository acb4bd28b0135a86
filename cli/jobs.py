"""`skincare jobs …`: what the ledger says, and what a person does about a job."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from cli.ids import job_ids, look_like_ids
from cli.oncall import LOCAL, AsJson, Exit, OnCall, Stage, end, typed
from cli.parameters import OptionalReason, Reason
from cli.pauses import pause, paused, resume
from cli.redrive import Which as Selected
from cli.selection import (
    AT_ONCE,
    Before,
    DryRun,
    ErrorClass,
    Everything,
    Job,
    Jobs,
    JobType,
    OfAnyQueue,
    OfQueue,
    Order,
    live_jobs,
    must_be_known,
    print_jobs,
    selected,
)
from cli.tables import print_json
from cli.timelines import print_job
from cli.watching import all_completed, watch_jobs
from skincare.jobs.models import JobState

if TYPE_CHECKING:
    from oncall.job_requests import Which as States
    from oncall.request import Request

app = typer.Typer(no_args_is_help=True, help="The jobs of the ledger.")

_MOST = 1000


@app.callback()
def jobs() -> None:
    """The jobs of the ledger."""


@app.command("list")
def list_command(
    *,
    stage: Stage = LOCAL,
    as_json: AsJson = False,
    queue: OfAnyQueue = None,
    state: Annotated[JobState | None, typer.Option(help="Only jobs in this state.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=_MOST, help="How many of the newest.")] = _MOST,
) -> None:
    """Print the jobs, newest first."""
    from oncall.job_requests import ListJobs

    rows = OnCall(stage).ask(ListJobs(queue=queue, state=state and state.value, limit=limit)).jobs
    if not rows:
        must_be_known(queue)
    _print_jobs(rows, as_json=as_json)


@app.command()
def show(
    job: Job,
    *,
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Print a job's payload, its attempts with their errors, and what happened to its order."""
    oncall = OnCall(stage)
    print_job(oncall, job_ids(oncall, [job])[0], as_json=as_json)


@app.command()
def cancel(
    *,
    jobs: Jobs = None,
    job_type: JobType = None,
    error: ErrorClass = None,
    queue: OfAnyQueue = None,
    order: Order = None,
    before: Before = None,
    everything: Everything = False,
    dry_run: DryRun = False,
    even_paid: Annotated[
        bool, typer.Option("--even-paid", help="Also where a payment event goes that says that a customer has paid.")
    ] = False,
    reason: Reason,
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Cancel unfinished jobs; a running handler is not interrupted, its outcome is ignored."""
    from oncall.job_requests import Cancel, Which

    oncall = OnCall(stage)
    which = selected(
        oncall, jobs, job_type=job_type, error=error, queue=queue, order=order, before=before, everything=everything
    )

    def request(ids: list[UUID]) -> "Request":
        return typed(Cancel, claimed_identity=oncall.identity, job_ids=ids, reason=reason, even_paid=even_paid)

    _change_all(oncall, which, Which.UNFINISHED, request, done="cancelled", dry_run=dry_run, as_json=as_json)


@app.command("retry-now")
def retry_now(
    *,
    jobs: Jobs = None,
    job_type: JobType = None,
    error: ErrorClass = None,
    queue: OfQueue = None,
    order: Order = None,
    before: Before = None,
    everything: Everything = False,
    dry_run: DryRun = False,
    reason: OptionalReason = None,
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """End the wait of jobs for their next attempt."""
    from oncall.job_requests import RetryNow, Which

    oncall = OnCall(stage)
    which = selected(
        oncall, jobs, job_type=job_type, error=error, queue=queue, order=order, before=before, everything=everything
    )

    def request(ids: list[UUID]) -> "Request":
        return typed(RetryNow, claimed_identity=oncall.identity, job_ids=ids, reason=reason)

    _change_all(oncall, which, Which.WAITING, request, done="retried", dry_run=dry_run, as_json=as_json)


@app.command()
def revive(
    *,
    jobs: Jobs = None,
    order: Order = None,
    dry_run: DryRun = False,
    reason: Reason,
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Bring cancelled and discarded jobs back as if they were new; handlers check whether work is left."""
    from oncall.job_requests import Revive, Which

    oncall = OnCall(stage)
    which = selected(oncall, jobs, job_type=None, error=None, queue=None, order=order, before=None, everything=False)

    def request(ids: list[UUID]) -> "Request":
        return typed(Revive, claimed_identity=oncall.identity, job_ids=ids, reason=reason)

    _change_all(oncall, which, Which.CANCELLED, request, done="revived", dry_run=dry_run, as_json=as_json)


@app.command()
def watch(
    *,
    jobs: Annotated[
        list[str], typer.Argument(metavar="JOB…", callback=look_like_ids, help="Jobs by their ids, or how these begin.")
    ],
    timeout: Annotated[int, typer.Option(min=0, help="Seconds to wait at most.")] = 300,
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Wait for jobs to end and print how; exit code 0 says that none is dead or still lives."""
    oncall = OnCall(stage)
    ids = job_ids(oncall, jobs)
    rows = watch_jobs(oncall, ids, timeout=timedelta(seconds=timeout))
    _print_jobs(rows, as_json=as_json)
    end(Exit.DONE if all_completed(rows) and len(rows) == len(ids) else Exit.NOT_ALL)


app.command()(pause)
app.command()(resume)
app.command()(paused)


def _change_all(
    oncall: OnCall,
    which: Selected,
    states: "States",
    request: "Callable[[list[UUID]], Request]",
    *,
    done: str,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Change the jobs that are meant, a hundred at a time; `done` is what the change counts, also where it is none."""
    counts: Counter[str] = Counter({done: 0})
    meant: list[Any] = []
    changed = 0
    # Jobs that are named are asked for whatever their state: what cannot be done is counted.
    pages = live_jobs(oncall, which, states) if which.job_ids is None or dry_run else _in_pieces(which.job_ids)
    for page in pages:
        meant += page
        if not dry_run:
            change = oncall.ask(request([UUID(row) if isinstance(row, str) else UUID(row.id) for row in page]))
            counts.update(change.counts)
            changed += change.changed
    if not meant:
        must_be_known(which.conditions["queue"])
    if dry_run:
        _print_jobs(meant, as_json=as_json)
        print(f"{len(meant)} jobs match.", file=sys.stderr)
    elif as_json:
        print_json(counts)
    elif not meant:
        print("No job matches.")
    else:
        print(", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items()))
    end(Exit.DONE if meant and (dry_run or changed == len(meant)) else Exit.NOT_ALL)


def _in_pieces(job_ids: Sequence[UUID]) -> Iterator[list[str]]:
    for start in range(0, len(job_ids), AT_ONCE):
        yield [str(job_id) for job_id in job_ids[start : start + AT_ONCE]]


def _print_jobs(rows: Any, *, as_json: bool) -> None:
    if as_json:
        print_json(rows)
    else:
        print_jobs(rows)
