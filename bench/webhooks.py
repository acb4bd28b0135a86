"""Webhooks: what taking one in costs beside its statement, how it holds under many senders, and applying events."""

import json
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from statistics import median
from typing import Any, cast

from aws_lambda_powertools.utilities.typing import LambdaContext
from psycopg import Connection

from api.app import handle
from bench.environment import BenchDatabase, BenchEnvironment, Effort
from bench.figure import Figure, at_least
from bench.rounds import alternate_us, percentile, ratios
from bench.shop import fill_carts, open_shop, place, settle_down, user
from bench.shopfront import Context, SilentPublisher, logs_discarded
from bench.worker import SlowProvider, make_worker
from skincare.app import App
from skincare.database.connection import Database, StaticCredentials
from skincare.database.session import Session
from skincare.deployment.queues import QueueName
from skincare.identifiers import new_job_id, uuid7
from skincare.jobs.catalog import ProcessPayment
from skincare.jobs.envelope import Envelope
from skincare.jobs.ports import ReceivedMessage
from skincare.payments import repository
from skincare.payments.gateways.standard_webhooks.webhook import StandardWebhooks, sign
from skincare.payments.models import EventId, Webhook

_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
_PATH = "/v1/payments/webhook"
_SENDERS = 50
_TOTAL = 3 * 50_000


class OneSecret:
    """A `SecretStore` that knows the bench's secret: asking for it is not what is measured."""

    def secrets(self, gateway: str, *, fresh: bool = False) -> Sequence[str]:  # noqa: ARG002  the port's shape
        return (_SECRET,)


@dataclass
class Gateway:
    """Sends events that are signed now, each another one."""

    prefix: str
    sent: int = 0

    def webhook(self, order_number: str = "SKN-00000-00001", amount: int = _TOTAL) -> Webhook:
        self.sent += 1
        key = f"{self.prefix}-{self.sent}"
        body = json.dumps(
            {
                "event_id": key,
                "order_number": order_number,
                "status": "paid",
                "amount_rupiah": amount,
                "currency": "IDR",
                "occurred_at": "2026-01-15T03:00:00Z",
                "transaction_id": key,
            }
        ).encode()
        at = str(int(time.time()))
        headers = {"webhook-id": key, "webhook-timestamp": at, "webhook-signature": sign(_SECRET, key, at, body)}
        return Webhook(body, headers, _PATH)


def measure(bench: BenchEnvironment, effort: Effort) -> Iterator[Figure]:
    """Intake warm, intake under fifty senders, and the payments worker."""
    with bench.database() as database, logs_discarded():
        open_shop(database.owner)
        settle_down(database.owner)
        yield from _warm(database, effort)
        yield from _crowd(database, effort)
        yield _applied(database, effort)


def _warm(database: BenchDatabase, effort: Effort) -> Iterator[Figure]:
    times, gateway, app = effort.times(300), Gateway("warm"), _app(database, connections=1)
    cpu: list[float] = []
    walls: list[tuple[float, float]] = []
    with Session.open(database.url) as conn:
        for turn in range(effort.rounds + 1):
            spent = [0.0]
            whole, bare = alternate_us(
                [partial(_timed, partial(_send, app, gateway), spent), partial(_store, conn, gateway)], times=times
            )
            if turn:  # first calls import and connect
                walls.append((whole, bare))
                cpu.append(spent[0] / times)
    app.database.close()
    handler, statement = [list(each) for each in zip(*walls, strict=True)]
    yield Figure(
        "webhooks.intake",
        "a webhook's warm handler ÷ its bare statement (one, with the event and its job)",
        ratios(handler, statement),
        parts={
            "handler (µs)": median(handler),
            "statement (µs)": median(statement),
            "handler (CPU µs)": median(cpu),
        },
    )


def _crowd(database: BenchDatabase, effort: Effort) -> Iterator[Figure]:
    """Fifty senders at once, each with a connection of its own, as fifty containers would have."""
    each, app = effort.times(40), _app(database, connections=_SENDERS)
    durations: list[float] = []
    start = threading.Barrier(_SENDERS)

    def send(number: int) -> None:
        gateway = Gateway(f"crowd-{number}")
        _send(app, gateway)  # connects
        start.wait()
        for _ in range(each):
            started = time.perf_counter()
            _send(app, gateway)
            durations.append((time.perf_counter() - started) * 1000)

    threads = [threading.Thread(target=send, args=(number,)) for number in range(_SENDERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    app.database.close()
    if len(durations) != each * _SENDERS:
        raise RuntimeError(f"{len(durations)} of {each * _SENDERS} webhooks were answered")
    for percent in (50, 99):
        yield Figure(
            f"webhooks.crowd-p{percent}",
            f"intake under {_SENDERS} senders in one process, p{percent}",
            [percentile(durations, percent)],
            unit="ms",
        )


def _applied(database: BenchDatabase, effort: Effort) -> Figure:
    limits, size = QueueName.PAYMENTS.limits, effort.times(200)
    worker = make_worker(database.url, limits, email=SlowProvider(0))
    rates = []
    for turn in range(effort.rounds + 1):
        messages = _payments(database, f"apply-{turn}", size)
        started = time.perf_counter()
        acked = 0
        for first in range(0, size, limits.batch_size):
            batch = messages[first : first + limits.batch_size]
            acked += len(worker.worker.run(batch, time_left=lambda: timedelta(seconds=40)).acked)
        rates.append(size / (time.perf_counter() - started))
        if acked != size:
            raise RuntimeError(f"{acked} of {size} events were applied")
    worker.close()
    return Figure(
        "webhooks.applied",
        "payment events applied per second, each of which pays an order and sets off its mail and invoice",
        rates[1:],
        unit="per s",
        aim=at_least(200),
    )


def _payments(database: BenchDatabase, prefix: str, size: int) -> list[ReceivedMessage]:
    """Place orders and take in the event that pays each; return the events' jobs as the queue would deliver them."""
    fill_carts(database.owner, prefix, clients=1, each=size)
    messages, gateway = [], Gateway(prefix)
    for number in range(1, size + 1):
        customer = user(prefix, 0, number)
        place(database.owner, customer)
        row = database.owner.execute(
            "SELECT order_number, total_rupiah FROM orders WHERE user_id = %s", [customer]
        ).fetchone()
        assert row is not None
        job_id, event_id = new_job_id(), EventId(uuid7())
        _store(database.owner, gateway, event_id=event_id, job_id=job_id, order_number=row[0], amount=row[1])
        payload = ProcessPayment(event_id=str(event_id))
        body = Envelope(job_id, payload.job_type, payload.model_dump(), None).encode()
        messages.append(ReceivedMessage(f"m-{job_id}", f"r-{job_id}", body))
    return messages


def _app(database: BenchDatabase, *, connections: int) -> App:
    app = make_worker(database.url, QueueName.PAYMENTS.limits, email=SlowProvider(0)).app
    return replace(
        app,
        database=Database(StaticCredentials(database.url), max_connections=connections),
        publisher=SilentPublisher(),
        webhook_secrets=OneSecret(),
    )


def _timed(call: Any, spent: list[float]) -> None:
    started = time.thread_time_ns()
    call()
    spent[0] += (time.thread_time_ns() - started) / 1000


def _send(app: App, gateway: Gateway) -> None:
    webhook = gateway.webhook()
    event = {
        "version": "2.0",
        "routeKey": f"POST {_PATH}",
        "rawPath": _PATH,
        "rawQueryString": "",
        "headers": {"content-type": "application/json", **webhook.headers},
        "requestContext": {
            "http": {"method": "POST", "path": _PATH, "sourceIp": "203.0.113.9"},
            "requestId": "bench",
            "stage": "$default",
        },
        "body": webhook.body.decode(),
        "isBase64Encoded": False,
    }
    answer = handle(event, cast(LambdaContext, Context()), lambda: app)
    if answer["statusCode"] != 200:
        raise RuntimeError(f"the webhook was answered {answer['statusCode']}")


def _store(
    conn: Connection,
    gateway: Gateway,
    *,
    event_id: EventId | None = None,
    job_id: Any = None,
    order_number: str = "SKN-00000-00001",
    amount: int = _TOTAL,
) -> None:
    """Verify and store an event without anything around it."""
    webhook = gateway.webhook(order_number, amount)
    event = StandardWebhooks().read(webhook, (_SECRET,), datetime.now(UTC))
    repository.store(
        conn,
        event,
        gateway=StandardWebhooks.name,
        body=webhook.body,
        event_id=event_id or EventId(uuid7()),
        job_id=job_id or new_job_id(),
        request_id="bench",
    )
