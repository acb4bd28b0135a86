"""Acknowledgements of dead jobs: each is of one dead letter, and ends by itself."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from psycopg import Connection
from psycopg.rows import class_row
from psycopg.sql import SQL

from skincare.deployment.queues import QueueName
from skincare.identifiers import JobId
from skincare.jobs.models import Acknowledgement, DeadCount

ACKNOWLEDGED = SQL("""EXISTS (
    SELECT 1 FROM dead_letter_acknowledgements a
    WHERE a.job_id = j.id AND a.dead_letter_no = j.dead_letter_no AND a.expires_at > now()
)""")
"""Whether the present dead letter of the dead job `j` is acknowledged at this moment."""


def acknowledge(
    conn: Connection, dead_letter_nos: Mapping[JobId, int], *, claimed_identity: str, reason: str, lasts: timedelta
) -> set[JobId]:
    """Acknowledge jobs that are dead with the given `dead_letter_no`; return which. The latest word replaces others."""
    cur = conn.execute(
        """
        INSERT INTO dead_letter_acknowledgements (job_id, dead_letter_no, claimed_identity, reason, expires_at)
        SELECT j.id, j.dead_letter_no, %(identity)s, %(reason)s, now() + %(lasts)s
        FROM unnest(%(ids)s::uuid[], %(numbers)s::integer[]) AS w (id, dead_letter_no)
        JOIN jobs j ON j.id = w.id AND j.dead_letter_no = w.dead_letter_no AND j.state = 'dead_letter'
        ORDER BY j.id
        ON CONFLICT (job_id, dead_letter_no) DO UPDATE SET claimed_identity = excluded.claimed_identity,
            reason = excluded.reason, acknowledged_at = excluded.acknowledged_at, expires_at = excluded.expires_at
        RETURNING job_id""",
        {
            "ids": list(dead_letter_nos),
            "numbers": list(dead_letter_nos.values()),
            "identity": claimed_identity,
            "reason": reason,
            "lasts": lasts,
        },
    )
    return {row[0] for row in cur}


def withdraw(conn: Connection, dead_letter_nos: Mapping[JobId, int]) -> set[JobId]:
    """Take back acknowledgements that hold, of these dead letters; return the jobs."""
    cur = conn.execute(
        """
        WITH locked AS (
            SELECT a.job_id, a.dead_letter_no FROM dead_letter_acknowledgements a
            JOIN unnest(%(ids)s::uuid[], %(numbers)s::integer[]) AS w (id, dead_letter_no)
                ON a.job_id = w.id AND a.dead_letter_no = w.dead_letter_no
            WHERE a.expires_at > now() ORDER BY a.job_id FOR UPDATE OF a
        )
        DELETE FROM dead_letter_acknowledgements a USING locked l
        WHERE a.job_id = l.job_id AND a.dead_letter_no = l.dead_letter_no RETURNING a.job_id""",
        {"ids": list(dead_letter_nos), "numbers": list(dead_letter_nos.values())},
    )
    return {row[0] for row in cur}


def acknowledgements(conn: Connection, job_ids: Sequence[JobId]) -> dict[JobId, Acknowledgement]:
    """Return those that hold of these dead jobs."""
    cur = conn.execute(
        """
        SELECT j.id, a.claimed_identity, a.reason, a.acknowledged_at, a.expires_at
        FROM jobs j JOIN dead_letter_acknowledgements a ON a.job_id = j.id AND a.dead_letter_no = j.dead_letter_no
        WHERE j.id = ANY (%(ids)s::uuid[]) AND j.state = 'dead_letter' AND a.expires_at > now()""",
        {"ids": list(job_ids)},
    )
    return {job_id: Acknowledgement(*row) for job_id, *row in cur}


def count_dead(conn: Connection) -> dict[QueueName, DeadCount]:
    """Count the dead jobs of every queue that this release knows."""
    cur = conn.cursor(row_factory=class_row(DeadCount))
    cur.execute(
        SQL("""
        SELECT q.queue, count(j.id) FILTER (WHERE NOT {acknowledged})::integer AS unacknowledged,
            count(j.id) FILTER (WHERE {acknowledged})::integer AS acknowledged
        FROM unnest(%(queues)s::text[]) AS q (queue)
        LEFT JOIN (
            SELECT * FROM jobs WHERE id = ANY (ARRAY(SELECT job_id FROM dead_jobs))
        ) j ON j.queue = q.queue
        GROUP BY q.queue""").format(acknowledged=ACKNOWLEDGED),
        {"queues": list(QueueName)},
    )
    counts = {found.queue: found for found in cur}
    return {queue: counts[queue] for queue in QueueName}
