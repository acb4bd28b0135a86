"""Whose line it is: what the worker logs about one job never carries the number of another."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import psycopg
import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext
from psycopg import Connection

from skincare.app import App
from skincare.deployment.queues import QueueName
from skincare.jobs.envelope import Envelope
from skincare.jobs.models import DueJob
from skincare.jobs.ports import QueuePair
from skincare.notifications.ports import Email
from skincare.observability import logger
from tests.fakes.email import FakeEmailSender
from tests.fakes.queue import MemoryQueue
from tests.support.factories import make_order, make_settings
from tests.support.http import open_app
from tests.support.log import recorded_log
from worker import lambda_function


class Context:
    def __init__(self, number: int) -> None:
        self.aws_request_id = f"invocation-{number}"

    def get_remaining_time_in_millis(self) -> int:
        return 40_000


class SendsTogether(FakeEmailSender):
    """Sends once so many mails are being sent at the same time, and says so in a line of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.together = threading.Barrier(1)

    def send(self, email: Email) -> str:
        self.together.wait(timeout=20)
        logger.info("test.sending")
        return super().send(email)


@pytest.fixture
def conn(database_url: str) -> Iterator[Connection]:
    with psycopg.connect(database_url, autocommit=True) as conn:
        yield conn


@pytest.fixture
def mail() -> SendsTogether:
    return SendsTogether()


@pytest.fixture
def app(database_url: str, mail: SendsTogether, monkeypatch: pytest.MonkeyPatch) -> Iterator[App]:
    """The App of the worker function, as its entry point finds it."""
    with open_app(database_url, max_connections=4) as opened:
        app = replace(
            opened,
            settings=make_settings(database_url, WORKER_QUEUE="notifications"),
            queues=dict.fromkeys(QueueName, QueuePair(MemoryQueue(), MemoryQueue())),
            email=mail,
        )
        monkeypatch.setenv("DATABASE_URL", database_url)
        monkeypatch.setenv("WORKER_QUEUE", QueueName.NOTIFICATIONS)
        monkeypatch.setattr(lambda_function, "get_app", lambda _: app)
        lambda_function._worker.cache_clear()
        yield app
        lambda_function._worker.cache_clear()


def new_job(conn: Connection) -> DueJob:
    job = make_order(conn).job
    assert job is not None
    return job


def invoke(number: int, *bodies: str) -> list[dict[str, Any]]:
    """Run a batch of the worker function and return what it logged."""
    records = [{"messageId": f"{number}-{at}", "receiptHandle": "r", "body": body} for at, body in enumerate(bodies)]
    with recorded_log() as log:
        lambda_function.lambda_handler({"Records": records}, cast(LambdaContext, Context(number)))
    return log.lines


def message(job: DueJob) -> str:
    return Envelope(job.job_id, job.job_type, job.payload, None).encode()


def numbers(job: DueJob) -> dict[str, str]:
    assert job.order_number is not None
    assert job.request_id is not None
    return {"job_id": str(job.job_id), "order_number": job.order_number, "request_id": job.request_id}


def mentioned(lines: list[dict[str, Any]], job: DueJob) -> list[dict[str, Any]]:
    """The lines that carry anything of the job."""
    return [line for line in lines if any(number in str(line) for number in numbers(job).values())]


@pytest.mark.usefixtures("app")
class TestALine:
    def test_of_one_job_has_nothing_of_its_neighbour_in_the_batch(self, conn: Connection, mail: SendsTogether) -> None:
        first, second = new_job(conn), new_job(conn)
        mail.together = threading.Barrier(2)
        lines = invoke(1, message(first), message(second))
        assert len(mail.sent) == 2
        for job in (first, second):
            about = mentioned(lines, job)
            assert sorted(line["message"] for line in about) == ["email.sent", "job.completed", "test.sending"]
            assert all({name: line[name] for name in numbers(job)} == numbers(job) for line in about)
        assert not [line for line in mentioned(lines, first) if line in mentioned(lines, second)]

    def test_of_a_later_batch_has_nothing_of_the_one_before(self, conn: Connection) -> None:
        first, second = new_job(conn), new_job(conn)
        assert len(mentioned(invoke(1, message(first)), first)) == 3
        lines = invoke(2, message(second))
        assert len(mentioned(lines, second)) == 3
        assert mentioned(lines, first) == []
        assert {(line["service"], line["aws_request_id"]) for line in lines} == {("skincare", "invocation-2")}

    def test_of_a_message_that_cannot_be_read_has_nothing_of_a_job(self, conn: Connection) -> None:
        job = new_job(conn)
        invoke(1, message(job))
        lines = invoke(2, "{oops")
        assert lines
        assert not [line for line in lines if {"job_id", "order_number", "request_id"} & set(line)]

    def test_of_a_thread_that_has_run_a_job_has_nothing_of_it_any_more(self, conn: Connection, app: App) -> None:
        job = new_job(conn)
        invoke(1, message(job))
        worker = lambda_function._worker()
        with recorded_log() as log:
            for _ in range(QueueName.NOTIFICATIONS.limits.threads):
                worker._threads.submit(logger.info, "test.idle").result(timeout=20)
        assert log.lines
        assert mentioned(log.lines, job) == []
