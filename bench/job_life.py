"""A job's life in the ledger: enqueued, sent, claimed and settled in batches, and what of it the server pays."""

from collections.abc import Iterator
from datetime import timedelta
from statistics import median
from typing import ClassVar

from psycopg import Connection

from bench.environment import BenchEnvironment, Effort
from bench.figure import Figure, at_least, at_most
from bench.rounds import ratios
from bench.server_cost import Cost, ServerCost, hot_share, never_vacuumed
from bench.shop import settle_down
from skincare.database.session import Session
from skincare.deployment.queues import QueueName
from skincare.identifiers import LeaseToken, new_job_id
from skincare.jobs.catalog import JobPayload
from skincare.jobs.repository import lease, outbox
from skincare.jobs.retry import Completed

_LIVES = 3000
_BATCHES = (100, 10)
_LEASE = timedelta(minutes=5)


class Sample(JobPayload):
    """A job that carries as much as those of the shop."""

    job_type: ClassVar[str] = "sample"
    queue: ClassVar[QueueName] = QueueName.NOTIFICATIONS
    order_number: str


def measure(bench: BenchEnvironment, effort: Effort) -> Iterator[Figure]:
    """CPU and WAL of whole lives by one long-lived session, autovacuum off."""
    lives = effort.times(_LIVES)
    with bench.database() as database, Session.open(database.url) as conn:
        never_vacuumed(database.owner)
        settle_down(database.owner)
        for size in _BATCHES:
            live(conn, lives=size, batch=size)
        cost = ServerCost(database.owner, [conn])
        costs: dict[int, list[Cost]] = {size: [] for size in _BATCHES}
        for _ in range(effort.rounds):
            for size in _BATCHES:
                cost.lap()
                live(conn, lives=lives, batch=size)
                lived = cost.lap()
                database.owner.execute("UPDATE job_schedule SET look_at = look_at - interval '1 hour'")
                cost.lap()
                while outbox.tidy_schedule(conn, limit=1000):
                    pass
                costs[size].append((lived + cost.lap()).per(lives))
        large, small = (costs[size] for size in _BATCHES)
        yield Figure(
            "job-life.cpu",
            "server CPU of a job's life: enqueue, mark, claim, settle in batches of 100, and its row of the schedule",
            [each.cpu_us for each in large],
            unit="µs",
            aim=at_most(65),
            parts={"in batches of 10 (µs)": median(each.cpu_us for each in small)},
        )
        yield Figure(
            "job-life.wal",
            "WAL of a job's life",
            [each.wal_bytes for each in large],
            unit="B",
            aim=at_most(1500),
            parts={"in batches of 10 (B)": median(each.wal_bytes for each in small)},
        )
        yield Figure(
            "job-life.hot",
            "updates of jobs that needed no index entry ÷ all of them",
            [hot_share(database.owner, "jobs", conn)],
            aim=at_least(0.95),
        )
        yield Figure(
            "job-life.growth",
            "server CPU of the last lives ÷ of the first",
            ratios([large[-1].cpu_us], [large[0].cpu_us]),
            aim=at_most(1.05),
        )


def live(conn: Connection, *, lives: int, batch: int) -> None:
    """Take at least so many jobs through a life without trouble, a batch at a time."""
    payloads = [Sample(order_number=f"SKN-00000-{number:05}") for number in range(batch)]
    for _ in range(0, lives, batch):
        jobs = outbox.insert_all(conn, payloads, order_number=payloads[0].order_number, request_id="bench")
        outbox.mark_published(conn, jobs)
        token = LeaseToken(new_job_id())
        claims = lease.claim(conn, {job.job_id: None for job in jobs}, token=token, lease=_LEASE)
        settled = lease.settle(conn, {claim.job_id: Completed() for claim in claims}, token=token)
        if len(settled) != batch:
            raise RuntimeError(f"{len(settled)} of {batch} jobs were settled")
