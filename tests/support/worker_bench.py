"""A worker on a bench: the real runner and the real ledger, a queue in memory, handlers that a test writes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from skincare.database.connection import Database, StaticCredentials
from skincare.deployment.queues import MAX_RECEIVE_COUNT, QueueLimits, QueueName
from skincare.jobs.models import DueJob
from skincare.jobs.ports import OutgoingMessage, QueuePair, ReceivedMessage
from skincare.jobs.publisher import Publisher
from skincare.jobs.registry import BatchHandler, Registry
from skincare.jobs.retry import TimeLeft
from skincare.jobs.worker import Worker
from skincare.jobs.worker.batch import BatchResult
from tests.fakes.queue import MemoryQueue
from tests.support import ledger
from tests.support.ledger import Sample
from worker.lambda_function import BatchResponse, batch_response

LIMITS = QueueLimits(
    batch_size=10,
    batch_window=timedelta(0),
    threads=10,
    handler_limit=timedelta(seconds=15),
    function_timeout=timedelta(seconds=45),
    maximum_concurrency=2,
    database_connections=4,
    impact="Nobody: it is a bench.",
)


def plenty() -> timedelta:
    return timedelta(seconds=40)


@dataclass
class Bench:
    """`handlers` holds, by the sample's name, what its handler does; `ran` what has been run.

    `batch` is the batch handler of samples, where there is to be one.
    """

    database_url: str
    limits: QueueLimits = LIMITS
    time: float = 1_800_000_000.0
    handlers: dict[str, Callable[[], None]] = field(default_factory=dict)
    ran: list[str] = field(default_factory=list)
    batch: BatchHandler[Sample] | None = None

    def __post_init__(self) -> None:
        self.database = Database(StaticCredentials(self.database_url), max_connections=4)
        self.dead_letters = MemoryQueue(retention=timedelta(days=14), now=lambda: self.time)
        self.source = MemoryQueue(
            visibility=self.limits.visibility_timeout,
            dead_letters=self.dead_letters,
            max_receive_count=MAX_RECEIVE_COUNT,
            now=lambda: self.time,
        )
        self.databases = [self.database]
        self.pair = QueuePair(self.source, self.dead_letters)
        self.queues = dict.fromkeys(QueueName, self.pair)
        self.publisher = Publisher(self.database, self.queues)
        registry: Registry[Bench] = Registry()
        registry.add(Sample, _handle, batch=self.batch)
        self.registry = registry
        self.worker = self.new_worker(self.database)
        self.last: BatchResult | None = None

    def new_worker(self, database: Database) -> "Worker[Bench]":
        """Return the worker of another process, with its own way to the database."""
        self.databases.append(database)
        return Worker(
            self,
            registry=self.registry,
            database=database,
            queue=self.pair,
            limits=self.limits,
            publish=self.publisher.publish_now,
            leave=lambda: None,
        )

    def close(self) -> None:
        """Give all connections back."""
        for database in self.databases:
            database.close()

    def add(self, name: str, does: Callable[[], None] | None = None) -> DueJob:
        """Enqueue and publish a sample job."""
        if does:
            self.handlers[name] = does
        with self.database.connection() as conn:
            job = ledger.enqueue(conn, Sample(name=name))
        self.publisher.publish([job])
        return job

    def put(self, body: str) -> None:
        """Put any text on the queue."""
        assert self.source.enqueue([OutgoingMessage(body)]) == []

    def receive(self) -> list[ReceivedMessage]:
        return self.source.receive(limit=10, wait=timedelta(0))

    def work(
        self,
        messages: list[ReceivedMessage] | None = None,
        *,
        time_left: TimeLeft = plenty,
        worker: "Worker[Bench] | None" = None,
    ) -> BatchResponse:
        """Run one batch as the worker function and the event source mapping do together."""
        batch = self.receive() if messages is None else messages
        worker = worker or self.worker
        self.last = worker.run(batch, time_left=time_left)
        again = worker.deliver(self.last)
        if not self.last.hung:
            self.source.ack([message for message in batch if message.message_id not in again])
        return batch_response(again)

    def let_pass(self, time: timedelta) -> None:
        """Let time pass for the queue and for the ledger."""
        self.time += time.total_seconds()
        with self.database.connection() as conn:
            ledger.let_pass(conn, time)

    def state(self, job: DueJob) -> str:
        with self.database.connection() as conn:
            return str(ledger.row(conn, job.job_id)["state"])


def _handle(payload: Sample, bench: Bench) -> None:
    bench.ran.append(payload.name)
    bench.handlers.get(payload.name, lambda: None)()
