"""One of our workers doing the job that the other queues do: `python -m bench.our_jobs URL BATCH PART PARTS HANDLER`.

It works through every PARTS-th job of the ledger in batches, as Lambda would hand them over. HANDLER is `each` for one
handler per job, and `batch` for a batch handler.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import ClassVar

import psycopg
from psycopg import Connection

from bench.peers import statements
from bench.shopfront import logs_discarded
from skincare.database.connection import Database, StaticCredentials
from skincare.deployment.queues import QueueName
from skincare.jobs.catalog import JobPayload
from skincare.jobs.envelope import Envelope
from skincare.jobs.ports import QueuePair, ReceivedMessage
from skincare.jobs.registry import Handled, Registry
from skincare.jobs.worker import Worker
from tests.fakes.queue import MemoryQueue


class Confirm(JobPayload):
    """The job of the comparison."""

    job_type: ClassVar[str] = "confirm"
    queue: ClassVar[QueueName] = QueueName.NOTIFICATIONS
    order_number: str


@dataclass(frozen=True)
class BenchEnvironment:
    database: Database


def handle(payload: Confirm, app: BenchEnvironment) -> None:
    """Do the job's two statements."""
    with app.database.connection() as conn:
        row = conn.execute(statements.SELECT, [payload.order_number]).fetchone()
        assert row is not None
        conn.execute(statements.INSERT, [row[0]])


def handle_many(conn: Connection, payloads: Sequence[Confirm]) -> Handled[Confirm]:
    """Do the same for all jobs, in two statements."""
    numbers = [payload.order_number for payload in payloads]
    rows = conn.execute(_SELECT_MANY, {"order_numbers": numbers}).fetchall()
    assert len(rows) == len(payloads)
    conn.execute(_INSERT_MANY, {"order_ids": [row[0] for row in rows]})
    return Handled()


_SELECT_MANY = "SELECT id, status, email FROM orders WHERE order_number = ANY (%(order_numbers)s::text[])"
_INSERT_MANY = """
    INSERT INTO order_notifications (order_id, notification_type, status)
    SELECT id, 'order_confirmation', 'sent' FROM unnest(%(order_ids)s::bigint[]) AS o (id) ON CONFLICT DO NOTHING"""


def main(url: str, size: int, part: int, parts: int, handler: str) -> None:
    limits = QueueName.NOTIFICATIONS.limits
    limits = replace(limits, batch_size=size)
    database = Database(StaticCredentials(url), max_connections=limits.database_connections)
    registry: Registry[BenchEnvironment] = Registry()
    registry.add(Confirm, handle, batch=handle_many if handler == "batch" else None)
    pair = QueuePair(MemoryQueue(), MemoryQueue())
    worker = Worker(
        BenchEnvironment(database),
        registry=registry,
        database=database,
        queue=pair,
        publish=lambda _: None,  # the jobs set off no others
        limits=limits,
    )
    with psycopg.connect(url) as conn:
        rows = conn.execute("SELECT id, payload FROM jobs WHERE job_type = 'confirm' ORDER BY id").fetchall()
    messages = [
        ReceivedMessage(str(job_id), str(job_id), Envelope(job_id, "confirm", payload, None).encode())
        for job_id, payload in rows[part::parts]
    ]
    with logs_discarded():
        for start in range(0, len(messages), size):
            worker.run(messages[start : start + size], time_left=lambda: timedelta(seconds=60))


if __name__ == "__main__":
    _, at, of_size, which, of_how_many, how = sys.argv
    main(at, int(of_size), int(which), int(of_how_many), how)
