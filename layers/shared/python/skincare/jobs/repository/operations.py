"""What people do with jobs: look at them, cancel them, and let them try at once."""

from collections.abc import Sequence

from psycopg import Connection
from psycopg.rows import class_row

from skincare.deployment.queues import QueueName
from skincare.identifiers import JobId
from skincare.jobs.models import Backlog, JobRow, JobState


def cancel(conn: Connection, job_ids: Sequence[JobId]) -> set[JobId]:
    """Cancel jobs that are not finished, also one that runs: its settle then hits no row."""
    cur = conn.execute(
        """
        WITH locked AS (
            SELECT id FROM jobs WHERE id = ANY (%(ids)s::uuid[]) AND state NOT IN ('completed', 'cancelled')
            ORDER BY id FOR UPDATE
        )
        UPDATE jobs j SET state = 'cancelled', publish_at = NULL, retry_at = NULL, finished_at = now(),
            lease_token = NULL, leased_at = NULL, lease_until = NULL
        FROM locked WHERE j.id = locked.id RETURNING j.id""",
        {"ids": list(job_ids)},
    )
    return {row[0] for row in cur}


def revive(conn: Connection, job_ids: Sequence[JobId]) -> set[JobId]:
    """Bring cancelled jobs back as if they were new; return which.

    One whose key another unfinished job has by now stays cancelled: that one does its work.
    """
    cur = conn.execute(
        """
        WITH locked AS (
            SELECT id, unique_key FROM jobs WHERE id = ANY (%(ids)s::uuid[]) AND state = 'cancelled'
            ORDER BY id FOR UPDATE
        ), free AS (
            SELECT DISTINCT ON (coalesce(l.unique_key, l.id::text)) l.id FROM locked l
            WHERE NOT EXISTS (
                SELECT 1 FROM job_keys k WHERE k.unique_key = l.unique_key
            )
            ORDER BY coalesce(l.unique_key, l.id::text), l.id DESC
        )
        UPDATE jobs j SET state = 'pending', publish_at = now(), sends = 0, attempts = 0, crashes = 0,
            budget_from = now(), retry_at = NULL, finished_at = NULL
        FROM free WHERE j.id = free.id RETURNING j.id""",
        {"ids": list(job_ids)},
    )
    return {row[0] for row in cur}


def retry_now(conn: Connection, job_ids: Sequence[JobId]) -> set[JobId]:
    """End the wait of jobs that wait for their next attempt; return those that do not wait any more.

    A job for later keeps its `run_at`: that is no wait for a retry. The message that SQS still hides comes later
    and finds the job done, or waiting for another attempt.
    """
    cur = conn.execute(
        """
        WITH locked AS (
            SELECT id FROM jobs
            WHERE id = ANY (%(ids)s::uuid[]) AND state IN ('pending', 'queued', 'retry_waiting')
                AND (run_at IS NULL OR run_at <= now())
            ORDER BY id FOR UPDATE
        )
        UPDATE jobs j SET publish_at = now(), retry_at = NULL FROM locked WHERE j.id = locked.id RETURNING j.id""",
        {"ids": list(job_ids)},
    )
    return {row[0] for row in cur}


_UNFINISHED = "AND id = ANY (ARRAY(SELECT job_id FROM job_schedule))"


def list_jobs(
    conn: Connection, *, queue: str | None = None, state: str | None = None, limit: int = 1000
) -> list[JobRow]:
    """Return the newest jobs first, all or those of one queue, of one state, or of both."""
    cur = conn.cursor(row_factory=class_row(JobRow))
    # Of unfinished jobs there are few among many, and the schedule has them all.
    among = "" if state in {None, JobState.COMPLETED, JobState.CANCELLED} else _UNFINISHED
    cur.execute(
        f"""
        SELECT id::text, job_type, job_type AS type, queue, state, order_number, attempts, crashes, dead_letter_no,
            created_at, run_at, publish_at, retry_at, finished_at, error_class, error_message, request_id,
            state IN ('pending', 'queued', 'retry_waiting') AND job_is_paused(job_type, queue) AS paused
        FROM jobs
        WHERE (%(queue)s::text IS NULL OR queue = %(queue)s) AND (%(state)s::text IS NULL OR state = %(state)s) {among}
        ORDER BY id DESC LIMIT %(limit)s""",  # noqa: S608  our own constant
        {"queue": queue, "state": state, "limit": limit},
    )
    return cur.fetchall()


def backlog(conn: Connection) -> Backlog:
    """Return how the ledger stands, by tables and indexes that hold little on a good day."""
    row = (
        conn.cursor(row_factory=class_row(Backlog))
        .execute(
            """
        WITH alike AS (
            SELECT job_type, queue, state = 'dead_letter' AS dead, min(publish_at) AS publish_at, count(*) AS jobs
            FROM jobs
            WHERE id = ANY (ARRAY(SELECT job_id FROM job_schedule WHERE look_at <= now())) AND publish_at <= now()
            GROUP BY 1, 2, 3
        ), due AS (
            SELECT jobs, queue = ANY (%(queues)s::text[]) AS known,
                NOT dead AND job_is_paused(job_type, queue) AS paused,
                CASE WHEN dead THEN age_s(publish_at) ELSE job_age_s(job_type, queue, publish_at) END AS late_s
            FROM alike
        )
        SELECT (
                SELECT make_interval(secs => greatest(coalesce(max(late_s), 0), 0)) FROM due WHERE known AND NOT paused
            ) AS lateness,
            (SELECT coalesce(sum(jobs), 0)::integer FROM due WHERE NOT known AND NOT paused) AS of_unknown_queues,
            (SELECT coalesce(sum(jobs), 0)::integer FROM due WHERE paused) AS paused,
            (
                SELECT count(*) FROM job_pauses WHERE resumed_at IS NULL AND ends_at = 'infinity'
                    AND paused_at <= now() - interval '24 hours'
            ) AS forgotten_pauses,
            (SELECT count(*) FROM dead_jobs) AS dead,
            (SELECT count(*) FROM quarantined_messages WHERE closed_at IS NULL) AS quarantined_messages""",
            {"queues": list(QueueName)},
        )
        .fetchone()
    )
    assert row is not None  # noqa: S101  a SELECT without FROM answers a row
    return row
