"""Changes of dead jobs that a command means, a page at a time, and what people are told of them."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from cli.ids import shown
from cli.oncall import Exit, OnCall, end
from cli.redrive import Which, dead_jobs, dead_letter_refs
from cli.tables import age, print_json, print_said

if TYPE_CHECKING:
    from oncall.dead_letter_requests import DeadLetterRef
    from oncall.request import Request
    from skincare.operations.dead_letters import DeadJob


def change_dead(
    oncall: OnCall,
    which: Which,
    request: "Callable[[list[DeadLetterRef]], Request]",
    *,
    done: str,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Change the dead jobs that are meant, or list them, and end the command; `done` is what the change counts."""
    counts: Counter[str] = Counter()
    matched: list[DeadJob] = []
    for page in dead_jobs(oncall, which):
        matched += page
        if not dry_run:
            counts.update(oncall.ask(request(dead_letter_refs(page))).counts)
    wanted = len(matched) if which.job_ids is None else len(which.job_ids)
    counts[done] += 0
    counts["not_dead"] = wanted - len(matched)
    if as_json:
        print_json(matched if dry_run else counts)
    elif dry_run:
        print_meant(matched)
        print(f"{len(matched)} dead jobs match.")
    else:
        print(f"{counts[done]} of {wanted} {done}.")
        tell_left(counts)
    well = bool(matched) if dry_run else wanted > 0 and counts[done] == wanted
    end(Exit.DONE if well else Exit.NOT_ALL)


def print_meant(jobs: "Sequence[DeadJob]") -> None:
    """Print dead jobs with what a person should know of each."""
    print_said(
        ("job", "type", "error", "message", "failed", "order", "safe?", "nothing left to do?", "acknowledged until"),
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
                j.acknowledgement and j.acknowledgement.until,
            )
            for j in jobs
        ],
    )


def tell_left(counts: Mapping[str, int]) -> None:
    """Print what else was counted, such as what was left alone and why."""
    for name, sentence in _SENTENCES.items():
        if count := counts.get(name):
            print(f"  {count} {sentence}")


_SENTENCES = {
    "redriven_past_use": "of these have nothing left to do: they end without an effect.",
    "needs_force": "left alone: not safe to run again (`dlq list` says why); --force runs them all the same.",
    "needs_even_crashed": "left alone: they took their worker down; --even-crashed runs them all the same.",
    "needs_even_paid": "left alone: their payment event says that a customer has paid; --even-paid gives it up.",
    "events_set_aside": "payment events were set aside with them: `payments take-up` takes that back.",
    "not_dead_any_more": "left alone: they came back, or died again, meanwhile.",
    "not_dead": "are not dead, or unknown.",
    "not_acknowledged": "are not acknowledged.",
    "unknown": "are unknown.",
}
