"""What a batch of mails says to the database, counted on the wire: it is what a distant database costs."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest
from psycopg import Connection

from skincare.deployment.queues import QueueName
from skincare.jobs.envelope import Envelope
from skincare.jobs.ports import QueuePair, ReceivedMessage
from skincare.jobs.worker import Worker
from skincare.jobs.worker.batch import BatchResult
from tests.fakes.queue import MemoryQueue
from tests.support.factories import make_order
from tests.support.http import open_app
from tests.support.wire import Wire
from worker.registry import REGISTRY

KINDS = {
    "claim": rb"FROM claim_jobs\(",
    "load": rb"FROM orders o\s+LEFT JOIN order_notifications",
    "mark": rb"SELECT record_notification\(",
    "settle": rb"FROM settle_jobs\(",
}


@pytest.fixture
def conn(database_url: str) -> Iterator[Connection]:
    with psycopg.connect(database_url, autocommit=True) as conn:
        yield conn


def mails(conn: Connection, number: int) -> list[ReceivedMessage]:
    """Return the messages of that many placed orders."""
    messages = []
    for _ in range(number):
        job = make_order(conn).job
        assert job is not None
        body = Envelope(job.job_id, job.job_type, job.payload, None).encode()
        messages.append(ReceivedMessage(str(job.job_id), str(job.job_id), body))
    return messages


def run(url: str, messages: list[ReceivedMessage]) -> BatchResult:
    limits = replace(QueueName.NOTIFICATIONS.limits, threads=4)
    pair = QueuePair(MemoryQueue(), MemoryQueue())
    with open_app(url, max_connections=limits.database_connections) as app:
        worker = Worker(
            app, registry=REGISTRY, database=app.database, publish=app.publisher.publish_now, queue=pair, limits=limits
        )
        return worker.run(messages, time_left=lambda: timedelta(seconds=40))


class TestABatchOfMails:
    @pytest.mark.parametrize("number", [1, 10])
    def test_costs_one_claim_one_settle_and_two_statements_for_each_mail(
        self, conn: Connection, database_url: str, number: int
    ) -> None:
        messages = mails(conn, number)
        with Wire(database_url) as wire:
            assert len(run(wire.url, messages).acked) == number
            statements = [content for kind, content in wire.said() if kind in {"P", "Q"}]
            round_trips = sum(kind in {"S", "Q"} for kind, _ in wire.said())
        found = Counter(
            next((name for name, text in KINDS.items() if re.search(text, statement)), "other")
            for statement in statements
        )
        assert found == {"claim": 1, "load": number, "mark": number, "settle": 1}
        assert round_trips == 2 * number + 2

    def test_that_comes_again_costs_one_claim(self, conn: Connection, database_url: str) -> None:
        messages = mails(conn, 3)
        run(database_url, messages)
        with Wire(database_url) as wire:
            assert len(run(wire.url, messages).acked) == 3
            assert sum(kind in {"S", "Q"} for kind, _ in wire.said()) == 1
