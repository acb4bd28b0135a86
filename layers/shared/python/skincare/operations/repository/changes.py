"""Changes that people ask for; each returns counts of what it did and of what it left alone."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from psycopg import Connection

from skincare.identifiers import JobId, new_job_id
from skincare.jobs.catalog import ProcessPayment
from skincare.jobs.repository import acknowledgements, dead_letter, operations, quarantine, timers
from skincare.jobs.retry import CRASHED
from skincare.operations.models import Change
from skincare.operations.repository import backlog, dead_jobs, events
from skincare.payments.findings.repository import findings

type Act = Callable[[Connection], Change]
"""A change that is made in a transaction of somebody else."""


def redrive(
    conn: Connection, dead_letter_nos: Mapping[JobId, int], *, may_run_again: Callable[[str], bool], even_crashed: bool
) -> Change:
    """Bring back the jobs whose `dead_letter_no` is still the one that was looked at."""
    causes = dead_jobs.causes_of(conn, list(dead_letter_nos))
    crashed = {job_id for job_id, (_, error_class) in causes.items() if error_class == CRASHED and not even_crashed}
    unsafe = {job_id for job_id, (job_type, _) in causes.items() if not may_run_again(job_type)} - crashed
    allowed = [job_id for job_id in causes if job_id not in crashed | unsafe]
    redriven = sorted(dead_letter.redrive(conn, allowed, only_at=[dead_letter_nos[job_id] for job_id in allowed]))
    counts = {
        "redriven": len(redriven),
        "redriven_past_use": len(dead_jobs.obsolete_reasons(conn, redriven)),
        "not_dead_any_more": len(allowed) - len(redriven),
        "needs_force": len(unsafe),
        "unknown": len(dead_letter_nos) - len(causes),
    }
    return _of_jobs(redriven, counts | _if_any(needs_even_crashed=len(crashed)))


def discard(conn: Connection, dead_letter_nos: Mapping[JobId, int], *, even_paid: bool) -> Change:
    """Cancel jobs whose `dead_letter_no` is still the one that was looked at, and give up their payment events.

    Otherwise such an event would wait for ever, and a reconciliation would enqueue a job for it again.
    """
    moved_on = dead_letter.moved_on(conn, dead_letter_nos)
    still = [job_id for job_id in dead_letter_nos if job_id not in moved_on]
    given_up, paid = _set_aside_events_of(conn, still, even_paid=even_paid)
    wanted = {job_id: number for job_id, number in dead_letter_nos.items() if job_id not in paid}
    hit = sorted(dead_letter.discard(conn, list(wanted), only_at=list(wanted.values())))
    counts = {"discarded": len(hit), "not_dead_any_more": len(wanted) - len(hit)}
    return _of_jobs(hit, counts | _if_any(events_set_aside=given_up, needs_even_paid=len(paid)))


def acknowledge(
    conn: Connection, dead_letter_nos: Mapping[JobId, int], *, claimed_identity: str, reason: str, lasts: timedelta
) -> Change:
    """Note that somebody knows of jobs that still have the dead letter that was looked at."""
    hit = sorted(
        acknowledgements.acknowledge(
            conn, dead_letter_nos, claimed_identity=claimed_identity, reason=reason, lasts=lasts
        )
    )
    return _of_jobs(hit, {"acknowledged": len(hit), "not_dead_any_more": len(dead_letter_nos) - len(hit)})


def unacknowledge(conn: Connection, dead_letter_nos: Mapping[JobId, int]) -> Change:
    """Take that back."""
    hit = sorted(acknowledgements.withdraw(conn, dead_letter_nos))
    return _of_jobs(hit, {"unacknowledged": len(hit), "not_acknowledged": len(dead_letter_nos) - len(hit)})


def cancel(conn: Connection, job_ids: Sequence[JobId], *, even_paid: bool) -> Change:
    """Cancel jobs that are not finished, and give up the payment events they were about; see `discard`."""
    given_up, paid = _set_aside_events_of(conn, job_ids, even_paid=even_paid)
    wanted = [job_id for job_id in job_ids if job_id not in paid]
    hit = sorted(operations.cancel(conn, wanted))
    counts = {"cancelled": len(hit), "finished_or_unknown": len(wanted) - len(hit)}
    return _of_jobs(hit, counts | _if_any(events_set_aside=given_up, needs_even_paid=len(paid)))


def revive(conn: Connection, job_ids: Sequence[JobId]) -> Change:
    """Bring cancelled jobs back."""
    hit = sorted(operations.revive(conn, job_ids))
    counts = {"revived": len(hit), "not_cancelled_or_replaced": len(job_ids) - len(hit)}
    return _of_jobs(hit, counts)


def set_aside_event(conn: Connection, event_id: UUID, *, even_paid: bool) -> Change:
    """Give up a payment event that is not applied, with its unfinished jobs."""
    outcome = events.set_aside(conn, [event_id], even_paid=even_paid).get(event_id, "unknown")
    if outcome != "set_aside":
        return Change(0, counts={"set_aside": 0, outcome: 1})
    cancelled = sorted(operations.cancel(conn, events.jobs_of(conn, [event_id])))
    return Change(1, counts={"set_aside": 1} | _if_any(jobs_cancelled=len(cancelled)))


def take_up_event(conn: Connection, event_id: UUID, *, overdue_flaws: Collection[str]) -> Change:
    """Let a payment event wait again that was set aside, and enqueue its job."""
    order_number = events.take_up(conn, event_id, overdue_flaws=overdue_flaws)
    if order_number is None:
        return Change(0, counts={"taken_up": 0, "not_set_aside": 1})
    job = ProcessPayment(event_id=str(event_id))
    key = f"{job.job_type}:{event_id}"
    timers.insert(conn, new_job_id(), job, unique_key=key, order_number=order_number)
    return Change(1, counts={"taken_up": 1})


def settle_finding(conn: Connection, finding_id: int) -> Change:
    """Note that somebody has dealt with a finding."""
    settled = int(findings.settle(conn, finding_id))
    return Change(settled, counts={"settled": settled, "not_open": 1 - settled})


def reopen_finding(conn: Connection, finding_id: int) -> Change:
    """Take back that somebody has dealt with a finding."""
    reopened = int(findings.reopen(conn, finding_id))
    return Change(reopened, counts={"reopened": reopened, "not_settled": 1 - reopened})


def retry_now(conn: Connection, job_ids: Sequence[JobId]) -> Change:
    """End the wait of jobs for their next attempt."""
    hit = sorted(operations.retry_now(conn, job_ids))
    return _of_jobs(hit, {"retried": len(hit), "not_waiting_for_a_retry": len(job_ids) - len(hit)})


def resolve_anomaly(conn: Connection, anomaly_id: int) -> Change:
    """Note that somebody has dealt with money that does not fit."""
    resolved = int(backlog.resolve_anomaly(conn, anomaly_id))
    return Change(resolved, counts={"resolved": resolved, "not_open": 1 - resolved})


def review_event(conn: Connection, event_id: UUID) -> Change:
    """Note that somebody has looked at a payment event that could not be read."""
    reviewed = int(backlog.review_event(conn, event_id))
    return Change(reviewed, counts={"reviewed": reviewed, "not_waiting": 1 - reviewed})


def close_quarantined(conn: Connection, message_id: int) -> Change:
    """Note that somebody has dealt with a quarantined message."""
    closed = int(quarantine.close(conn, message_id))
    return Change(closed, counts={"closed": closed, "not_waiting": 1 - closed})


def _of_jobs(job_ids: Sequence[JobId], counts: Mapping[str, int]) -> Change:
    return Change(len(job_ids), tuple(str(job_id) for job_id in job_ids), counts)


def _set_aside_events_of(conn: Connection, job_ids: Sequence[JobId], *, even_paid: bool) -> tuple[int, set[JobId]]:
    """Give up the events of these jobs; return how many, and the jobs whose event is paid and needs `even_paid`."""
    by_job = events.events_of(conn, job_ids)
    outcomes = events.set_aside(conn, sorted(set(by_job.values())), even_paid=even_paid)
    given_up = sum(outcome == "set_aside" for outcome in outcomes.values())
    return given_up, {job_id for job_id, event in by_job.items() if outcomes.get(event) == "needs_even_paid"}


def _if_any(**counts: int) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}
