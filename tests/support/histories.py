"""Histories of an order's payments, told in any order, with the work of a deployment between any two webhooks."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from hypothesis import strategies as st
from psycopg import Connection

from skincare.app import App
from skincare.deployment.queues import QueueName
from skincare.identifiers import OrderNumber
from skincare.jobs.ports import QueuePair
from skincare.jobs.publisher import Publisher
from skincare.jobs.registry import Registry
from skincare.jobs.worker import Worker
from tests.fakes.email import FakeEmailSender
from tests.fakes.queue import MemoryQueue
from tests.support.http import open_app
from tests.support.payments import order_status, take_in
from tests.support.webhooks import NOW
from tests.support.worker_bench import LIMITS, plenty
from worker.registry import REGISTRY

TOTAL = 150_000


@dataclass(frozen=True)
class Shop:
    """An App whose jobs are published, taken and handled as in a deployment."""

    app: App
    threads: int = LIMITS.threads
    """How many jobs of a batch are handled at once."""
    registry: Registry[App] = REGISTRY

    def tell(self, number: OrderNumber, key: str, status: str, transaction: str, minute: int, **changes: Any) -> None:
        take_in(
            self.app,
            event_id=f"{number}-{key}",
            order_number=number,
            status=status,
            transaction_id=f"{number}-{transaction}",
            occurred_at=(NOW + timedelta(minutes=minute)).isoformat(),
            **changes,
        )

    def work(self, *names: QueueName) -> None:
        """Handle what is visible, and what that sets off."""
        limits = replace(LIMITS, threads=self.threads)
        for name in names or (QueueName.PAYMENTS, QueueName.NOTIFICATIONS, QueueName.DOCUMENTS):
            queue = self.app.queues[name]
            worker = Worker(
                self.app,
                registry=self.registry,
                database=self.app.database,
                publish=self.app.publisher.publish_now,
                queue=queue,
                limits=limits,
            )
            while batch := queue.source.receive(limit=10, wait=timedelta(0)):
                again = set(worker.answer(batch, time_left=plenty))
                queue.source.ack([message for message in batch if message.message_id not in again])

    def mails(self, number: OrderNumber) -> int:
        assert isinstance(self.app.email, FakeEmailSender)
        return sum(number in mail.subject and "Pembayaran" in mail.subject for mail in self.app.email.sent)


@contextmanager
def open_shop(database_url: str) -> Iterator[Shop]:
    """Open a Shop on a database of tests."""
    with open_app(database_url, max_connections=4) as app:
        queues = {name: QueuePair(MemoryQueue(), MemoryQueue()) for name in QueueName}
        yield Shop(replace(app, publisher=Publisher(app.database, queues), queues=queues))


def books(conn: Connection, number: OrderNumber) -> tuple[Any, ...]:
    """State, payments and open anomalies, without those that tell of the way there."""
    rows = conn.execute(
        "SELECT right(transaction_id, 1), p.status, p.amount_rupiah, refunded_rupiah, charged_back_rupiah, pays_order"
        " FROM payments p JOIN orders o ON o.id = p.order_id WHERE order_number = %s ORDER BY 1",
        [number],
    ).fetchall()
    open_anomalies = conn.execute(
        "SELECT right(e.event_key, -length(e.order_number)), kind, task, give_back_rupiah"
        " FROM payment_anomalies a JOIN payment_events e ON e.id = a.event_id"
        " WHERE e.order_number = %s AND withdrawn_at IS NULL AND kind <> 'paid_again' ORDER BY 1, 2",
        [number],
    ).fetchall()
    return order_status(conn, number), rows, open_anomalies


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["paid", "paid", "paid", "refunded", "partially_refunded", "chargeback", "failed", "voided"]),
        st.sampled_from("abc"),
        st.integers(0, 2),
        st.sampled_from([TOTAL, TOTAL, TOTAL - 50_000, 50_000]),
    ),
    min_size=1,
    max_size=7,
)
