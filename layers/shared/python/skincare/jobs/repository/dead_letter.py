"""Dead letters: how jobs become and cease to be one outside a worker's settle."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from psycopg import Connection

from skincare.identifiers import JobId
from skincare.jobs.catalog import JobPayload
from skincare.jobs.models import SweepVerdict
from skincare.jobs.repository import LONGEST_REASON


def dead_letter_unreadable(conn: Connection, job_id: JobId, *, error_class: str, error_message: str) -> bool:
    """Dead-letter a live job whose messages no worker can read; False where no such job waits."""
    return (
        conn.execute(
            """
            UPDATE jobs SET
                state = 'dead_letter', publish_at = now(), dead_letter_no = dead_letter_no + 1, retry_at = NULL,
                first_failed_at = coalesce(first_failed_at, now()), last_failed_at = now(),
                error_class = %(error_class)s, error_message = %(error_message)s
            WHERE id = %(id)s AND state IN ('pending', 'queued', 'retry_waiting')""",
            {"id": job_id, "error_class": error_class, "error_message": error_message[:LONGEST_REASON]},
        ).rowcount
        == 1
    )


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
            SELECT f.position, l.id, CASE
                WHEN l.id IS NULL THEN 'foreign'
                WHEN l.state IN ('completed', 'cancelled') THEN 'delete'
                WHEN l.state IN ('dead_letter', 'investigated')
                    THEN CASE WHEN f.dead_letter_no = l.dead_letter_no THEN 'keep' ELSE 'delete' END
                WHEN f.dead_letter_no < l.dead_letter_no THEN 'delete'
                WHEN l.state = 'processing' AND l.lease_until > now() THEN 'keep'
                WHEN l.state <> 'processing' AND now() - l.budget_from
                    >= coalesce(b.budget, %(default_budget)s) THEN 'bury'
                ELSE 'republish'
            END AS verdict
            FROM found f LEFT JOIN locked l ON l.id = f.id LEFT JOIN budget b ON b.job_type = l.job_type
        ), buried AS (
            UPDATE jobs j SET
                state = 'dead_letter', publish_at = now(), dead_letter_no = j.dead_letter_no + 1, retry_at = NULL,
                first_failed_at = coalesce(j.first_failed_at, now()), last_failed_at = now(),
                error_class = coalesce(j.error_class, 'NeverSettled'),
                error_message = coalesce(j.error_message, 'received time after time without an outcome')
            WHERE j.id IN (SELECT id FROM judged WHERE verdict = 'bury')
        ), republished AS (
            UPDATE jobs j SET publish_at = now()
            WHERE j.id IN (SELECT id FROM judged WHERE verdict = 'republish')
                AND j.id NOT IN (SELECT id FROM judged WHERE verdict = 'bury')
        )
        SELECT CASE WHEN verdict IN ('bury', 'republish') THEN 'delete' ELSE verdict END
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


def redrive(conn: Connection, job_ids: Sequence[JobId]) -> dict[JobId, int]:
    """Bring dead jobs back: attempts, crashes and budget start again, history stays.

    Returns the dead-letter number of each job that was dead: its messages up to that number may be
    deleted from the dead-letter queue once this is committed, and not before.
    """
    with conn.transaction():
        conn.execute(
            """
            WITH locked AS (
                SELECT id FROM jobs WHERE id = ANY (%(ids)s::uuid[]) AND state = 'dead_letter' ORDER BY id FOR UPDATE
            )
            UPDATE jobs j SET state = 'investigated' FROM locked WHERE j.id = locked.id""",
            {"ids": list(job_ids)},
        )
        cur = conn.execute(
            """
            WITH locked AS (
                SELECT id FROM jobs WHERE id = ANY (%(ids)s::uuid[]) AND state = 'investigated' ORDER BY id FOR UPDATE
            )
            UPDATE jobs j SET state = 'pending', publish_at = now(), sends = 0, attempts = 0, crashes = 0,
                budget_from = now(), retry_at = NULL
            FROM locked WHERE j.id = locked.id RETURNING j.id, j.dead_letter_no""",
            {"ids": list(job_ids)},
        )
        return dict(cur.fetchall())
