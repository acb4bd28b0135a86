"""The relay: its CPU and its rows per second in batches, beside one send_message per row to the same stub."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from statistics import median
from time import perf_counter, process_time

from bench.environment import BenchDatabase, BenchEnvironment, Effort
from bench.figure import Figure, at_least
from bench.rounds import interleave, ratios
from bench.shop import settle_down
from bench.shopfront import environment, logs_discarded
from bench.stub_sqs import stub_sqs
from skincare.adapters.aws import AwsSession
from skincare.adapters.sqs import IN_THE_BACKGROUND, SqsQueue
from skincare.config import Settings
from skincare.database.connection import Database, StaticCredentials
from skincare.deployment.queues import QueueName
from skincare.jobs.envelope import Envelope
from skincare.jobs.models import DueJob
from skincare.jobs.ports import QueuePair
from skincare.jobs.publisher import Publisher
from skincare.jobs.relay import TAKE_LIMIT
from skincare.jobs.repository import outbox

_ROWS = 2000
_SINGLE_ROWS = 200
"""One by one each row takes a dozen times as long."""


def measure(bench: BenchEnvironment, effort: Effort) -> Iterator[Figure]:
    """Take, send and mark due rows: by the relay's own code, and with a call of SQS for each row."""
    with bench.database() as database, stub_sqs() as aws, logs_discarded():
        os.environ |= {name: value for name, value in environment("", aws).items() if name.startswith("AWS_")}
        pool = Database(StaticCredentials(database.url))
        settings = Settings.from_env(environment(database.url, aws))
        session = AwsSession(aws, keys=settings.aws_keys, region=settings.aws_region)
        url = f"{aws}/123456789012/notifications"
        queue = SqsQueue(url, aws=session)
        publisher = Publisher(pool, dict.fromkeys(QueueName, QueuePair(queue, queue)))
        sqs = session.client("sqs", IN_THE_BACKGROUND)

        def send_one(job: DueJob) -> None:
            attributes = {"request_id": {"DataType": "String", "StringValue": str(job.request_id)}}
            body = Envelope(job.job_id, job.job_type, job.payload, None).encode()
            sqs.send_message(QueueUrl=url, MessageBody=body, MessageAttributes=attributes)

        def one_by_one(jobs: list[DueJob]) -> None:
            for job in jobs:
                send_one(job)
            with pool.connection() as conn:
                outbox.mark_published(conn, jobs)

        def row_by_row(jobs: list[DueJob]) -> None:
            for job in jobs:
                send_one(job)
                with pool.connection() as conn:
                    outbox.mark_published(conn, [job])

        scaled = effort.times(_ROWS)
        ways: dict[str, tuple[Callable[[list[DueJob]], object], int]] = {
            "relay": (publisher.publish, scaled),
            "send_message per row": (one_by_one, effort.times(_SINGLE_ROWS)),
            "send_message and mark per row": (row_by_row, effort.times(_SINGLE_ROWS)),
        }
        values = interleave(
            {name: partial(_publish_all, database, pool, *way) for name, way in ways.items()},
            rounds=effort.rounds + 1,
        )
        rounds = {name: each[1:] for name, each in values.items()}
        pool.close()
        rates = {name: [each.rows_per_s for each in taken] for name, taken in rounds.items()}
        cpu = {name: [each.cpu_us_per_row for each in taken] for name, taken in rounds.items()}
        yield Figure(
            "relay.cpu",
            "one boto3 send_message per row, marked together ÷ relay, CPU of the process per row",
            ratios(cpu["send_message per row"], cpu["relay"]),
            aim=at_least(16),
            parts={f"{name} (µs)": median(each) for name, each in cpu.items()},
        )
        yield Figure(
            "relay.rows",
            "relay, rows per second ÷ one boto3 send_message per row, marked together",
            ratios(rates["relay"], rates["send_message per row"]),
            parts={f"{name} (rows/s)": median(each) for name, each in rates.items()},
        )
        yield Figure(
            "relay.rows-naive",
            "relay, rows per second ÷ send_message and mark row by row",
            ratios(rates["relay"], rates["send_message and mark per row"]),
        )


@dataclass(frozen=True)
class _Round:
    rows_per_s: float
    cpu_us_per_row: float
    """Of this process with all its threads: neither the database's nor the stub's."""


def _publish_all(
    database: BenchDatabase, pool: Database, publish: Callable[[list[DueJob]], object], rows: int
) -> _Round:
    """Take, send and mark rows, in takes of the relay's size."""
    database.owner.execute("TRUNCATE jobs CASCADE")
    database.owner.execute(
        """
        INSERT INTO jobs (id, job_type, queue, payload, order_number, request_id, publish_at)
        SELECT uuidv7(), 'send_confirmation_email', 'notifications',
            jsonb_build_object('order_number', 'SKN-00000-' || lpad(n::text, 5, '0')),
            'SKN-00000-' || lpad(n::text, 5, '0'), 'request-' || n, now() - %(ago)s
        FROM generate_series(1, %(rows)s) n""",
        {"rows": rows, "ago": timedelta(minutes=1)},
    )
    settle_down(database.owner)
    done = 0
    cpu, started = process_time(), perf_counter()
    while True:
        with pool.connection() as conn:
            due = outbox.take_due(conn, limit=TAKE_LIMIT)
        if not due:
            break
        publish(due)
        done += len(due)
    took, cpu = perf_counter() - started, process_time() - cpu
    if done != rows:
        raise RuntimeError(f"{done} of {rows} rows were taken")
    return _Round(rows / took, cpu / rows * 1e6)
