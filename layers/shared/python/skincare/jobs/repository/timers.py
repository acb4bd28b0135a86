"""Timers: jobs for later that exist once while unfinished, and that can be cancelled."""

from collections.abc import Collection
from datetime import datetime

from psycopg import Connection
from psycopg.types.json import Jsonb

from skincare.identifiers import JobId
from skincare.jobs.catalog import JobPayload
from skincare.jobs.models import DueJob


def insert(
    conn: Connection,
    job_id: JobId,
    payload: JobPayload,
    *,
    unique_key: str | None,
    run_at: datetime | None = None,
    order_number: str | None = None,
    request_id: str | None = None,
) -> DueJob | None:
    """Enqueue a job unless an unfinished one has the same key; None means that one has. Without a key none has.

    As `outbox.insert`: in the transaction of the business rows, and with `run_at` it waits for that.
    """
    row = conn.execute(
        """
        SELECT enqueue_job(
            %(id)s, %(job_type)s, %(queue)s, %(payload)s, %(order_number)s, %(request_id)s,
            p_run_at => %(run_at)s, p_unique_key => %(unique_key)s
        )""",
        {
            "id": job_id,
            "job_type": payload.job_type,
            "queue": payload.queue,
            "payload": Jsonb(payload.model_dump(mode="json")),
            "order_number": order_number,
            "request_id": request_id,
            "run_at": run_at,
            "unique_key": unique_key,
        },
    ).fetchone()
    if row is None or row[0] is None:
        return None
    return DueJob(
        job_id=job_id,
        job_type=payload.job_type,
        queue=payload.queue,
        payload=payload.model_dump(mode="json"),
        publish_at=row[0],
        request_id=request_id,
        order_number=order_number,
    )


def cancel(conn: Connection, unique_key: str) -> bool:
    """Cancel the unfinished job of a key, in the caller's transaction; False where there is none."""
    row = conn.execute("SELECT cancel_timer(%(unique_key)s)", {"unique_key": unique_key}).fetchone()
    return row is not None and bool(row[0])


def cancel_all(conn: Connection, unique_keys: Collection[str]) -> None:
    """Cancel the unfinished job of each key that has one, as `cancel` does."""
    conn.execute(
        "SELECT cancel_timer(k) FROM unnest(%(unique_keys)s::text[]) AS u (k)", {"unique_keys": list(unique_keys)}
    )


def move(conn: Connection, unique_key: str, *, run_at: datetime) -> bool:
    """Let the timer of a key go off at another time; False where there is none that has not gone off yet."""
    cur = conn.execute(
        """
        UPDATE jobs SET run_at = %(run_at)s, publish_at = %(run_at)s, budget_from = %(run_at)s
        WHERE id = (SELECT job_id FROM job_keys WHERE unique_key = %(unique_key)s)
            AND state = 'pending' AND attempts = 0""",
        {"unique_key": unique_key, "run_at": run_at},
    )
    return cur.rowcount == 1


def hasten(conn: Connection, unique_key: str) -> bool:
    """Let the timer of a key go off now; False where there is none that has not gone off yet."""
    cur = conn.execute(
        """
        UPDATE jobs SET run_at = now(), publish_at = now(), budget_from = now()
        WHERE id = (SELECT job_id FROM job_keys WHERE unique_key = %(unique_key)s)
            AND state = 'pending' AND attempts = 0 AND publish_at > now()""",
        {"unique_key": unique_key},
    )
    return cur.rowcount == 1


def insert_daily(conn: Connection, job_id: JobId, payload: JobPayload) -> bool:
    """Schedule the next run of a periodic job unless it is scheduled; `payload.daily_at` is its time of day.

    Its key holds its day: whatever became of yesterday's, today's is scheduled all the same.
    """
    row = conn.execute(
        """
        SELECT enqueue_job(
            %(id)s, %(job_type)s, %(queue)s, %(payload)s, p_run_at => n.run_at,
            p_unique_key => %(job_type)s || ':' || to_char(n.run_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')
        )
        FROM (
            SELECT date_bin('1 day', now(), '2026-01-01 00:00+00'::timestamptz + %(daily_at)s) + interval '1 day'
        ) n (run_at)""",
        {
            "id": job_id,
            "job_type": payload.job_type,
            "queue": payload.queue,
            "payload": Jsonb(payload.model_dump(mode="json")),
            "daily_at": payload.daily_at,
        },
    ).fetchone()
    return row is not None and row[0] is not None
