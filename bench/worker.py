"""A batch of mails against a provider that takes its time: how near it comes to one such time."""

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from statistics import median

from bench.delay import delayed
from bench.environment import BenchDatabase, BenchEnvironment, Effort
from bench.figure import Figure, at_most
from bench.rounds import interleave
from bench.shop import fill_carts, mail_jobs, open_shop, place, settle_down, user
from bench.shopfront import environment, logs_discarded
from skincare.adapters.aws import AwsSession
from skincare.adapters.s3 import S3ObjectStore
from skincare.adapters.webhook_secrets import SecretsManagerWebhookSecrets
from skincare.app import App
from skincare.config import Settings
from skincare.database.connection import Database, StaticCredentials
from skincare.deployment.queues import QueueLimits, QueueName
from skincare.identifiers import JobId
from skincare.invoices.ports import ObjectStore
from skincare.jobs.envelope import Envelope
from skincare.jobs.ports import QueuePair, ReceivedMessage
from skincare.jobs.publisher import Publisher
from skincare.jobs.worker import Worker
from skincare.notifications.ports import Email, EmailSender
from tests.fakes.queue import MemoryQueue
from worker.registry import REGISTRY

PROVIDER_S = 0.3
_RTT_MS = 1.0
_AIMS = {10: 1.05, 100: 1.15}


class SlowProvider:
    """An `EmailSender` that takes a while, as a mail provider far away does."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self.sent = 0

    def send(self, email: Email) -> str:  # noqa: ARG002  the port's shape
        time.sleep(self._seconds)
        with self._lock:
            self.sent += 1
            return f"mail-{self.sent}"


@dataclass(frozen=True)
class Bench:
    """A worker of the notifications queue as its function makes it."""

    app: App
    worker: Worker[App]

    def close(self) -> None:
        self.app.database.close()


def make_worker(url: str, limits: QueueLimits, *, email: EmailSender, files: ObjectStore | None = None) -> Bench:
    """Put a worker together around a database, a provider and a store."""
    database = Database(StaticCredentials(url), max_connections=limits.database_connections)
    queue = QueuePair(MemoryQueue(), MemoryQueue())
    queues = dict.fromkeys(QueueName, queue)
    app = App(
        settings=Settings.from_env(environment(url, "http://127.0.0.1:1")),
        database=database,
        queues=queues,
        publisher=Publisher(database, queues),
        email=email,
        webhook_secrets=SecretsManagerWebhookSecrets({}, aws=AwsSession()),
        files=files or S3ObjectStore(None, aws=AwsSession()),
    )
    publish = app.publisher.publish_now
    return Bench(app, Worker(app, registry=REGISTRY, database=database, queue=queue, publish=publish, limits=limits))


def measure(bench: BenchEnvironment, effort: Effort) -> Iterator[Figure]:
    """Batches of 10 with the queue's own limits, and of 100 with a thread for each mail."""
    own = QueueName.NOTIFICATIONS.limits
    limits = {10: own, 100: replace(own, batch_size=100, threads=100)}
    rounds = effort.rounds + 1
    with bench.database() as database, logs_discarded():
        open_shop(database.owner)
        with delayed(database.url, milliseconds=_RTT_MS) as far_away:
            workers = {
                (size, distance): make_worker(url, limits[size], email=SlowProvider(PROVIDER_S))
                for distance, url in (("", database.url), (f", database {_RTT_MS:g} ms away", far_away))
                for size in limits
            }
            batches = {
                key: iter([mail_batch(database, f"{key[0]}{key[1]}-{turn}", key[0]) for turn in range(rounds)])
                for key in workers
            }
            settle_down(database.owner)

            def run(key: tuple[int, str]) -> float:
                batch = next(batches[key])
                started = time.perf_counter()
                result = workers[key].worker.run(batch, time_left=lambda: timedelta(seconds=40))
                took = time.perf_counter() - started
                if len(result.acked) != len(batch):
                    raise RuntimeError(f"{len(result.acked)} of {len(batch)} mails were sent")
                return took / PROVIDER_S

            values = interleave({key: partial(run, key) for key in workers}, rounds=rounds)
            for each in workers.values():
                each.close()
        for (size, distance), samples in values.items():
            warm = samples[1:]  # the first batch connects, starts threads and reads the templates
            yield Figure(
                f"worker.batch-{size}{'-far' if distance else ''}",
                f"batch of {size} mails ÷ one provider latency of {PROVIDER_S * 1000:.0f} ms{distance}",
                warm,
                aim=at_most(_AIMS[size]),
                parts={"batch (ms)": median(warm) * PROVIDER_S * 1000, "threads": limits[size].threads},
            )


def mail_batch(database: BenchDatabase, prefix: str, size: int) -> Sequence[ReceivedMessage]:
    """Place orders and return their jobs as the queue would deliver them."""
    fill_carts(database.owner, prefix, clients=1, each=size)
    users = [user(prefix, 0, number) for number in range(1, size + 1)]
    for each in users:
        place(database.owner, each)
    return [
        ReceivedMessage(f"m-{job_id}", f"r-{job_id}", Envelope(JobId(job_id), job_type, payload, None).encode())
        for job_id, job_type, payload in mail_jobs(database.owner, users)
    ]
