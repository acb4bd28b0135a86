"""Dead letters: how jobs become and cease to be one outside a worker's settle."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from psycopg import Connection

from skincare.identifiers import JobId
from skincare.jobs.catalog import JobPayload
from skincare.jobs.models import SweepVerdict
from skincare.jobs.repository import LONGEST_REASON


def dead_letter_unreadable(conn: Connection, job_id: JobId, *, error_class: str, error_message: str) -> bool:
    """Dead-letter a live job whose messages no worker can read; False where no such job waits.

    One that is paused waits on, to be sent again when the pause is over.
    """
    row = conn.execute(
        """
        WITH waits AS (
            SELECT id, job_is_paused(job_type, queue) AS paused FROM jobs
            WHERE id = %(id)s AND state IN ('pending', 'queued', 'retry_waiting') FOR UPDATE
        ), parked AS (
            UPDATE jobs j SET publish_at = now(), sends = 0 FROM waits w WHERE j.id = w.id AND w.paused
        )
        SELECT CASE WHEN paused THEN true ELSE dead_letter_job(id, %(error_class)s, %(error_message)s) END
        FROM waits""",
        {"id": job_id, "error_class": error_class, "error_message": error_message[:LONGEST_REASON]},
    ).fetchone()
    return row is not None and bool(row[0])


def sweep(
    conn: Connection, found: Sequence[tuple[JobId, int | None]], *, budgets: Mapping[str, timedelta]
) -> list[SweepVerdict]:
    """Judge messages found on a dead-letter queue against their jobs, one verdict per message in its order.

    A live job whose message SQS moved there by itself is dead-lettered once its budget is spent and
    published again otherwise; the found message is waste in both cases. A copy that is the current
    dead letter stays; copies of finished jobs and of earlier dead letters go.
    """
    cur = conn.execute(
        """
        WITH found AS (
            SELECT * FROM unnest(%(ids)s::uuid[], %(numbers)s::integer[])
                WITH ORDINALITY AS f (id, dead_letter_no, position)
        ), budget AS (
            SELECT * FROM unnest(%(types)s::text[], %(budgets)s::interval[]) AS b (job_type, budget)
        ), locked AS (
            SELECT j.* FROM jobs j WHERE j.id = ANY (%(ids)s::uuid[]) ORDER BY j.id FOR UPDATE
        ), judged AS (
            SELECT f.position, l.id, l.error_class, l.error_message, CASE
                WHEN l.id IS NULL THEN 'foreign'
                WHEN l.state IN ('completed', 'cancelled') THEN 'delete'
                WHEN l.state = 'dead_letter'
                    THEN CASE WHEN f.dead_letter_no = l.dead_letter_no THEN 'keep' ELSE 'delete' END
                WHEN f.dead_letter_no < l.dead_letter_no THEN 'delete'
                WHEN l.state = 'processing' AND l.lease_until > now() THEN 'keep'
                WHEN l.state <> 'processing' AND job_age_s(l.job_type, l.queue, l.budget_from)
                    >= extract(epoch FROM coalesce(b.budget, %(default_budget)s)) THEN 'dead_letter'
                ELSE 'republish'
            END AS verdict
            FROM found f LEFT JOIN locked l ON l.id = f.id LEFT JOIN budget b ON b.job_type = l.job_type
        ), republished AS (
            UPDATE jobs j SET publish_at = now()
            WHERE j.id IN (SELECT id FROM judged WHERE verdict = 'republish')
                AND j.id NOT IN (SELECT id FROM judged WHERE verdict = 'dead_letter')
        )
        SELECT CASE
            WHEN verdict = 'dead_letter' AND dead_letter_job(
                id, coalesce(error_class, 'NeverSettled'),
                coalesce(error_message, 'received time after time without an outcome')
            ) IS NOT NULL THEN 'delete'
            WHEN verdict = 'republish' THEN 'delete'
            ELSE verdict
        END
        FROM judged ORDER BY position""",
        {
            "ids": [job_id for job_id, _ in found],
            "numbers": [number for _, number in found],
            "types": list(budgets),
            "budgets": list(budgets.values()),
            "default_budget": JobPayload.budget,
        },
    )
    return [SweepVerdict(row[0]) for row in cur]


def redrive(conn: Connection, job_ids: Sequence[JobId], *, only_at: Sequence[int] | None = None) -> dict[JobId, int]:
    """Bring dead jobs back: attempts, crashes and budget start again, history stays.

    `only_at` holds for each job the dead-letter number that it was looked at with: one that died again
    since is left alone, so that a request whose answer got lost may be repeated. Returns the dead-letter number
    of each job that was dead: the sweep may delete its messages up to that one once this is committed.
    """
    cur = conn.execute(
        """
        WITH wanted AS (
            SELECT * FROM unnest(%(ids)s::uuid[], %(numbers)s::integer[]) AS w (id, dead_letter_no)
        ), locked AS (
            SELECT j.id FROM jobs j JOIN wanted w ON w.id = j.id
            WHERE j.state = 'dead_letter'
                AND (%(numbers)s::integer[] IS NULL OR j.dead_letter_no = w.dead_letter_no)
            ORDER BY j.id FOR UPDATE OF j
        )
        UPDATE jobs j SET state = 'pending', publish_at = now(), sends = 0, attempts = 0, crashes = 0,
            budget_from = now(), retry_at = NULL
        FROM locked WHERE j.id = locked.id RETURNING j.id, j.dead_letter_no""",
        {"ids": list(job_ids), "numbers": None if only_at is None else list(only_at)},
    )
    return dict(cur.fetchall())


def moved_on(conn: Connection, dead_letter_nos: Mapping[JobId, int]) -> set[JobId]:
    """Return the jobs whose `dead_letter_no` is no longer the one that was looked at: they came back, or died again."""
    cur = conn.execute(
        """
        SELECT w.id FROM unnest(%(ids)s::uuid[], %(numbers)s::integer[]) AS w (id, dead_letter_no)
        LEFT JOIN jobs j ON j.id = w.id AND j.dead_letter_no = w.dead_letter_no
            AND j.state = 'dead_letter'
        WHERE j.id IS NULL""",
        {"ids": list(dead_letter_nos), "numbers": list(dead_letter_nos.values())},
    )
    return {row[0] for row in cur}


def discard(conn: Connection, job_ids: Sequence[JobId], *, only_at: Sequence[int]) -> set[JobId]:
    """Cancel dead jobs that have not come back or died again since they were looked at; see `redrive`."""
    cur = conn.execute(
        """
        WITH wanted AS (
            SELECT * FROM unnest(%(ids)s::uuid[], %(numbers)s::integer[]) AS w (id, dead_letter_no)
        ), locked AS (
            SELECT j.id FROM jobs j JOIN wanted w ON w.id = j.id AND w.dead_letter_no = j.dead_letter_no
            WHERE j.state = 'dead_letter' ORDER BY j.id FOR UPDATE OF j
        )
        UPDATE jobs j SET state = 'cancelled', publish_at = NULL, retry_at = NULL, finished_at = now()
        FROM locked WHERE j.id = locked.id RETURNING j.id""",
        {"ids": list(job_ids), "numbers": list(only_at)},
    )
    return {row[0] for row in cur}
