"""Jobs by conditions, and whole ids by how they begin."""

from collections.abc import Sequence
from uuid import UUID

from psycopg import Connection
from psycopg.rows import class_row
from psycopg.sql import SQL, Identifier

from skincare.jobs.models import JobRow, JobState
from skincare.operations.conditions import JobConditions
from skincare.operations.models import IdMatch

STATES = {
    "waiting": tuple(state for state in JobState if state.is_waiting),
    "unfinished": tuple(state for state in JobState if state.is_live or state is JobState.DEAD_LETTER),
    "cancelled": (JobState.CANCELLED,),
}
MOST_CANDIDATES = 10
_TABLES = {"job": "jobs", "payment_event": "payment_events"}


def find(conn: Connection, wanted: JobConditions, *, after: UUID | None, limit: int) -> list[JobRow]:
    """Return jobs in the order of their ids, those behind `after`."""
    cur = conn.cursor(row_factory=class_row(JobRow))
    # Unfinished jobs are few among many, and the schedule has them all.
    among = "" if wanted.which == "cancelled" else "AND id = ANY (ARRAY(SELECT job_id FROM job_schedule))"
    cur.execute(
        f"""
        SELECT id::text, job_type AS type, queue, state, order_number, attempts, crashes, dead_letter_no, created_at,
            run_at, publish_at, retry_at, finished_at, error_class, error_message, request_id,
            state IN ('pending', 'queued', 'retry_waiting') AND job_is_paused(job_type, queue) AS paused
        FROM jobs
        WHERE state = ANY (%(states)s::text[]) {among}
            AND (NOT %(is_due)s OR run_at IS NULL OR run_at <= now())
            AND (%(after)s::uuid IS NULL OR id > %(after)s)
            AND (%(ids)s::uuid[] IS NULL OR id = ANY (%(ids)s))
            AND (%(job_type)s::text IS NULL OR job_type = %(job_type)s)
            AND (%(error_class)s::text IS NULL OR error_class = %(error_class)s)
            AND (%(queue)s::text IS NULL OR queue = %(queue)s)
            AND (%(order_number)s::text IS NULL OR order_number = %(order_number)s)
            AND (%(before)s::timestamptz IS NULL OR coalesce(last_failed_at, created_at) < %(before)s)
        ORDER BY id LIMIT %(limit)s""",  # noqa: S608  our own constant
        {
            "states": list(STATES[wanted.which]),
            # A job for later waits for its time, and not for another try.
            "is_due": wanted.which == "waiting",
            "after": after,
            "ids": None if wanted.job_ids is None else list(wanted.job_ids),
            "job_type": wanted.job_type,
            "error_class": wanted.error_class,
            "queue": wanted.queue,
            "order_number": wanted.order_number,
            "before": wanted.before,
            "limit": limit,
        },
    )
    return cur.fetchall()


def ids_beginning_with(conn: Connection, kind: str, beginnings: Sequence[str]) -> list[IdMatch]:
    """Return for each beginning the first ids that have it, one more than are shown where there are more."""
    rows = conn.execute(
        SQL(
            """
        SELECT b.beginning, array(
            SELECT t.id::text FROM {} t
            WHERE t.id BETWEEN rpad(b.beginning, 32, '0')::uuid AND rpad(b.beginning, 32, 'f')::uuid
            ORDER BY t.id LIMIT %(limit)s
        )
        FROM unnest(%(beginnings)s::text[]) WITH ORDINALITY AS b (beginning, position) ORDER BY b.position"""
        ).format(Identifier(_TABLES[kind])),
        {"beginnings": list(beginnings), "limit": MOST_CANDIDATES + 1},
    )
    most = MOST_CANDIDATES
    return [IdMatch(beginning, tuple(ids[:most]), more=len(ids) > most) for beginning, ids in rows]
