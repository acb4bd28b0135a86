"""What people do with jobs: look at them, cancel them, and let them try at once."""

from collections.abc import Sequence

from psycopg import Connection
from psycopg.rows import class_row

from skincare.deployment.queues import QueueName
from skincare.identifiers import JobId
from skincare.jobs.models import Backlog, JobRow


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
                SELECT 1 FROM jobs o WHERE o.unique_key = l.unique_key AND o.publish_at IS NOT NULL
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


def list_jobs(
    conn: Connection, *, queue: str | None = None, state: str | None = None, limit: int = 1000
) -> list[JobRow]:
    """Return the newest jobs first, all or those of one queue, of one state, or of both."""
    cur = conn.cursor(row_factory=class_row(JobRow))
    cur.execute(
        """
        SELECT id::text, job_type, job_type AS type, queue, state, order_number, attempts, crashes, dead_letter_no,
            created_at, run_at, publish_at, retry_at, finished_at, error_class, error_message, request_id
        FROM jobs
        WHERE (%(queue)s::text IS NULL OR queue = %(queue)s) AND (%(state)s::text IS NULL OR state = %(state)s)
        ORDER BY created_at DESC, id DESC LIMIT %(limit)s""",
        {"queue": queue, "state": state, "limit": limit},
    )
    return cur.fetchall()


def backlog(conn: Connection) -> Backlog:
    """Return how the ledger stands, by three indexes that hold little on a good day."""
    row = (
        conn.cursor(row_factory=class_row(Backlog))
        .execute(
            """
        SELECT (SELECT least(greatest(coalesce(now() - min(publish_at), '0'), '0'), '100 years') FROM jobs
                WHERE publish_at <= now() AND queue = ANY (%(queues)s::text[])) AS lateness,
            (SELECT count(*) FROM jobs
                WHERE publish_at <= now() AND queue <> ALL (%(queues)s::text[])) AS of_unknown_queues,
            (SELECT count(*) FROM jobs WHERE state = 'dead_letter') AS dead,
            (SELECT count(*) FROM quarantined_messages WHERE closed_at IS NULL) AS quarantined_messages""",
            {"queues": list(QueueName)},
        )
        .fetchone()
    )
    assert row is not None  # noqa: S101  a SELECT without FROM answers a row
    return row
