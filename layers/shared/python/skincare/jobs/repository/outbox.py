"""The outbox: what is to be put on SQS, and what was."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg import Connection
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from skincare.deployment.queues import QueueName
from skincare.identifiers import JobId, new_job_id
from skincare.jobs.catalog import JobPayload
from skincare.jobs.models import DueJob, Reason
from skincare.jobs.repository import LONGEST_REASON, timers
from skincare.jobs.repository.payload import read_payload


def insert(
    conn: Connection,
    job_id: JobId,
    payload: JobPayload,
    *,
    run_at: datetime | None = None,
    order_number: str | None = None,
    request_id: str | None = None,
) -> DueJob:
    """Enqueue a job: call it in the transaction that writes the business rows.

    The process's own publish and a worker have 2 min before the relay sends it too; a job for later waits for its
    `run_at`.
    """
    job = timers.insert(
        conn, job_id, payload, unique_key=None, run_at=run_at, order_number=order_number, request_id=request_id
    )
    assert job is not None  # noqa: S101  without a key nothing can be there already
    return job


def insert_again(conn: Connection, payload: JobPayload, *, order_number: str, request_id: str | None) -> DueJob | None:
    """Enqueue a job whose effect may be wanted now though it was not before; return it if it is to be published.

    One of its order and type that has not begun will see what the caller's transaction commits, for its row stays
    locked until then; a dead one is a person's. One that runs may have seen the old state: the new one waits for
    its end.
    """
    which = {"order_number": order_number, "job_type": payload.job_type}
    waits = conn.execute(
        """
        SELECT 1 FROM jobs
        WHERE order_number = %(order_number)s AND job_type = %(job_type)s
            AND state IN ('pending', 'queued', 'retry_waiting', 'dead_letter')
        LIMIT 1 FOR NO KEY UPDATE""",
        which,
    ).fetchone()
    if waits is not None:
        return None
    running = conn.execute(
        """
        SELECT max(lease_until) FROM jobs
        WHERE order_number = %(order_number)s AND job_type = %(job_type)s AND state = 'processing'""",
        which,
    ).fetchone()
    run_at = running[0] if running else None
    job = insert(conn, new_job_id(), payload, run_at=run_at, order_number=order_number, request_id=request_id)
    return job if run_at is None else None


def insert_for_relay(conn: Connection, payload: JobPayload, *, unique_key: str, order_number: str | None) -> bool:
    """Enqueue a job that the relay's next run publishes, unless an unfinished one has the same key; tell whether.

    For those who publish nothing themselves.
    """
    job = timers.insert(conn, new_job_id(), payload, unique_key=unique_key, order_number=order_number)
    if job is not None:
        make_due(conn, [job])
    return job is not None


def insert_all(
    conn: Connection, payloads: Sequence[JobPayload], *, order_number: str | None, request_id: str | None
) -> list[DueJob]:
    """Enqueue several jobs at once, as `insert` does with one."""
    return insert_many(conn, [NewJob(payload, order_number, request_id) for payload in payloads])


@dataclass(frozen=True)
class NewJob:
    """A job to be enqueued, the order it is about and the request that wants it."""

    payload: JobPayload
    order_number: str | None
    request_id: str | None


def insert_many(conn: Connection, new: Sequence[NewJob]) -> list[DueJob]:
    """Enqueue jobs about several orders at once, as `insert` does with one."""
    jobs = [(new_job_id(), each, each.payload.model_dump(mode="json")) for each in new]
    publish_ats = conn.execute(
        """
        SELECT e.id, e.publish_at FROM (
            SELECT order_number, request_id, array_agg(id) AS ids, array_agg(job_type) AS types,
                array_agg(queue) AS queues, array_agg(payload) AS payloads
            FROM unnest(
                %(ids)s::uuid[], %(types)s::text[], %(queues)s::text[], %(payloads)s::jsonb[],
                %(order_numbers)s::text[], %(request_ids)s::text[]
            ) AS n (id, job_type, queue, payload, order_number, request_id)
            GROUP BY order_number, request_id
        ) o, enqueue_jobs(
            o.ids, o.types, o.queues, o.payloads, NULL, NULL, o.order_number, o.request_id, NULL
        ) e""",
        {
            "ids": [job_id for job_id, _, _ in jobs],
            "types": [each.payload.job_type for _, each, _ in jobs],
            "queues": [each.payload.queue for _, each, _ in jobs],
            "payloads": [Jsonb(content) for _, _, content in jobs],
            "order_numbers": [each.order_number for _, each, _ in jobs],
            "request_ids": [each.request_id for _, each, _ in jobs],
        },
    )
    due: dict[JobId, datetime] = dict(publish_ats.fetchall())
    return [
        DueJob(
            job_id=job_id,
            job_type=each.payload.job_type,
            queue=each.payload.queue,
            payload=content,
            publish_at=due[job_id],
            request_id=each.request_id,
            order_number=each.order_number,
        )
        for job_id, each, content in jobs
    ]


def tidy_schedule(conn: Connection, *, limit: int) -> int:
    """Put up to `limit` rows of the schedule right whose time has come though their job's has not; return how many.

    A job that was put off is looked at again at its `publish_at`, and one that is finished or gone never. Whoever
    brings a `publish_at` nearer meanwhile writes a row of their own.
    """
    row = conn.execute("SELECT tidy_job_schedule(%(limit)s)", {"limit": limit}).fetchone()
    return 0 if row is None else int(row[0])


def take_due(conn: Connection, *, limit: int, queues: Collection[QueueName] = tuple(QueueName)) -> list[DueJob]:
    """Take up to `limit` jobs of these queues whose `publish_at` has come, as the schedule names them.

    Another taker gets them again in 60 s unless marked. `publish_at` stays: it tells since when a job is due. A queue
    that this release does not know cannot be among them, and its jobs stay due for one that does. So do those that a
    pause holds, but dead letters go out.
    """
    cur = conn.cursor(row_factory=dict_row)
    cur.execute(
        """
        SELECT id, job_type, queue, payload::text, publish_at, request_id, trace_id, order_number,
            state = 'dead_letter' AS dead,
            dead_letter_no, error_class, error_message, attempts, crashes, first_failed_at, last_failed_at, release
        FROM take_due_jobs(%(queues)s::text[], %(limit)s)""",
        {"limit": limit, "queues": list(queues)},
    )
    return [_due_job(row) for row in cur]


def take_these(conn: Connection, job_ids: Sequence[JobId]) -> list[DueJob]:
    """Take those of these live jobs that are due: for a process that publishes what it has just made due."""
    cur = conn.cursor(row_factory=dict_row)
    cur.execute(
        """
        UPDATE jobs SET taken_at = now()
        WHERE id IN (
            SELECT id FROM jobs
            WHERE id = ANY (%(ids)s::uuid[]) AND publish_at <= now() AND queue = ANY (%(queues)s::text[])
                AND state IN ('pending', 'queued', 'retry_waiting') AND NOT job_is_paused(job_type, queue)
            FOR UPDATE SKIP LOCKED
        )
        RETURNING id, job_type, queue, payload::text, publish_at, request_id, trace_id, order_number, false AS dead,
            dead_letter_no, error_class, error_message, attempts, crashes, first_failed_at, last_failed_at, release""",
        {"ids": list(job_ids), "queues": list(QueueName)},
    )
    return [_due_job(row) for row in cur]


def _due_job(row: dict[str, Any]) -> DueJob:
    return DueJob(
        job_id=row["id"],
        job_type=row["job_type"],
        queue=QueueName(row["queue"]),
        payload=read_payload(row["payload"]),
        publish_at=row["publish_at"],
        request_id=row["request_id"],
        trace_id=row["trace_id"],
        order_number=row["order_number"],
        dead_letter=_reason(row) if row["dead"] else None,
    )


def _reason(row: dict[str, Any]) -> Reason:
    return Reason(
        dead_letter_no=row["dead_letter_no"],
        error_class=row["error_class"] or "Unknown",
        error_message=row["error_message"] or "",
        attempts=row["attempts"],
        crashes=row["crashes"],
        first_failed_at=row["first_failed_at"],
        last_failed_at=row["last_failed_at"],
        release=row["release"],
    )


def mark_published(conn: Connection, jobs: Sequence[DueJob]) -> int:
    """Record that jobs were sent; return how many marks still fitted.

    A job that moved on since its take has another `publish_at` and is left alone: a late
    mark must not postpone what somebody else decided.
    """
    row = conn.execute(
        "SELECT mark_jobs_published(%(ids)s::uuid[], %(publish_ats)s::timestamptz[])", _sent(jobs)
    ).fetchone()
    return 0 if row is None else int(row[0])


def make_due(conn: Connection, jobs: Sequence[DueJob]) -> int:
    """Leave jobs to the relay's next run; return how many nobody has touched since their insert."""
    return conn.execute(
        """
        WITH locked AS (
            SELECT j.id FROM jobs j JOIN unnest(%(ids)s::uuid[], %(publish_ats)s::timestamptz[]) AS s (id, publish_at)
                ON s.id = j.id AND s.publish_at = j.publish_at
            ORDER BY j.id FOR UPDATE OF j
        )
        UPDATE jobs j SET publish_at = now() FROM locked WHERE j.id = locked.id""",
        _sent(jobs),
    ).rowcount


def dead_letter_refused(conn: Connection, jobs: Sequence[DueJob], *, error_class: str, error_message: str) -> int:
    """Dead-letter live jobs whose message SQS refused as the sender's fault; return how many."""
    row = conn.execute(
        """
        SELECT count(*) FILTER (WHERE dead_letter_job(id, %(error_class)s, %(error_message)s)) FROM (
            SELECT j.id FROM jobs j JOIN unnest(%(ids)s::uuid[], %(publish_ats)s::timestamptz[]) AS s (id, publish_at)
                ON s.id = j.id AND s.publish_at = j.publish_at
            WHERE j.state IN ('pending', 'queued', 'retry_waiting')
            ORDER BY j.id FOR UPDATE OF j
        ) refused""",
        {**_sent(jobs), "error_class": error_class, "error_message": error_message[:LONGEST_REASON]},
    ).fetchone()
    return 0 if row is None else int(row[0])


def _sent(jobs: Sequence[DueJob]) -> dict[str, Any]:
    return {"ids": [job.job_id for job in jobs], "publish_ats": [job.publish_at for job in jobs]}
