"""An order's activity over HTTP: from the checkout to its mail, with nothing of our machinery in it."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from psycopg import Connection

from skincare.app import App
from skincare.deployment.queues import QueueName
from skincare.jobs.ports import QueuePair
from skincare.jobs.publisher import Publisher
from skincare.jobs.repository import dead_letter, lease, operations
from skincare.jobs.retry import Completed, DeadLetter, Outcome, Retry
from skincare.jobs.worker import Worker
from tests.fakes.queue import MemoryQueue
from tests.support import ledger
from tests.support.factories import fill_cart, make_order, make_product
from tests.support.http import Answer, Client, open_app
from tests.support.log import recorded_log
from tests.support.wire import Wire
from tests.support.worker_bench import LIMITS, plenty
from worker.registry import REGISTRY

SECRET = "canary-7f3a"
HELD = timedelta(minutes=1)


class Shopper:
    """A customer with an order whose job a test moves along."""

    def __init__(self, conn: Connection, app: App) -> None:
        self.conn = conn
        cancelled = make_order(conn, user_id="ani")  # whose activity is none of the order's
        assert cancelled.job is not None
        operations.cancel(conn, [cancelled.job.job_id])
        placement = make_order(conn, user_id="ani")
        assert placement.job is not None
        self.job = placement.job
        self.number = placement.order.order_number
        self.client = Client(app, "ani")
        self.token = ledger.new_token()

    def look(self) -> Answer:
        return self.client.get(f"/v1/orders/{self.number}")

    def claim(self) -> None:
        ledger.claim_one(self.conn, self.job.job_id, token=self.token, held=HELD)

    def settle(self, outcome: Outcome) -> None:
        assert lease.settle(self.conn, {self.job.job_id: outcome}, token=self.token)

    def record(self, status: str) -> None:
        self.conn.execute(
            "INSERT INTO order_notifications (order_id, notification_type, status, reason)"
            " SELECT id, 'order_confirmation', %s, %s FROM orders WHERE order_number = %s",
            [status, SECRET, self.number],
        )

    def status(self) -> tuple[str, str | None]:
        """The status of the confirmation, and when to look again."""
        answer = self.look()
        entry, *_ = answer.body["activity"]
        assert set(entry) == {"what", "status", "at"}
        assert entry["what"] == "confirmation_email"
        age = datetime.now(UTC) - datetime.fromisoformat(entry["at"])
        assert abs(age) < timedelta(minutes=10)
        assert SECRET not in answer.text
        assert str(self.job.job_id) not in answer.text
        return entry["status"], answer.headers.get("retry-after")


@pytest.fixture
def shopper(conn: Connection, app: App) -> Shopper:
    return Shopper(conn, app)


class TestTheActivity:
    def test_follows_the_job(self, shopper: Shopper) -> None:
        assert shopper.status() == ("waiting", "1")
        shopper.claim()
        assert shopper.status() == ("working", "1")
        shopper.settle(Retry(timedelta(seconds=8), "Timeout", SECRET))
        assert shopper.status() == ("waiting", "8")
        ledger.let_pass(shopper.conn, HELD)
        shopper.claim()
        shopper.settle(DeadLetter("Broken", SECRET))
        assert shopper.status() == ("failed", None)
        dead_letter.redrive(shopper.conn, [shopper.job.job_id])
        assert shopper.status() == ("waiting", "1")
        shopper.claim()
        shopper.record("sent")
        assert shopper.status() == ("done", "1")
        shopper.settle(Completed())
        assert shopper.status() == ("done", None)

    def test_tells_that_the_address_takes_no_mail_and_not_why(self, shopper: Shopper) -> None:
        shopper.claim()
        shopper.record("undeliverable")
        shopper.settle(Completed())
        assert shopper.status() == ("undeliverable", None)

    def test_tells_that_a_cancelled_order_got_no_mail(self, shopper: Shopper) -> None:
        assert shopper.client.cancel(shopper.number).status == 200
        assert shopper.status() == ("waiting", "1")
        shopper.claim()
        shopper.settle(Completed())
        assert shopper.status() == ("cancelled", "1")
        assert [entry["what"] for entry in shopper.look().body["activity"]][1:] == ["cancellation_email"]

    def test_tells_of_a_job_that_a_person_cancelled(self, shopper: Shopper) -> None:
        operations.cancel(shopper.conn, [shopper.job.job_id])
        assert shopper.status() == ("cancelled", None)

    def test_has_times_in_utc(self, shopper: Shopper) -> None:
        (entry,) = shopper.look().body["activity"]
        assert entry["at"].endswith("Z")
        assert entry["at"] == shopper.look().body["created_at"]

    def test_is_no_part_of_any_other_answer(self, conn: Connection, app: App) -> None:
        fill_cart(conn, "budi", {make_product(conn).sku: 1})
        client = Client(app, "budi")
        placed = client.order()
        listed = client.get("/v1/orders").body["data"][0]
        cancelled = client.cancel(placed.body["order_number"])
        assert not any("activity" in body for body in (placed.body, listed, cancelled.body))

    def test_of_somebody_elses_order_is_not_told(self, conn: Connection, app: App, shopper: Shopper) -> None:
        answer = Client(app, "budi").get(f"/v1/orders/{shopper.number}")
        assert (answer.status, answer.headers.get("retry-after")) == (404, None)


class TestTheWayToTheDatabase:
    def test_is_gone_once_for_an_order_and_its_activity(self, conn: Connection, database_url: str) -> None:
        number = make_order(conn, user_id="ani").order.order_number
        with Wire(database_url) as wire, open_app(wire.url) as app:
            Client(app).get("/health")
            before = sum(kind in {"S", "Q"} for kind, _ in wire.said())
            assert Client(app, "ani").get(f"/v1/orders/{number}").status == 200
            assert sum(kind in {"S", "Q"} for kind, _ in wire.said()) - before == 1


class TestTheRequestThatPlacedTheOrder:
    def test_is_named_in_every_line_of_its_job_and_the_mail_is_seen(self, conn: Connection, database_url: str) -> None:
        fill_cart(conn, "ani", {make_product(conn).sku: 1})
        queue, dead_letters = MemoryQueue(), MemoryQueue()
        pair = QueuePair(queue, dead_letters)
        with open_app(database_url, max_connections=2) as app:
            publisher = Publisher(app.database, {QueueName.NOTIFICATIONS: pair})
            with open_app(database_url, publisher=publisher) as api:
                placed = Client(api, "ani").order()
            worker = Worker(
                app,
                registry=REGISTRY,
                database=app.database,
                publish=app.publisher.publish_now,
                queue=pair,
                limits=LIMITS,
            )
            with recorded_log() as log:
                worker.run(queue.receive(limit=10, wait=timedelta(0)), time_left=plenty)
            answer = Client(app, "ani").get(placed.headers["location"])
        request_id = placed.headers["x-request-id"]
        of_the_job = [line for line in log.lines if "job_id" in line]
        assert {"email.sent", "job.completed"} <= {line["message"] for line in of_the_job}
        assert {line["request_id"] for line in of_the_job} == {request_id}
        assert "buyer@example.com" not in json.dumps(log.lines)
        assert (answer.body["activity"][0]["status"], answer.headers.get("retry-after")) == ("done", None)
