"""`skincare jobs …`: what the ledger says, and what a person does about a job."""

from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any
from uuid import UUID

import typer

from cli.oncall import LOCAL, AsJson, Exit, OnCall, Stage, end, typed
from cli.stories import print_job
from cli.tables import print_json, print_table
from cli.watching import watch_jobs, went_well
from skincare.jobs.queues import QueueName

if TYPE_CHECKING:
    from oncall.request import Request

app = typer.Typer(no_args_is_help=True, help="The jobs of the ledger.")

_MOST = 1000
_AT_ONCE = 100

JobIds = Annotated[list[UUID], typer.Argument(metavar="JOB…", help="Jobs by their ids.")]


class State(StrEnum):
    """The states of a job, as docs/job-lifecycle.md explains them."""

    PENDING = "pending"
    QUEUED = "queued"
    PROCESSING = "processing"
    RETRY_WAITING = "retry_waiting"
    COMPLETED = "completed"
    DEAD_LETTER = "dead_letter"
    INVESTIGATED = "investigated"
    CANCELLED = "cancelled"


@app.callback()
def jobs() -> None:
    """The jobs of the ledger."""


@app.command("list")
def list_command(
    *,
    stage: Stage = LOCAL,
    as_json: AsJson = False,
    queue: Annotated[QueueName | None, typer.Option(help="Only jobs of this queue.")] = None,
    state: Annotated[State | None, typer.Option(help="Only jobs in this state.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=_MOST, help="How many of the newest.")] = _MOST,
) -> None:
    """Print the jobs, newest first."""
    from oncall.requests import ListJobs

    rows = OnCall(stage).ask(ListJobs(queue=queue and queue.value, state=state and state.value, limit=limit)).jobs
    _print_jobs(rows, as_json=as_json)


@app.command()
def show(job: Annotated[UUID, typer.Argument(metavar="JOB")], *, stage: Stage = LOCAL, as_json: AsJson = False) -> None:
    """Print a job's payload, its attempts with their errors, and what happened to its order."""
    print_job(OnCall(stage), job, as_json=as_json)


@app.command()
def cancel(
    *,
    jobs: JobIds,
    reason: Annotated[str, typer.Option(help="Why; it is written down.")],
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Cancel jobs that are not finished; one that runs goes on, and what it reports is not heard."""
    from oncall.requests import Cancel

    oncall = OnCall(stage)
    ids = _few(jobs)
    _change(
        oncall, typed(Cancel, claimed_identity=oncall.identity, job_ids=ids, reason=reason), len(ids), as_json=as_json
    )


@app.command("retry-now")
def retry_now(
    *,
    jobs: JobIds,
    reason: Annotated[str | None, typer.Option(help="Why; it is written down.")] = None,
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """End the wait of jobs for their next attempt."""
    from oncall.requests import RetryNow

    oncall = OnCall(stage)
    ids = _few(jobs)
    _change(
        oncall, typed(RetryNow, claimed_identity=oncall.identity, job_ids=ids, reason=reason), len(ids), as_json=as_json
    )


@app.command()
def watch(
    *,
    jobs: JobIds,
    timeout: Annotated[int, typer.Option(min=0, help="Seconds to wait at most.")] = 300,
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Wait for jobs to end and print how; exit code 0 says that none is dead or still lives."""
    rows = watch_jobs(OnCall(stage), jobs, patience=timedelta(seconds=timeout))
    _print_jobs(rows, as_json=as_json)
    end(Exit.DONE if went_well(rows) and len(rows) == len(set(jobs)) else Exit.NOT_ALL)


def _few(job_ids: list[UUID]) -> list[UUID]:
    found = list(dict.fromkeys(job_ids))
    if len(found) > _AT_ONCE:
        raise typer.BadParameter(f"at most {_AT_ONCE} jobs at once")
    return found


def _change(oncall: OnCall, request: "Request", wanted: int, *, as_json: bool) -> None:
    change = oncall.ask(request)
    if as_json:
        print_json(change.counts)
    else:
        print(", ".join(f"{count} {name.replace('_', ' ')}" for name, count in change.counts.items()))
    end(Exit.DONE if change.changed == wanted else Exit.NOT_ALL)


def _print_jobs(rows: Any, *, as_json: bool) -> None:
    if as_json:
        print_json(rows)
        return
    print_table(
        ("created", "job", "type", "state", "order", "attempts", "crashes", "last error"),
        [
            (
                r.created_at,
                r.id,
                r.type,
                r.state,
                r.order_number,
                r.attempts,
                r.crashes,
                f"{r.error_class}: {r.error_message}" if r.error_class else "",
            )
            for r in rows
        ],
    )
