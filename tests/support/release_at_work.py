"""What a release does to a database, in a process of its own: `begin` leaves work behind, `finish` does it.

Only packages of the release are imported, for this file is recorded with them (`tests/support/releases.py`) and
then runs with the code of that time. `begin` prints what `finish` reads: the orders, and the messages that were sent.
"""

import json
import sys
import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from api.app import handle
from skincare.app import App
from skincare.bootstrap import build_app
from skincare.config import Settings
from skincare.deployment.queues import QueueName
from skincare.jobs.catalog import BUDGETS
from skincare.jobs.ports import EnqueueFailure, OutgoingMessage, QueuePair, ReceivedMessage
from skincare.jobs.publisher import Publisher
from skincare.jobs.relay import run_relay
from skincare.notifications.ports import Email
from skincare.payments.gateways.samples import Occurrence, signed
from worker.wiring import make_worker

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
WORKED_OFF = (QueueName.PAYMENTS, QueueName.NOTIFICATIONS)
"""Documents need fonts, which are not recorded."""


class Messages:
    """A queue that keeps what it is sent; while it is `down` it takes nothing."""

    def __init__(self) -> None:
        self.bodies: list[str] = []
        self.down = False

    def enqueue(self, messages: Sequence[OutgoingMessage]) -> list[EnqueueFailure]:
        if self.down:
            return [EnqueueFailure(index, "Unavailable", sender_fault=False) for index in range(len(messages))]
        self.bodies.extend(message.body for message in messages)
        return []

    def receive(self, *, limit: int, wait: timedelta, visibility: timedelta | None = None) -> list[ReceivedMessage]:
        del wait, visibility
        taken, self.bodies = self.bodies[:limit], self.bodies[limit:]
        return [ReceivedMessage(str(uuid.uuid4()), str(uuid.uuid4()), body) for body in taken]

    def ack(self, messages: Sequence[ReceivedMessage]) -> list[ReceivedMessage]:
        del messages
        return []

    def nack(self, delays: Sequence[tuple[ReceivedMessage, timedelta]]) -> list[ReceivedMessage]:
        del delays
        return []


class Mail:
    def send(self, email: Email) -> str:
        del email
        return str(uuid.uuid4())


class Secrets:
    def secrets(self, gateway: str, *, fresh: bool = False) -> tuple[str, ...]:
        del gateway, fresh
        return (SECRET,)


class Shop:
    """The release's own App, with queues and mail in memory."""

    def __init__(self, database_url: str) -> None:
        self.queues = {name: Messages() for name in QueueName}
        pairs = {name: QueuePair(queue, Messages()) for name, queue in self.queues.items()}
        app = build_app(Settings.from_env({"DATABASE_URL": database_url, "MAIL_FROM": "shop@example.com"}))
        publisher = Publisher(app.database, pairs)
        self.app: App = replace(app, queues=pairs, publisher=publisher, email=Mail(), webhook_secrets=Secrets())

    def call(self, method: str, path: str, body: str | None, headers: dict[str, str], who: str | None) -> Any:
        context: dict[str, Any] = {"http": {"method": method, "path": path}, "requestId": str(uuid.uuid4())}
        if who is not None:
            claims = {"sub": str(uuid.uuid5(uuid.NAMESPACE_URL, who)), "email": f"{who}@example.com"}
            context["authorizer"] = {"jwt": {"claims": claims}}
        event = {
            "version": "2.0",
            "routeKey": "$default",
            "rawPath": path,
            "rawQueryString": "",
            "headers": {"content-type": "application/json", **headers},
            "requestContext": context,
            "isBase64Encoded": False,
        }
        answer = handle(event | ({} if body is None else {"body": body}), LambdaContext(), lambda: self.app)
        if answer["statusCode"] >= 300:
            raise RuntimeError(f"{method} {path}: {answer['statusCode']} {answer['body']}")
        return json.loads(answer["body"])

    def order(self, who: str) -> Any:
        self.call("PUT", "/v1/cart/items/SERUM", '{"quantity": 1}', {}, who)
        return self.call("POST", "/v1/orders", "{}", {"idempotency-key": f"key-of-{who}"}, who)

    def pay(self, order: Any) -> None:
        now = datetime.now(UTC)
        what = Occurrence(str(uuid.uuid4()), order["order_number"], "transaction-1", "paid", order["total_rupiah"], now)
        request = signed("standard_webhooks", what, secret=SECRET, sent_at=now)
        self.call("POST", request.path, request.body.decode(), dict(request.headers), None)

    def relay(self) -> int:
        """Make everything that waits due, as a minute would, and publish it."""
        with self.app.database.connection() as conn:
            conn.execute("UPDATE jobs SET publish_at = now() WHERE publish_at < now() + interval '1 minute'")
        return run_relay(
            database=self.app.database,
            queues=self.app.queues,
            publisher=self.app.publisher,
            budgets=BUDGETS,
            time_left=lambda: timedelta(minutes=1),
        ).sent

    def work(self) -> list[str]:
        """Work off all messages and return those that shall come again."""
        again: list[str] = []
        while waiting := [name for name in WORKED_OFF if self.queues[name].bodies]:
            for name in waiting:
                messages = self.queues[name].receive(limit=10, wait=timedelta(0))
                answer = make_worker(self.app, name).answer(messages, time_left=lambda: timedelta(minutes=1))
                again.extend(each.body for each in messages if each.message_id in answer)
        return again


def begin(shop: Shop) -> dict[str, Any]:
    paid, cancelled = shop.order("ani"), shop.order("budi")
    shop.pay(paid)
    for queue in shop.queues.values():
        queue.down = True
    late = shop.order("citra")
    return {
        "orders": {"paid": paid, "cancelled": cancelled, "late": late},
        "messages": {name.value: queue.bodies for name, queue in shop.queues.items()},
    }


def finish(shop: Shop, left: dict[str, Any]) -> dict[str, Any]:
    for name, bodies in left["messages"].items():
        if name in set(QueueName):
            shop.queues[QueueName(name)].bodies.extend(bodies)
    again = shop.work()
    relayed = shop.relay()
    number = left["orders"]["cancelled"]["order_number"]
    shop.call("POST", f"/v1/orders/{number}/cancel", None, {}, "budi")
    shop.order("dewi")
    again += shop.work()
    seen = {
        name: shop.call("GET", f"/v1/orders/{left['orders'][name]['order_number']}", None, {}, who)["status"]
        for name, who in (("paid", "ani"), ("cancelled", "budi"), ("late", "citra"))
    }
    return {"orders": seen, "relayed": relayed, "again": again}


if __name__ == "__main__":
    step, database_url = sys.argv[1:]
    shop = Shop(database_url)
    print("\n" + json.dumps(begin(shop) if step == "begin" else finish(shop, json.load(sys.stdin))))
    shop.app.database.close()
