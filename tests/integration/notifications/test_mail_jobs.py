"""The mail job from the queue to its end, with the real registry: what the provider says decides what becomes of it."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from skincare.app import App
from skincare.jobs.models import DueJob
from skincare.jobs.repository import outbox, pauses
from skincare.jobs.worker import Worker
from skincare.notifications.ports import EmailSendingStopped, EmailThrottled, EmailUndeliverable
from tests.fakes.email import FakeEmailSender
from tests.support.factories import make_order
from tests.support.http import make_app
from tests.support.log import RecordedLog, recorded_log
from tests.support.worker_bench import LIMITS, Bench, plenty
from worker.registry import REGISTRY

TWO_MINUTES_OF_TRIES = 6


class MailWorker:
    """The notifications worker on a bench, with a mail provider that a test commands."""

    def __init__(self, database_url: str) -> None:
        self.bench = Bench(database_url)
        self.email = FakeEmailSender()
        self.app: App = replace(make_app(database_url), database=self.bench.database, email=self.email)
        self.worker = Worker(
            self.app,
            registry=REGISTRY,
            database=self.bench.database,
            queue=self.bench.pair,
            publish=self.bench.publisher.publish_now,
            limits=LIMITS,
        )

    def place(self) -> DueJob:
        with self.bench.database.connection() as conn:
            job = make_order(conn).job
        assert job is not None
        self.bench.publisher.publish([job])
        return job

    def work(self) -> None:
        batch = self.bench.receive()
        again = set(self.worker.answer(batch, time_left=plenty))
        self.bench.source.ack([message for message in batch if message.message_id not in again])

    def relay_and_work(self) -> None:
        with self.bench.database.connection() as conn:
            due = outbox.take_due(conn, limit=100)
        self.bench.publisher.publish(due)
        self.work()


@pytest.fixture
def worker(database_url: str) -> Iterator[MailWorker]:
    worker = MailWorker(database_url)
    yield worker
    worker.bench.close()


def levels(log: RecordedLog) -> set[str]:
    return {line["level"] for line in log.lines}


class TestProvider:
    def test_a_rate_limit_for_minutes_loses_no_mail_and_pages_nobody(self, worker: MailWorker) -> None:
        jobs = [worker.place() for _ in range(3)]
        worker.email.fail_always(EmailThrottled("the provider asks for patience"))
        with recorded_log() as log:
            for _ in range(TWO_MINUTES_OF_TRIES):
                worker.work()
                worker.bench.let_pass(timedelta(minutes=6))
        assert {worker.bench.state(job) for job in jobs} == {"retry_waiting"}
        assert levels(log) == {"INFO", "WARNING"} or levels(log) == {"WARNING"}
        worker.email.fail_always(None)
        worker.work()
        assert {worker.bench.state(job) for job in jobs} == {"completed"}
        assert len(worker.email.sent) == 3

    def test_a_stop_of_the_whole_account_drops_nothing_and_is_an_error_in_the_log(self, worker: MailWorker) -> None:
        job = worker.place()
        worker.email.fail_always(EmailSendingStopped("sending is paused"))
        with recorded_log() as log:
            worker.work()
        assert "email.sending_stopped" in {line["message"] for line in log.lines if line["level"] == "ERROR"}
        assert worker.bench.state(job) == "retry_waiting"
        worker.email.fail_always(None)
        worker.bench.let_pass(timedelta(minutes=1))
        worker.work()
        assert worker.bench.state(job) == "completed"

    def test_an_account_that_is_stopped_pauses_itself_and_is_tried_each_minute(self, worker: MailWorker) -> None:
        first = worker.place()
        worker.email.fail_always(EmailSendingStopped("sending is paused"))
        with recorded_log() as log:
            worker.work()
            second = worker.place()
            worker.work()
            assert worker.bench.state(second) == "queued"
            for _ in range(40):
                worker.bench.let_pass(timedelta(hours=1))
                worker.relay_and_work()
        assert [line["error_class"] for line in log.lines if line["message"] == "provider.paused"]
        worker.email.fail_always(None)
        worker.bench.let_pass(timedelta(minutes=6))
        worker.relay_and_work()
        assert {worker.bench.state(job) for job in (first, second)} == {"completed"}
        assert len(worker.email.sent) == 2

    def test_one_bad_address_pauses_nobody(self, worker: MailWorker) -> None:
        job = worker.place()
        worker.email.fail_always(EmailUndeliverable("refused for good"))
        worker.work()
        worker.email.fail_always(EmailThrottled("slow down"))
        worker.place()
        worker.work()
        assert worker.bench.state(job) == "completed"
        with worker.bench.database.connection() as conn:
            assert pauses.active(conn) == []

    def test_a_permanent_refusal_completes_the_job_at_once(self, worker: MailWorker) -> None:
        job = worker.place()
        worker.email.fail_always(EmailUndeliverable("refused for good"))
        worker.work()
        assert worker.bench.state(job) == "completed"
        assert worker.bench.source.all() == []
        with worker.bench.database.connection() as conn:
            assert conn.execute("SELECT status FROM order_notifications").fetchall() == [("undeliverable",)]
