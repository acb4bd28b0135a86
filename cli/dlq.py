"""`skincare dlq …`: what died, why, and what to do about it."""

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from cli.ids import job_ids, shown
from cli.oncall import LOCAL, AsJson, Exit, OnCall, Stage, end, typed
from cli.redrive import Redrive, Redriven, dead_jobs, dead_letter_refs
from cli.selection import Before, DryRun, ErrorClass, Everything, Jobs, JobType, OfQueue, Order, selected
from cli.tables import age, print_facts, print_json, print_said, print_table
from cli.timelines import print_job
from cli.watching import all_completed, watch_jobs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skincare.operations.models import DeadGroup, DeadJob, DeadList

app = typer.Typer(no_args_is_help=True, help="Dead jobs, and messages that belong to no job.")

Reason = Annotated[str, typer.Option(help="Why; it is written down.")]
EvenPaid = Annotated[
    bool, typer.Option("--even-paid", help="Also where a payment event goes that says that a customer has paid.")
]


@app.callback()
def dlq() -> None:
    """Dead jobs, and messages that belong to no job."""


@app.command("list")
def list_command(*, stage: Stage = LOCAL, as_json: AsJson = False) -> None:
    """Print dead jobs by type and error, and what is in quarantine."""
    from oncall.requests import ListDead

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
    if found.quarantined:
        print_table(
            ("id", "queue", "bytes", "found", "reason"),
            [(m.id, m.queue, m.size_bytes, f"{age(m.last_found_at)} ago", m.reason) for m in found.quarantined],
            title="\nMessages that belong to no job",
        )
        print(f"\nLook at one:\n  skincare dlq quarantined {found.quarantined[0].id}{_of(stage)}")


@app.command()
def show(job: Annotated[str, typer.Argument(metavar="JOB")], *, stage: Stage = LOCAL, as_json: AsJson = False) -> None:
    """Print a job's payload, its attempts with their errors, and what happened to its order."""
    oncall = OnCall(stage)
    print_job(oncall, job_ids(oncall, [job])[0], as_json=as_json)


@app.command()
def redrive(
    *,
    jobs: Jobs = None,
    job_type: Annotated[str | None, typer.Option("--type", help="Only jobs of this type.")] = None,
    error: Annotated[str | None, typer.Option(help="Only jobs that died of this class of error.")] = None,
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
    reason: Annotated[str | None, typer.Option(help="Why; it is written down.")] = None,
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
        _print_meant(done.jobs)
    print(
        f"{done.matched} dead jobs match." if done.dry_run else f"{done.counts['redriven']} of {done.matched} redriven."
    )
    _tell_left(done.counts)
    if done.stopped:
        print("Interrupted. The same command continues from here.")
    elif done.job_ids:
        print(
            f"\nNext:\n  skincare dlq list{_of(stage)}\n  skincare jobs watch {' '.join(done.job_ids[:3])}{_of(stage)}"
        )


def _print_meant(jobs: "Sequence[DeadJob]") -> None:
    print_said(
        ("job", "type", "error", "message", "failed", "order", "safe?", "nothing left to do?"),
        [
            (
                shown(j.id),
                j.job_type,
                j.error_class,
                j.error_message,
                f"{age(j.last_failed_at)} ago",
                j.order_number,
                j.safe,
                j.past_use,
            )
            for j in jobs
        ],
    )


def _tell_left(counts: Counter[str]) -> None:
    for name, sentence in _SENTENCES.items():
        if count := counts[name]:
            print(f"  {count} {sentence}")


_SENTENCES = {
    "redriven_past_use": "of these have nothing left to do: they end without an effect.",
    "needs_force": "left alone: not safe to run again (`dlq list` says why); --force runs them all the same.",
    "needs_even_crashed": "left alone: they took their worker down; --even-crashed runs them all the same.",
    "needs_even_paid": "left alone: their payment event says that a customer has paid; --even-paid gives it up.",
    "events_set_aside": "payment events were set aside with them: `payments take-up` takes that back.",
    "not_dead_any_more": "left alone: they came back, or died again, meanwhile.",
    "not_dead": "are not dead, or unknown.",
    "unknown": "are unknown.",
}


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
    from oncall.requests import Discard

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
    counts: Counter[str] = Counter()
    matched: list[DeadJob] = []
    for page in dead_jobs(oncall, which):
        matched += page
        if not dry_run:
            request = typed(
                Discard,
                claimed_identity=oncall.identity,
                deaths=dead_letter_refs(page),
                reason=reason,
                even_paid=even_paid,
            )
            counts.update(oncall.ask(request).counts)
    wanted = len(matched) if which.job_ids is None else len(which.job_ids)
    counts["discarded"] += 0
    counts["not_dead"] = wanted - len(matched)
    if as_json:
        print_json(matched if dry_run else counts)
    elif dry_run:
        _print_meant(matched)
        print(f"{len(matched)} dead jobs match.")
    else:
        print(f"{counts['discarded']} of {wanted} discarded.")
        _tell_left(counts)
    well = bool(matched) if dry_run else wanted > 0 and counts["discarded"] == wanted
    end(Exit.DONE if well else Exit.NOT_ALL)


@app.command()
def quarantined(
    message: Annotated[int, typer.Argument(metavar="ID", min=1)], *, stage: Stage = LOCAL, as_json: AsJson = False
) -> None:
    """Print a quarantined message in full. Its content comes from outside and is not trusted."""
    from oncall.requests import ShowQuarantined

    found = OnCall(stage).ask(ShowQuarantined(message_id=message))
    if found is None:
        end(Exit.NOT_ALL, "There is no such message.")
    if as_json:
        print_json(found)
        return
    one = found.message
    print_facts({"queue": one.queue, "found": one.found_at, "last found": one.last_found_at, "reason": one.reason})
    print_facts(
        {
            "attributes": "",
            **{f"  {name}": value for name, value in found.attributes.items()},
            **{f"  {name} (base64)": value for name, value in found.binary_attributes.items()},
            "body": found.body,
        }
    )
    print(f'\nNext:\n  skincare dlq close {message} --reason "…"{_of(stage)}')


@app.command()
def close(
    message: Annotated[int, typer.Argument(metavar="ID", min=1)],
    *,
    reason: Reason,
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Record that a quarantined message was dealt with; it is no longer listed, but kept."""
    from oncall.requests import CloseQuarantined

    oncall = OnCall(stage)
    change = oncall.ask(typed(CloseQuarantined, claimed_identity=oncall.identity, message_id=message, reason=reason))
    if as_json:
        print_json(change.counts)
    else:
        print("Closed." if change.changed else "No such message waits.")
    end(Exit.DONE if change.changed else Exit.NOT_ALL)


def _row(group: "DeadGroup") -> tuple[object, ...]:
    oldest = f"{age(group.oldest_failed_at)} ago"
    return group.job_type, group.error_class, group.count, oldest, group.orders, group.safe


def _next_command(group: "DeadGroup", stage: str) -> str:
    words = ["skincare dlq redrive", f"--type {group.job_type}", f"--error {group.error_class}"]
    return " ".join(words + ([] if group.safe else ["--dry-run"])) + _of(stage)


def _of(stage: str) -> str:
    return "" if stage == LOCAL else f" --stage {stage}"
