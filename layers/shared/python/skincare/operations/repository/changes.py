"""Changes that people ask for, each told as counts of what it did and of what it left alone."""

from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from psycopg import Connection

from skincare.identifiers import JobId
from skincare.jobs.repository import dead_letter, operations, quarantine
from skincare.operations.models import Change
from skincare.operations.repository import backlog, dead_jobs

type Act = Callable[[Connection], Change]
"""A change that is made in a transaction of somebody else."""


def redrive(conn: Connection, deaths: Mapping[JobId, int], *, may_run_again: Callable[[str], bool]) -> Change:
    """Bring back the jobs that still are in the death (`dead_letter_no`) that was looked at."""
    types = dead_jobs.types_of(conn, list(deaths))
    allowed = [job_id for job_id, job_type in types.items() if may_run_again(job_type)]
    redriven = sorted(dead_letter.redrive(conn, allowed, only_at=[deaths[job_id] for job_id in allowed]))
    counts = {
        "redriven": len(redriven),
        "redriven_past_use": len(dead_jobs.past_use(conn, redriven)),
        "not_dead_any_more": len(allowed) - len(redriven),
        "needs_force": len(types) - len(allowed),
        "unknown": len(deaths) - len(types),
    }
    return _of_jobs(redriven, counts)


def discard(conn: Connection, deaths: Mapping[JobId, int]) -> Change:
    """Cancel jobs that still are in the death that was looked at."""
    hit = sorted(dead_letter.discard(conn, list(deaths), only_at=list(deaths.values())))
    return _of_jobs(hit, {"discarded": len(hit), "not_dead_any_more": len(deaths) - len(hit)})


def cancel(conn: Connection, job_ids: Sequence[JobId]) -> Change:
    """Cancel jobs that are not finished."""
    hit = sorted(operations.cancel(conn, job_ids))
    return _of_jobs(hit, {"cancelled": len(hit), "finished_or_unknown": len(job_ids) - len(hit)})


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
