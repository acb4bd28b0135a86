"""What a customer told us stays out of the worker's log and of the dead letter, whatever an operator switches on."""

import json
import os
import subprocess
import sys

import psycopg
import pytest

from tests.support.factories import make_order
from tests.support.log import LOUD

CANARY = "canary7f3a"

# The function fails with words of somebody else until the job's budget is spent, and the relay sends the dead letter.
RUN = """
import json, logging, sys
from dataclasses import replace
from datetime import timedelta
from unittest.mock import patch
logging.basicConfig(level=logging.DEBUG)
import psycopg
from tests.fakes.queue import MemoryQueue
from skincare.jobs.catalog import BUDGETS
from skincare.jobs.ports import QueuePair
from skincare.jobs.publisher import Publisher
from skincare.deployment.queues import QueueName
from skincare.jobs.relay import run_relay
from tests.support import ledger
from tests.support.factories import make_settings
from tests.support.http import open_app
from worker.lambda_function import lambda_handler

ADDRESS = "canary7f3a.address@example.com"

class Context:
    aws_request_id = "invocation-1"
    function_name = function_version = memory_limit_in_mb = invoked_function_arn = "none"
    def get_remaining_time_in_millis(self):
        return 40_000

class ProviderError(Exception):
    def __init__(self):
        super().__init__(f"550 no mailbox {ADDRESS}")
        self.address = ADDRESS
        self.add_note(f"while mailing {ADDRESS}")

def chained():
    try:
        raise KeyError(ADDRESS)
    except KeyError as cause:
        try:
            raise psycopg.DataError(f"DETAIL: Failing row contains ({ADDRESS})") from cause
        except psycopg.DataError as error:
            return error

FAILURES = [
    ProviderError(),
    chained(),
    ExceptionGroup(ADDRESS, [ValueError(ADDRESS)]),
    UnicodeEncodeError("ascii", ADDRESS, 0, 1, ADDRESS),
    ProviderError(),
]

def record(message):
    return {
        "messageId": message.message_id, "receiptHandle": message.receipt_handle, "body": message.body,
        "attributes": {"SenderId": "canary7f3a"},
        "messageAttributes": {"x": {"stringValue": "canary7f3a", "dataType": "String"}},
    }

with open_app(sys.argv[1], max_connections=4) as app, psycopg.connect(sys.argv[1], autocommit=True) as conn:
    pair = QueuePair(MemoryQueue(visibility=timedelta(0)), MemoryQueue())
    queues = dict.fromkeys(QueueName, pair)
    publisher = Publisher(app.database, queues)
    app = replace(
        app, settings=make_settings(sys.argv[1], WORKER_QUEUE="notifications"), queues=queues, publisher=publisher
    )
    relay = lambda: run_relay(
        database=app.database, queues=queues, publisher=publisher, budgets=BUDGETS,
        time_left=lambda: timedelta(seconds=40),
    )
    ledger.let_pass(conn, timedelta(minutes=10))
    relay()
    (message,) = pair.source.receive(limit=10, wait=timedelta(0))
    environment = patch.dict("os.environ", DATABASE_URL="postgresql:///", WORKER_QUEUE="notifications")
    with environment, patch("worker.lambda_function.get_app", lambda _: app):
        for number, failure in enumerate(FAILURES, 1):
            last = number == len(FAILURES)
            ledger.let_pass(conn, timedelta(hours=25) if last else timedelta(minutes=10))
            app.email.fail_next(failure)
            answer = lambda_handler({"Records": [record(message)]}, Context())
            assert len(answer["batchItemFailures"]) == (0 if last else 1), (number, answer)
    assert app.email.sent == []
    relay()
    (dead,) = pair.dead_letters.all()
    written = conn.execute("SELECT array_agg(to_jsonb(a)) FROM job_attempts a").fetchone()[0]
    (job,) = conn.execute("SELECT to_jsonb(j) FROM jobs j").fetchone()
    print(json.dumps({"dead": [dead.body, dict(dead.message.attributes)], "job": job, "attempts": written}))
"""


@pytest.fixture
def order(database_url: str) -> str:
    """The number of an order whose every personal field is a canary."""
    with psycopg.connect(database_url, autocommit=True) as conn:
        placement = make_order(
            conn,
            user_id=f"user-{CANARY}",
            email=f"{CANARY}.address@example.com",
            recipient_name=f"{CANARY} name",
            shipping_address=f"{CANARY} street 1",
            note=f"{CANARY} note",
        )
        return placement.order.order_number


class TestAJobThatFailsInTheWordsOfOthers:
    @pytest.mark.parametrize("loud", [False, True])
    def test_is_written_down_in_ours(self, database_url: str, order: str, loud: bool) -> None:
        process = subprocess.run(
            [sys.executable, "-c", RUN, database_url],
            env={**os.environ, **(LOUD if loud else {})},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert process.returncode == 0, process.stderr
        lines = [json.loads(line) for line in process.stdout.splitlines() if line.startswith("{")]
        log, found = lines[:-1], lines[-1]
        assert CANARY not in process.stdout
        assert CANARY not in process.stderr

        # All of that was said, and not by nobody.
        events = [line["message"] for line in log if "_aws" not in line]
        assert (events.count("job.retry_scheduled"), events.count("job.dead_letter")) == (4, 1)
        assert events.count("job.trace") == (5 if loud else 0)
        assert events.count("job.dead_letter_sent") == 1
        body, attributes = found["dead"]
        assert json.loads(body)["payload"] == {"order_number": order}
        assert (attributes["order_number"], attributes["error_class"]) == (order, "ProviderError")
        assert "retry budget of 24 h spent" in attributes["error_message"]
        assert [attempt["outcome"] for attempt in found["attempts"]] == ["retry"] * 4 + ["dead_letter"]
