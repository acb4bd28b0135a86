"""A process of the system that is killed at a named point.

Everything in it is real but the mail provider, which is a file: what was written there was sent, and no
crash takes it back. The environment names the database, the queue and the file.
"""

import os
import signal
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg

from skincare.adapters.aws import AwsSession, Timeouts
from skincare.adapters.s3 import S3ObjectStore
from skincare.adapters.sqs import SqsQueue
from skincare.app import App
from skincare.database.connection import Database, StaticCredentials
from skincare.deployment.queues import QueueName
from skincare.invoices import pdf
from skincare.invoices import repository as invoices
from skincare.jobs.catalog import BUDGETS
from skincare.jobs.ports import QueuePair
from skincare.jobs.publisher import Publisher
from skincare.jobs.relay import run_relay
from skincare.jobs.repository import lease, outbox, timers
from skincare.jobs.worker import Worker
from skincare.notifications import repository as notifications
from skincare.notifications.ports import Email
from skincare.orders import repository as orders
from skincare.orders.service import place_order
from skincare.orders.terms import USUAL
from skincare.payments.full_payments import repository as full_payments
from tests.support import ledger
from tests.support.factories import make_place_order, make_settings
from tests.support.webhooks import FixedSecrets
from worker.registry import REGISTRY

LIMITS = QueueName.NOTIFICATIONS.limits
LONG_TIMEOUTS = Timeouts(connect=timedelta(seconds=2), read=timedelta(seconds=25))

POINTS: dict[str, tuple[str, Any, str, str]] = {
    "committed": ("api", orders, "place", "after"),
    "published": ("api", SqsQueue, "enqueue", "after"),
    "taken": ("relay", outbox, "take_due", "after"),
    "relayed": ("relay", SqsQueue, "enqueue", "after"),
    "relay marked": ("relay", outbox, "mark_published", "after"),
    "received": ("worker", lease, "claim", "before"),
    "claimed": ("worker", lease, "claim", "after"),
    "loaded": ("worker", notifications, "load_context", "after"),
    "sent": ("worker", notifications, "record_notification", "before"),
    "mark sent": ("worker", notifications, "record_notification", "after"),
    "settled": ("worker", lease, "settle", "after"),
    "acked": ("worker", SqsQueue, "ack", "after"),
    "answered": ("worker", SqsQueue, "ack", "before"),
    "retry settled": ("failing worker", lease, "settle", "after"),
    "visibility set": ("failing worker", SqsQueue, "nack", "after"),
}
"""Point → which process dies, and before or after which of its calls."""

POINTS_OF_A_PAYMENT: dict[str, tuple[str, Any, str, str]] = {
    "jobs enqueued": ("patient worker", outbox, "insert_all", "after"),
    "number taken": ("patient worker", invoices, "take_number", "after"),
    "paid": ("patient worker", Publisher, "publish_now", "before"),
    "set off": ("patient worker", Publisher, "publish_now", "after"),
    "invoice loaded": ("patient worker", invoices, "load", "after"),
    "rendered": ("patient worker", pdf, "render", "after"),
    "uploaded": ("patient worker", S3ObjectStore, "put_if_absent", "after"),
    "row written": ("patient worker", invoices, "record_made", "after"),
    "order loaded": ("patient worker", notifications, "load_context", "after"),
    "thanked": ("patient worker", notifications, "record_notification", "before"),
    "thanks marked": ("patient worker", notifications, "record_notification", "after"),
}
"""The same along what a payment sets off."""

POINTS_OF_PAYMENTS_IN_A_BATCH: dict[str, tuple[str, Any, str, str]] = {
    "orders locked": ("patient worker", full_payments, "lock_pending", "after"),
    "events marked": ("patient worker", full_payments, "mark_applied", "after"),
    "payments saved": ("patient worker", full_payments, "save", "after"),
    "timers cancelled": ("patient worker", timers, "cancel_all", "after"),
    "all jobs enqueued": ("patient worker", outbox, "insert_many", "after"),
    "first number taken": ("patient worker", invoices, "take_number", "after"),
    "settled, not committed": ("patient worker", lease, "settle", "after"),
    "all committed": ("patient worker", Publisher, "publish_now", "before"),
    "all set off": ("patient worker", Publisher, "publish_now", "after"),
}
"""The same along a batch of payments, whose effects and end are one transaction."""


class FileMail:
    """A mail provider that keeps what it took, one line a mail; mail to `poison` kills who sends it."""

    def __init__(self, path: Path, *, poison: str | None = None) -> None:
        self._path = path
        self._poison = poison

    def send(self, email: Email) -> str:
        if email.to == self._poison:
            os.kill(os.getpid(), signal.SIGKILL)
        with self._path.open("a") as file:
            file.write(f"{email.to}\n")
        return "file"


class NoMail:
    """A mail provider that is away."""

    def send(self, email: Email) -> str:
        raise ConnectionError


def make_app(environ: dict[str, str], *, failing: bool = False) -> App:
    """Wire an App around the environment's database, queue and file."""
    database = Database(StaticCredentials(environ["DATABASE_URL"]), max_connections=4)
    aws = AwsSession(environ["AWS_ENDPOINT_URL"])
    pair = QueuePair(
        SqsQueue(environ["QUEUE_URL"], aws=aws, timeouts=LONG_TIMEOUTS),
        SqsQueue(environ["DEAD_LETTER_QUEUE_URL"], aws=aws, timeouts=LONG_TIMEOUTS),
    )
    queues = dict.fromkeys(QueueName, pair)
    return App(
        settings=make_settings(environ["DATABASE_URL"]),
        database=database,
        queues=queues,
        publisher=Publisher(database, queues),
        email=NoMail() if failing else FileMail(Path(environ["MAIL_FILE"]), poison=environ.get("POISON")),
        webhook_secrets=FixedSecrets({}),
        files=S3ObjectStore(environ.get("INVOICE_BUCKET"), aws=aws),
    )


def work_once(app: App, *, wait: timedelta = timedelta(seconds=1)) -> int:
    """Do what the worker function and its event source mapping do with one batch; return its size."""
    queue = app.queues[QueueName.NOTIFICATIONS]
    batch = queue.source.receive(limit=10, wait=wait)
    worker = Worker(
        app, registry=REGISTRY, database=app.database, publish=app.publisher.publish_now, queue=queue, limits=LIMITS
    )
    started = time.monotonic()
    failed = set(worker.answer(batch, time_left=lambda: timedelta(seconds=40 - (time.monotonic() - started))))
    queue.source.ack([message for message in batch if message.message_id not in failed])
    return len(batch)


def relay_once(app: App) -> None:
    """Do what the relay function does."""
    run_relay(
        database=app.database,
        queues=app.queues,
        publisher=app.publisher,
        budgets=BUDGETS,
        time_left=lambda: timedelta(seconds=50),
    )


def die_at(point: str) -> None:
    """Arrange for this process to be killed at the point."""
    _, owner, name, moment = (POINTS | POINTS_OF_A_PAYMENT | POINTS_OF_PAYMENTS_IN_A_BATCH)[point]
    original: Callable[..., Any] = getattr(owner, name)

    def dying(*args: Any, **kwargs: Any) -> Any:
        if moment == "after":
            original(*args, **kwargs)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(owner, name, dying)


def pause_after_the_claim(database_url: str) -> None:
    """Arrange for somebody to pause everything right after this process has claimed."""
    claim = lease.claim

    def claim_and_pause(*args: Any, **options: Any) -> Any:
        claims = claim(*args, **options)
        with psycopg.connect(database_url) as other:
            ledger.pause(other, "all")
        return claims

    lease.claim = claim_and_pause


def main(role: str, point: str) -> None:
    """Play the role until the point; coming to the end means that the point was never reached."""
    app = make_app(dict(os.environ), failing=role == "failing worker")
    if "PAUSE_AFTER_THE_CLAIM" in os.environ:
        pause_after_the_claim(os.environ["DATABASE_URL"])
    if point:
        die_at(point)
    match role:
        case "api":
            place_order(
                make_place_order(os.environ["USER_ID"]), terms=USUAL, database=app.database, publisher=app.publisher
            )
        case "relay":
            relay_once(app)
        case "patient worker":
            for _ in range(5):
                work_once(app)
        case _:
            work_once(app)
