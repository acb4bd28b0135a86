"""The ledger as workers use it: claim a batch, settle a batch."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from psycopg import Connection
from psycopg.rows import dict_row
from psycopg.sql import SQL

from skincare.identifiers import JobId, LeaseToken
from skincare.jobs.models import Claim, Verdict
from skincare.jobs.repository import DIES, LONGEST_REASON
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
        SQL("""
        WITH wanted AS (
            SELECT * FROM unnest(%(ids)s::uuid[], %(numbers)s::integer[]) AS w (id, dead_letter_no)
        ), locked AS (
            SELECT j.* FROM jobs j WHERE j.id = ANY (%(ids)s::uuid[]) ORDER BY j.id FOR UPDATE
        ), judged AS (
            SELECT l.id, l.job_type, l.lease_until, l.leased_at, l.retry_at, l.run_at, l.crashes,
                l.release,
                l.state = 'dead_letter' AS dead,
                (l.state = 'processing')::integer AS crashed,
                CASE
                    WHEN l.state IN ('completed', 'cancelled') THEN 'done'
                    WHEN l.state = 'dead_letter'
                        THEN CASE WHEN w.dead_letter_no = l.dead_letter_no THEN 'run' ELSE 'done' END
                    WHEN l.state = 'processing' AND l.lease_until > now() THEN 'busy'
                    WHEN coalesce(l.retry_at, l.run_at) > now() THEN 'early'
                    WHEN l.state <> 'processing' AND l.crashes = 0 THEN 'run'
                    WHEN NOT %(alone)s THEN 'suspect'
                    WHEN l.crashes + (l.state = 'processing')::integer >= %(crash_limit)s THEN 'dead'
                    ELSE 'run'
                END AS verdict
            FROM locked l JOIN wanted w ON w.id = l.id
        ), leased AS (
            UPDATE jobs j SET
                state = 'processing',
                attempts = CASE WHEN d.dead THEN 1 ELSE j.attempts + 1 - d.crashed END,
                crashes = CASE WHEN d.dead THEN 0 ELSE j.crashes + d.crashed END,
                first_failed_at = CASE d.crashed WHEN 1 THEN coalesce(j.first_failed_at, d.lease_until)
                    ELSE j.first_failed_at END,
                last_failed_at = CASE d.crashed WHEN 1 THEN d.lease_until ELSE j.last_failed_at END,
                budget_from = CASE WHEN d.dead THEN now() ELSE j.budget_from END,
                lease_token = %(token)s, leased_at = now(), lease_until = now() + %(lease)s,
                publish_at = now() + %(lease)s + rescue_delay(0), sends = 1, retry_at = NULL,
                release = coalesce(%(release)s, j.release)
            FROM judged d WHERE j.id = d.id AND d.verdict = 'run'
            RETURNING j.*
        ), dead AS (
            UPDATE jobs j SET {dies}, crashes = j.crashes + d.crashed,
                error_class = 'WorkerCrashed', error_message = 'the job took its process down time after time'
            FROM judged d WHERE j.id = d.id AND d.verdict = 'dead'
        ), history AS (
            INSERT INTO job_attempts (job_id, started_at, finished_at, outcome, error_class, error_message, release)
            SELECT d.id, d.leased_at, d.lease_until, 'crashed', 'WorkerCrashed', 'the lease ran out', d.release
            FROM judged d WHERE d.crashed = 1 AND d.verdict IN ('run', 'dead')
        )
        SELECT w.id, coalesce(d.verdict, 'missing') AS verdict, d.crashes,
            extract(epoch FROM least('30 days', greatest('0', coalesce(CASE d.verdict
                WHEN 'busy' THEN d.lease_until
                WHEN 'early' THEN coalesce(d.retry_at, d.run_at)
            END - now(), '0'))))::double precision AS wait_s,
            d.job_type, l.payload::text, l.attempts, l.order_number, l.request_id, l.trace_id,
            extract(epoch FROM greatest('-100 years', least('100 years', now() - l.budget_from)))::double precision
                AS age_s
        FROM wanted w LEFT JOIN judged d ON d.id = w.id LEFT JOIN leased l ON l.id = w.id
        ORDER BY w.id""").format(dies=DIES),
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
    kinds, delays, classes, messages = zip(*(_columns(outcome) for outcome in outcomes.values()), strict=True)
    cur = conn.execute(
        SQL("""
        WITH given AS (
            SELECT * FROM unnest(
                %(ids)s::uuid[], %(outcomes)s::text[], %(delays)s::interval[], %(classes)s::text[], %(messages)s::text[]
            ) AS g (id, outcome, delay, error_class, error_message)
        ), locked AS (
            SELECT j.id, j.leased_at FROM jobs j
            WHERE j.id = ANY (%(ids)s::uuid[]) AND j.state = 'processing' AND j.lease_token = %(token)s
            ORDER BY j.id FOR UPDATE
        ), settled AS (
            UPDATE jobs j SET
                state = CASE g.outcome
                    WHEN 'completed' THEN 'completed'
                    WHEN 'retry' THEN 'retry_waiting'
                    WHEN 'handed_back' THEN 'queued'
                END,
                publish_at = CASE g.outcome
                    WHEN 'retry' THEN now() + g.delay + rescue_delay(0)
                    WHEN 'handed_back' THEN now() + rescue_delay(0)
                END,
                retry_at = now() + g.delay,
                attempts = j.attempts - (g.outcome = 'handed_back')::integer,
                finished_at = CASE g.outcome WHEN 'completed' THEN now() END,
                first_failed_at = CASE WHEN g.error_class IS NULL THEN j.first_failed_at
                    ELSE coalesce(j.first_failed_at, now()) END,
                last_failed_at = CASE WHEN g.error_class IS NULL THEN j.last_failed_at ELSE now() END,
                error_class = coalesce(g.error_class, j.error_class),
                error_message = coalesce(g.error_message, j.error_message),
                lease_token = NULL, leased_at = NULL, lease_until = NULL
            FROM given g JOIN locked l ON l.id = g.id
            WHERE j.id = g.id AND g.outcome <> 'dead_letter'
            RETURNING j.id, l.leased_at, g.outcome, g.error_class, g.error_message, j.release
        ), died AS (
            UPDATE jobs j SET {dies}, error_class = g.error_class, error_message = g.error_message
            FROM given g JOIN locked l ON l.id = g.id
            WHERE j.id = g.id AND g.outcome = 'dead_letter'
            RETURNING j.id, l.leased_at, g.outcome, g.error_class, g.error_message, j.release
        ), ended AS (
            SELECT * FROM settled UNION ALL SELECT * FROM died
        ), history AS (
            INSERT INTO job_attempts (job_id, started_at, outcome, error_class, error_message, release)
            SELECT id, leased_at, outcome, error_class, error_message, release
            FROM ended WHERE outcome <> 'handed_back'
        )
        SELECT id FROM ended""").format(dies=DIES),
        {
            "ids": list(outcomes),
            "outcomes": list(kinds),
            "delays": list(delays),
            "classes": list(classes),
            "messages": list(messages),
            "token": token,
        },
    )
    return {row[0] for row in cur}


def _columns(outcome: Outcome | None) -> tuple[str, timedelta | None, str | None, str | None]:
    match outcome:
        case Completed():
            return "completed", None, None, None
        case Retry(delay, error_class, message):
            return "retry", delay, error_class, message[:LONGEST_REASON]
        case DeadLetter(error_class, message):
            return "dead_letter", None, error_class, message[:LONGEST_REASON]
        case None:
            return "handed_back", None, None, None
