"""Many copies of one event, several workers, every queue: what a payment sets off happens once."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta

import pytest
from psycopg import Connection

from skincare.app import App
from skincare.deployment.queues import QueueName
from skincare.jobs.envelope import Envelope
from skincare.jobs.ports import OutgoingMessage, QueuePair
from skincare.jobs.publisher import Publisher
from skincare.jobs.worker import Worker
from tests.fakes.email import FakeEmailSender
from tests.fakes.object_store import FakeObjectStore
from tests.fakes.queue import MemoryQueue
from tests.support.http import open_app
from tests.support.invoices import text_of
from tests.support.log import recorded_log
from tests.support.payments import new_order, order_status, payments, take_in
from tests.support.worker_bench import LIMITS, plenty
from worker.registry import REGISTRY

COPIES, WORKERS = 50, 3


class Workers:
    """Three workers of all queues, each with connections of its own; the provider and the store are shared."""

    def __init__(self, database_url: str, stack: ExitStack) -> None:
        self.queues = {name: QueuePair(MemoryQueue(), MemoryQueue()) for name in QueueName}
        first = stack.enter_context(open_app(database_url, max_connections=4))
        self.apps: list[App] = []
        for _ in range(WORKERS):
            app = stack.enter_context(open_app(database_url, max_connections=4))
            publisher = Publisher(app.database, self.queues)
            self.apps.append(replace(first, database=app.database, publisher=publisher, queues=self.queues))
        assert isinstance(first.email, FakeEmailSender)
        assert isinstance(first.files, FakeObjectStore)
        self.mail, self.store = first.email, first.files

    def work(self) -> None:
        """Let all of them work at once until no message is visible."""
        ready = threading.Barrier(WORKERS)
        with ThreadPoolExecutor(WORKERS) as pool:
            list(pool.map(lambda app: self._drain(app, ready), self.apps))

    def _drain(self, app: App, ready: threading.Barrier) -> None:
        ready.wait(timeout=20)
        for name in (QueueName.PAYMENTS, QueueName.NOTIFICATIONS, QueueName.DOCUMENTS):
            source = self.queues[name].source
            worker = Worker(
                app,
                registry=REGISTRY,
                database=app.database,
                publish=app.publisher.publish_now,
                queue=self.queues[name],
                limits=LIMITS,
            )
            while batch := source.receive(limit=10, wait=timedelta(0)):
                again = set(worker.answer(batch, time_left=plenty))
                source.ack([message for message in batch if message.message_id not in again])


@pytest.fixture
def workers(database_url: str) -> Iterator[Workers]:
    with ExitStack() as stack:
        yield Workers(database_url, stack)


def test_fifty_equal_events_and_three_workers_give_one_payment_one_mail_and_one_invoice(
    workers: Workers, conn: Connection
) -> None:
    number = new_order(conn)
    ready = threading.Barrier(10)

    def send(index: int) -> None:
        if index < ready.parties:
            ready.wait(timeout=20)
        take_in(workers.apps[index % WORKERS], order_number=number)

    with ThreadPoolExecutor(ready.parties) as gateway, recorded_log() as log:
        list(gateway.map(send, range(COPIES)))
        # SQS may deliver a message any number of times.
        (row,) = conn.execute("SELECT id, job_type, payload FROM jobs WHERE job_type = 'process_payment'").fetchall()
        copies = [OutgoingMessage(Envelope(row[0], row[1], row[2], None).encode())] * COPIES
        assert workers.queues[QueueName.PAYMENTS].source.enqueue(copies) == []
        workers.work()
        # A worker that found another one busy left its messages for later; what was published meanwhile is there now.
        workers.work()
    events = [line["message"] for line in log.lines]
    assert (events.count("payment.event_applied"), events.count("email.sent"), events.count("invoice.made")) == (
        1,
        1,
        1,
    )
    assert order_status(conn, number) == "paid"
    assert payments(conn) == [("transaction-1", "paid", 150_000, 0, True)]
    assert [mail.subject for mail in workers.mail.sent] == [f"Pembayaran pesanan {number} sudah kami terima"]
    ((invoice, key),) = conn.execute("SELECT number, object_key FROM invoices").fetchall()
    assert list(workers.store.files) == [key]
    assert invoice in text_of(workers.store.files[key])
    states = conn.execute("SELECT job_type, state FROM jobs WHERE job_type <> 'send_confirmation_email'").fetchall()
    assert sorted(states) == [
        ("expire_order", "cancelled"),
        ("generate_invoice_pdf", "completed"),
        ("process_payment", "completed"),
        ("send_payment_received_email", "completed"),
    ]
