"""The trail of a request: request, trace, job and order are found from each other, in every log and on the queue."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from psycopg import Connection

from oncall.dead_letter_requests import DeadLetterRef, Redrive
from skincare.app import App
from skincare.deployment.queues import QueueName
from skincare.jobs.catalog import BUDGETS
from skincare.jobs.envelope import decode
from skincare.jobs.ports import QueuePair
from skincare.jobs.publisher import Publisher
from skincare.jobs.relay import run_relay
from skincare.jobs.repository import lease
from skincare.jobs.retry import DeadLetter
from tests.fakes.queue import MemoryQueue
from tests.support import ledger
from tests.support.factories import make_product
from tests.support.http import Client, call, http_event
from tests.support.log import RecordedLog, recorded_log
from tests.support.oncall import ME, ask
from tests.support.payments import new_order
from tests.support.webhooks import webhook_of
from tests.support.worker_bench import plenty
from worker.wiring import make_worker

TRACE = "1-5759e988-bd862e3fe1be46a994272793"
HEADER = f"Root={TRACE};Parent=53995c3f42cd8ad8;Sampled=1"


@pytest.fixture
def pair() -> QueuePair:
    return QueuePair(MemoryQueue(visibility=timedelta(0)), MemoryQueue())


@pytest.fixture
def system(app: App, pair: QueuePair) -> App:
    """The API and its workers around one queue."""
    queues = dict.fromkeys(QueueName, pair)
    return replace(app, queues=queues, publisher=Publisher(app.database, queues))


def order(system: App, conn: Connection, header: str = HEADER) -> str:
    make_product(conn, sku="TONER")
    client = Client(system, "buyer")
    client.put_item("TONER")
    headers = {"idempotency-key": "k-1", "x-amzn-trace-id": header}
    answer = client.request("POST", "/v1/orders", body={}, headers=headers)
    assert answer.status == 201
    return str(answer.body["order_number"])


def line(log: RecordedLog, event: str) -> dict[str, Any]:
    (found,) = [each for each in log.lines if each["message"] == event]
    return found


def test_an_order_can_be_followed_from_its_request_to_its_mail(system: App, pair: QueuePair, conn: Connection) -> None:
    with recorded_log() as log:
        number = order(system, conn)
        (message,) = pair.source.receive(limit=10, wait=timedelta(0))
        make_worker(system, QueueName.NOTIFICATIONS).run([message], time_left=plenty)
    requested = [each for each in log.lines if each["message"] == "http.request"][-1]
    completed = line(log, "job.completed")
    mailed = line(log, "email.sent")
    assert requested["trace_id"] == completed["trace_id"] == mailed["trace_id"] == TRACE
    assert requested["request_id"] == completed["request_id"] == mailed["request_id"]
    assert requested["order_number"] == completed["order_number"] == mailed["order_number"] == number
    assert completed["job_id"] == mailed["job_id"]
    assert message.attributes == {
        "request_id": requested["request_id"],
        "trace_id": TRACE,
        "order_number": number,
    }


def test_a_message_that_the_relay_sends_has_the_trace_too(system: App, pair: QueuePair, conn: Connection) -> None:
    assert isinstance(pair.source, MemoryQueue)
    pair.source.down = True
    order(system, conn)
    pair.source.down = False
    ledger.let_pass(conn, timedelta(minutes=1))
    run_relay(
        database=system.database, queues=system.queues, publisher=system.publisher, budgets=BUDGETS, time_left=plenty
    )
    (message,) = pair.source.receive(limit=10, wait=timedelta(0))
    assert message.attributes["trace_id"] == TRACE


def test_a_webhook_can_be_followed_to_its_payment(system: App, pair: QueuePair, conn: Connection) -> None:
    number = new_order(conn)
    webhook = webhook_of("standard_webhooks", at=datetime.now(UTC), order_number=number)
    headers = {**webhook.headers, "x-amzn-trace-id": HEADER}
    with recorded_log() as log:
        assert call(system, http_event("POST", webhook.path, body=webhook.body.decode(), headers=headers)).status == 200
        (message,) = pair.source.receive(limit=10, wait=timedelta(0))
        make_worker(system, QueueName.PAYMENTS).run([message], time_left=plenty)
    received, applied = line(log, "payment.event_received"), line(log, "payment.event_applied")
    assert received["trace_id"] == applied["trace_id"] == message.attributes["trace_id"] == TRACE
    assert received["request_id"] == applied["request_id"]
    assert received["event_id"] == applied["event_id"]
    assert applied["order_number"] == number


def test_a_redrive_can_be_followed_from_the_engineer_to_the_order(
    system: App, pair: QueuePair, conn: Connection
) -> None:
    with recorded_log() as log:
        number = order(system, conn)
    requested = [each for each in log.lines if each["message"] == "http.request"][-1]
    (message,) = pair.source.receive(limit=10, wait=timedelta(0))
    pair.source.ack([message])
    job_id = decode(message.body).job_id
    token = ledger.new_token()
    lease.claim(conn, {job_id: None}, token=token, lease=ledger.MINUTE)
    lease.settle(conn, {job_id: DeadLetter("ProviderGone", "the provider is gone")}, token=token)
    with recorded_log() as log:
        ask(system, Redrive(claimed_identity=ME, deaths=[DeadLetterRef(job_id=job_id, dead_letter_no=1)]))
        (message,) = pair.source.receive(limit=10, wait=timedelta(0))
        make_worker(system, QueueName.NOTIFICATIONS).run([message], time_left=plenty)
    done, completed = line(log, "operations.done"), line(log, "job.completed")
    assert list(done["job_ids"]) == [completed["job_id"]] == [str(job_id)]
    assert (completed["order_number"], completed["request_id"]) == (number, requested["request_id"])


@pytest.mark.parametrize("header", ["", "Root=x", "Root=1-5759e988-bd862e3fe1be46a99427279\n3", "Self=1;Root="])
def test_a_request_without_a_trace_has_none(system: App, pair: QueuePair, conn: Connection, header: str) -> None:
    with recorded_log() as log:
        order(system, conn, header)
    assert all("trace_id" not in each for each in log.lines)
    (message,) = pair.source.receive(limit=10, wait=timedelta(0))
    assert "trace_id" not in message.attributes
