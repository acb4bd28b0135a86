"""The ledger as workers use it: claim a batch, settle a batch."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from psycopg import Connection
from psycopg.rows import dict_row

from skincare.identifiers import JobId, LeaseToken
from skincare.jobs.models import Claim, Verdict
from skincare.jobs.repository import LONGEST_REASON
from skincare.jobs.repository.payload import read_payload
from skincare.jobs.retry import CRASH_LIMIT, Completed, DeadLetter, Outcome, Retry


def claim(
    conn: Connection,
    wanted: Mapping[JobId, int | None],
    *,
    token: LeaseToken,
    lease: timedelta,
    alone: bool = False,
    release: str | None = None,
) -> list[Claim]:
    """Lease what may run now, and say of everything else why not, in one statement.

    `wanted` maps each job to the `dead_letter_no` that its message carries: the current one brings a
    dead job back (somebody redrove the message), any other copy of a dead job is done. Jobs that
    crashed a process are left out as suspects unless the claim is for one job `alone`; such a claim
    counts the lease that ran out as a crash, and dead-letters the job at the last one. `release` is
    remembered with the job and its attempt, and named by the dead letter.
    """
    cur = conn.cursor(row_factory=dict_row)
    cur.execute(
        """
        SELECT * FROM claim_jobs(
            p_ids => %(ids)s::uuid[], p_numbers => %(numbers)s::integer[], p_token => %(token)s, p_lease => %(lease)s,
            p_alone => %(alone)s, p_crash_limit => %(crash_limit)s, p_release => %(release)s
        ) ORDER BY id""",
        {
            "ids": list(wanted),
            "numbers": list(wanted.values()),
            "token": token,
            "lease": lease,
            "alone": alone,
            "crash_limit": CRASH_LIMIT,
            "release": release,
        },
    )
    return [_claim(row) for row in cur]


def _claim(row: dict[str, Any]) -> Claim:
    verdict = Verdict(row["verdict"])
    if verdict is not Verdict.RUN:
        wait = timedelta(seconds=row["wait_s"] or 0)
        return Claim(row["id"], verdict, wait, crashes=row["crashes"] or 0, job_type=row["job_type"] or "")
    return Claim(
        row["id"],
        verdict,
        job_type=row["job_type"],
        payload=read_payload(row["payload"]),
        attempts=row["attempts"],
        age=timedelta(seconds=row["age_s"]),
        order_number=row["order_number"],
        request_id=row["request_id"],
        trace_id=row["trace_id"],
    )


def settle(conn: Connection, outcomes: Mapping[JobId, Outcome | None], *, token: LeaseToken) -> set[JobId]:
    """Record how leased jobs ended, in one statement; return those whose lease this token still was.

    None hands a job back for lack of time: it was not started, so its attempt is returned.
    """
    others = {job_id: _columns(outcome) for job_id, outcome in outcomes.items() if not isinstance(outcome, Completed)}
    cur = conn.execute(
        """
        SELECT id FROM settle_jobs(
            p_token => %(token)s, p_completed => %(completed)s::uuid[], p_ids => %(ids)s::uuid[],
            p_outcomes => %(outcomes)s::text[], p_delays => %(delays)s::interval[], p_classes => %(classes)s::text[],
            p_messages => %(messages)s::text[]
        )""",
        {
            "token": token,
            "completed": [job_id for job_id in outcomes if job_id not in others],
            "ids": list(others),
            "outcomes": [each.kind for each in others.values()],
            "delays": [each.delay for each in others.values()],
            "classes": [each.error_class for each in others.values()],
            "messages": [each.error_message for each in others.values()],
        },
    )
    return {row[0] for row in cur}


class _Ended(NamedTuple):
    """How a job ended that did not complete, in the words of `settle_jobs`."""

    kind: str
    delay: timedelta | None = None
    error_class: str | None = None
    error_message: str | None = None


def _columns(outcome: Retry | DeadLetter | None) -> _Ended:
    match outcome:
        case Retry(delay, error_class, message):
            return _Ended("retry", delay, error_class, message[:LONGEST_REASON])
        case DeadLetter(error_class, message):
            return _Ended("dead_letter", None, error_class, message[:LONGEST_REASON])
        case None:
            return _Ended("handed_back")
