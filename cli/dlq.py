"""`skincare dlq …`: what died, why, and what to do about it."""

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from cli.dead_jobs import change_dead, print_meant, tell_left
from cli.ids import job_ids
from cli.oncall import LOCAL, AsJson, Exit, OnCall, Stage, end, of_stage, typed
from cli.parameters import OptionalReason, Reason, parsed_by
from cli.quarantine import close, quarantined
from cli.redrive import Redrive, Redriven
from cli.selection import Before, DryRun, ErrorClass, Everything, Job, Jobs, JobType, OfQueue, Order, selected
from cli.tables import age, print_json, print_table
from cli.timelines import print_job
from cli.watching import all_completed, watch_jobs
from skincare.moments import read_span

if TYPE_CHECKING:
    from oncall.dead_letter_requests import DeadLetterRef
    from oncall.request import Request
    from skincare.operations.dead_letters import AcknowledgedGroup, DeadGroup, DeadList

app = typer.Typer(no_args_is_help=True, help="Dead jobs, and messages that belong to no job.")

EvenPaid = Annotated[
    bool, typer.Option("--even-paid", help="Also where a payment event goes that says that a customer has paid.")
]

_USUALLY = timedelta(days=7)


def _bounded(span: timedelta | None) -> timedelta | None:
    if span is not None and not timedelta(minutes=1) <= span <= timedelta(days=90):
        raise typer.BadParameter("must be between 1min and 90d")
    return span


@app.callback()
def dlq() -> None:
    """Dead jobs, and messages that belong to no job."""


@app.command("list")
def list_command(*, stage: Stage = LOCAL, as_json: AsJson = False) -> None:
    """Print dead jobs by type and error, and what is in quarantine."""
    from oncall.dead_letter_requests import ListDead

    found = OnCall(stage).ask(ListDead())
    if as_json:
        print_json(found)
    else:
        _print_dead(found, stage)
    if not found.groups and not found.quarantined:
        end(Exit.NOT_ALL)


def _print_dead(found: "DeadList", stage: str) -> None:
    if not found.groups and not found.quarantined:
        print("Nothing is dead.")
    if found.groups:
        columns = ("job type", "error", "jobs", "oldest", "orders", "safe to run again?")
        print_table(columns, [_row(group) for group in found.groups])
    for group in found.groups:
        such_as = f" (orders such as {', '.join(group.order_numbers)})" if group.order_numbers else ""
        print(f"\n{group.job_type}: {group.why}{such_as}\n  {_next_command(group, stage)}")
    if found.acknowledged:
        print_table(
            ("jobs", "job type", "error", "until", "by", "because"),
            [_acknowledged_row(group) for group in found.acknowledged],
            title="\nAcknowledged: the alarm leaves them out until then",
        )
    if found.quarantined:
        print_table(
            ("id", "queue", "bytes", "found", "reason"),
            [(m.id, m.queue, m.size_bytes, f"{age(m.last_found_at)} ago", m.reason) for m in found.quarantined],
            title="\nMessages that belong to no job",
        )
        print(f"\nLook at one:\n  skincare dlq quarantined {found.quarantined[0].id}{of_stage(stage)}")


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
def redrive(
    *,
    jobs: Jobs = None,
    job_type: JobType = None,
    error: ErrorClass = None,
    queue: OfQueue = None,
    order: Order = None,
    before: Before = None,
    everything: Annotated[bool, typer.Option("--all", help="All dead jobs.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print which jobs are meant.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Also jobs that are not safe to run again.")] = False,
    even_crashed: Annotated[
        bool, typer.Option("--even-crashed", help="Also jobs that took their worker down time after time.")
    ] = False,
    max_rate: Annotated[
        float | None, typer.Option(min=0.1, max=1000, help="Jobs a second; no limit by default.")
    ] = None,
    reason: OptionalReason = None,
    watch: Annotated[bool, typer.Option("--watch", help="Then wait up to five minutes for their end.")] = False,
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Enqueue dead jobs again. After an interruption the same command continues where it stopped."""
    oncall = OnCall(stage)
    which = selected(
        oncall,
        jobs,
        job_type=job_type,
        error=error,
        queue=queue,
        order=order,
        before=before,
        everything=everything,
    )
    done = Redrive(oncall, force=force, even_crashed=even_crashed, max_rate=max_rate, reason=reason).run(
        which, dry_run=dry_run
    )
    if as_json:
        print_json(done)
    else:
        _tell(done, stage)
    well = done.all_of_them
    if watch and done.job_ids and not done.stopped:
        ids = [UUID(job_id) for job_id in done.job_ids]
        well = all_completed(watch_jobs(oncall, ids, timeout=timedelta(minutes=5))) and well
    end(Exit.DONE if well else Exit.NOT_ALL)


def _tell(done: Redriven, stage: str) -> None:
    if done.dry_run and done.jobs:
        print_meant(done.jobs)
    print(
        f"{done.matched} dead jobs match." if done.dry_run else f"{done.counts['redriven']} of {done.matched} redriven."
    )
    tell_left(done.counts)
    if done.stopped:
        print("Interrupted. The same command continues from here.")
    elif done.job_ids:
        where = of_stage(stage)
        print(f"\nNext:\n  skincare dlq list{where}\n  skincare jobs watch {' '.join(done.job_ids[:3])}{where}")


@app.command()
def discard(
    *,
    jobs: Jobs = None,
    job_type: JobType = None,
    error: ErrorClass = None,
    queue: OfQueue = None,
    order: Order = None,
    before: Before = None,
    everything: Everything = False,
    dry_run: DryRun = False,
    even_paid: EvenPaid = False,
    reason: Reason,
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Give dead jobs up, a payment event with its job. `jobs revive` and `payments take-up` take it back."""
    from oncall.dead_letter_requests import Discard

    oncall = OnCall(stage)
    which = selected(
        oncall,
        jobs,
        job_type=job_type,
        error=error,
        queue=queue,
        order=order,
        before=before,
        everything=everything,
    )

    def request(refs: "list[DeadLetterRef]") -> "Request":
        return typed(Discard, claimed_identity=oncall.identity, deaths=refs, reason=reason, even_paid=even_paid)

    change_dead(oncall, which, request, done="discarded", dry_run=dry_run, as_json=as_json)


@app.command()
def acknowledge(
    *,
    jobs: Jobs = None,
    job_type: JobType = None,
    error: ErrorClass = None,
    queue: OfQueue = None,
    order: Order = None,
    before: Before = None,
    everything: Everything = False,
    dry_run: DryRun = False,
    lasts: Annotated[
        timedelta | None,
        typer.Option(
            "--for",
            metavar="SPAN",
            parser=parsed_by(read_span),
            callback=_bounded,
            help="How long: 30min, 12h, up to 90d; a week without it.",
        ),
    ] = None,
    reason: Reason,
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Note that somebody knows of dead jobs: until then the alarm leaves them out. They stay dead."""
    from oncall.dead_letter_requests import Acknowledge

    oncall = OnCall(stage)
    which = selected(
        oncall, jobs, job_type=job_type, error=error, queue=queue, order=order, before=before, everything=everything
    )

    def request(refs: "list[DeadLetterRef]") -> "Request":
        return typed(
            Acknowledge,
            claimed_identity=oncall.identity,
            deaths=refs,
            lasts_s=int((lasts or _USUALLY).total_seconds()),
            reason=reason,
        )

    change_dead(oncall, which, request, done="acknowledged", dry_run=dry_run, as_json=as_json)


@app.command()
def unacknowledge(
    *,
    jobs: Jobs = None,
    job_type: JobType = None,
    error: ErrorClass = None,
    queue: OfQueue = None,
    order: Order = None,
    before: Before = None,
    everything: Annotated[bool, typer.Option("--all", help="All that are acknowledged.")] = False,
    dry_run: DryRun = False,
    reason: OptionalReason = None,
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Take acknowledgements back: the jobs count for the alarm again."""
    from oncall.dead_letter_requests import Unacknowledge

    oncall = OnCall(stage)
    which = selected(
        oncall, jobs, job_type=job_type, error=error, queue=queue, order=order, before=before, everything=everything
    )
    if which.job_ids is None:
        which.conditions["acknowledged"] = True

    def request(refs: "list[DeadLetterRef]") -> "Request":
        return typed(Unacknowledge, claimed_identity=oncall.identity, deaths=refs, reason=reason)

    change_dead(oncall, which, request, done="unacknowledged", dry_run=dry_run, as_json=as_json)


app.command()(quarantined)
app.command()(close)


def _row(group: "DeadGroup") -> tuple[object, ...]:
    oldest = f"{age(group.oldest_failed_at)} ago"
    return group.job_type, group.error_class, group.count, oldest, group.orders, group.safe


def _acknowledged_row(group: "AcknowledgedGroup") -> tuple[object, ...]:
    # Of an ARN only who it is.
    return group.count, group.job_type, group.error_class, group.until, group.by.rpartition(":")[2], group.reason


def _next_command(group: "DeadGroup", stage: str) -> str:
    words = ["skincare dlq redrive", f"--type {group.job_type}", f"--error {group.error_class}"]
    return " ".join(words + ([] if group.safe else ["--dry-run"])) + of_stage(stage)
