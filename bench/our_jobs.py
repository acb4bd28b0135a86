"""One of our workers doing the job that the other queues do: `python -m bench.our_jobs URL BATCH PART PARTS`.

It works through every PARTS-th job of the ledger in batches, as Lambda would hand them over.
"""

import sys
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import ClassVar

import psycopg

from bench.peers import statements
from bench.shopfront import logs_discarded
from skincare.database.connection import Database, StaticCredentials
from skincare.deployment.queues import QueueName
from skincare.jobs.catalog import JobPayload
from skincare.jobs.envelope import Envelope
from skincare.jobs.ports import QueuePair, ReceivedMessage
from skincare.jobs.registry import Registry
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


def main(url: str, size: int, part: int, parts: int) -> None:
    limits = QueueName.NOTIFICATIONS.limits
    limits = replace(limits, batch_size=size)
    database = Database(StaticCredentials(url), max_connections=limits.database_connections)
    registry: Registry[BenchEnvironment] = Registry()
    registry.add(Confirm, handle)
    pair = QueuePair(MemoryQueue(), MemoryQueue())
    worker = Worker(BenchEnvironment(database), registry=registry, database=database, queue=pair, limits=limits)
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
    main(sys.argv[1], *map(int, sys.argv[2:5]))
