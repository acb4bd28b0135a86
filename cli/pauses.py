"""`skincare jobs pause`, `resume` and `paused`: holding jobs back, and letting them go on."""

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.oncall import LOCAL, AsJson, Exit, OnCall, Stage, end, typed
from cli.parameters import Reason, parsed_by
from cli.selection import Everything, JobType, OfQueue
from cli.tables import age, print_json, print_table
from skincare.deployment.providers import Provider
from skincare.deployment.queues import QueueName
from skincare.moments import read_span

if TYPE_CHECKING:
    from skincare.jobs.models import Pause

_LONGEST = timedelta(days=30)


def _bounded(span: timedelta | None) -> timedelta | None:
    if span is not None and not timedelta(minutes=1) <= span <= _LONGEST:
        raise typer.BadParameter("must be between 1min and 30d")
    return span


OfProvider = Annotated[Provider | None, typer.Option("--provider", help="Only jobs that call this provider.")]


def pause(
    *,
    queue: OfQueue = None,
    job_type: JobType = None,
    provider: OfProvider = None,
    everything: Everything = False,
    lasts: Annotated[
        timedelta | None,
        typer.Option(
            "--for",
            metavar="SPAN",
            parser=parsed_by(read_span),
            callback=_bounded,
            help="How long: 30min, 2h, up to 30d; without it until somebody resumes.",
        ),
    ] = None,
    reason: Reason,
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Hold jobs back: running handlers finish, everything else waits and keeps its attempts and its budget."""
    from oncall.pause_requests import PauseJobs

    oncall = OnCall(stage)
    target = _target(queue, job_type, provider, everything=everything)
    lasts_s = None if lasts is None else int(lasts.total_seconds())
    request = typed(PauseJobs, claimed_identity=oncall.identity, **target, lasts_s=lasts_s, reason=reason)
    _tell(oncall.ask(request), as_json=as_json)


def resume(
    *,
    queue: OfQueue = None,
    job_type: JobType = None,
    provider: OfProvider = None,
    everything: Annotated[bool, typer.Option("--all", help="The pause of all jobs; others stay.")] = False,
    reason: Reason,
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """End a pause, named as it was begun; the relay publishes what it held within a minute or two."""
    from oncall.pause_requests import ResumeJobs

    oncall = OnCall(stage)
    target = _target(queue, job_type, provider, everything=everything)
    _tell(
        oncall.ask(typed(ResumeJobs, claimed_identity=oncall.identity, **target, reason=reason)),
        as_json=as_json,
    )


def paused(*, stage: Stage = LOCAL, as_json: AsJson = False) -> None:
    """Print what is paused, why, and how many due jobs wait for it."""
    from oncall.pause_requests import ListPauses

    found = OnCall(stage).ask(ListPauses())
    if as_json:
        print_json(found)
    else:
        _print(found.pauses)


def _target(
    queue: QueueName | None, job_type: str | None, provider: Provider | None, *, everything: bool
) -> dict[str, object]:
    if sum((queue is not None, job_type is not None, provider is not None, everything)) != 1:
        raise typer.BadParameter("name one thing: --queue, --type, --provider or --all")
    return {"queue": queue and queue.value, "job_type": job_type, "provider": provider, "everything": everything}


_SENTENCES = {
    "paused": "Paused.",
    "extended": "Was paused already; it lasts longer now.",
    "already_paused": "Is paused already, for as long or longer.",
    "resumed": "Resumed.",
    "not_paused": "Is not paused.",
}


def _tell(change: Any, *, as_json: bool) -> None:
    if as_json:
        print_json(change)
    else:
        print(" ".join(_SENTENCES.get(outcome, outcome) for outcome in change.counts))
        _print(change.pauses)
    # What was asked for holds, whether now or before; a resume of what is not paused may be a mistyped name.
    end(Exit.NOT_ALL if "not_paused" in change.counts else Exit.DONE)


def _print(pauses: "Sequence[Pause]") -> None:
    if not pauses:
        print("Nothing is paused.")
        return
    print_table(
        ("paused", "since", "until", "jobs held", "by", "because"),
        [
            (
                f"{each.scope} {each.name}".strip(),
                f"{age(each.paused_at)} ago",
                each.ends_at or "somebody resumes",
                each.held,
                # Of an ARN only who it is.
                each.paused_by.rpartition(":")[2],
                each.reason,
            )
            for each in pauses
        ],
    )
