"""The system at rest, for tests that kill its processes: a database, queues, files, and time that a test lets pass."""

import os
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from psycopg import Connection

from skincare.adapters.aws import AwsSession
from skincare.app import App
from skincare.orders.service import place_order
from tests.support import crash_process, factories, ledger
from tests.support.aws import LONG_TIMEOUTS, ShiftedClock, create_queue
from tests.support.forked import Forked
from tests.support.shop import reserved_differs, stock_differs

STOCK = 10
TERMS = replace(factories.UNLIMITED, window=timedelta(hours=24))
"""Orders that do not expire in the hours that pass here."""


@dataclass
class Shop:
    """The system at rest: a database, a queue, and the environment that a process of it is given."""

    environ: dict[str, str]
    conn: Connection
    app: App
    aws: AwsSession
    clock: ShiftedClock

    def fill_cart(self, user_id: str) -> None:
        factories.fill_cart(self.conn, user_id, {"TONER": 1})

    def start(self, role: str, point: str, user_id: str = "") -> Forked:
        environ = {**os.environ, **self.environ, "USER_ID": user_id}
        return Forked(crash_process.main, role, point, environ=environ)

    def place(self, user_id: str, *, email: str = "buyer@example.com") -> None:
        self.fill_cart(user_id)
        request = factories.make_place_order(user_id, email=email)
        place_order(request, terms=TERMS, database=self.app.database, publisher=self.app.publisher)

    def mails(self) -> int:
        return len(Path(self.environ["MAIL_FILE"]).read_text().splitlines())

    def lives(self) -> list[str]:
        rows = self.conn.execute(
            "SELECT state FROM jobs WHERE publish_at IS NOT NULL AND state <> 'dead_letter'"
            " AND (run_at IS NULL OR run_at <= now())"
        )
        return [state for (state,) in rows]

    def states(self, user_id: str) -> list[str]:
        rows = self.conn.execute(
            "SELECT state FROM jobs JOIN orders USING (order_number) WHERE user_id = %s AND run_at IS NULL", [user_id]
        )
        return [state for (state,) in rows]

    def empty_queue(self) -> None:
        self.aws.client("sqs", LONG_TIMEOUTS).purge_queue(QueueUrl=self.environ["QUEUE_URL"])

    def let_pass(self, time: timedelta) -> None:
        """Let time pass for the ledger and for the queues."""
        ledger.let_pass(self.conn, time)
        self.clock.advance(time)

    def come_to_rest(self) -> None:
        """Let relay, workers and time go on until no job lives."""
        deadline = time.monotonic() + 60
        while self.lives():
            assert time.monotonic() < deadline, f"jobs live on: {self.lives()}"
            self.let_pass(timedelta(minutes=2))
            crash_process.relay_once(self.app)
            crash_process.work_once(self.app, wait=timedelta(0))

    def committed_orders(self) -> int:
        row = self.conn.execute("SELECT count(*) FROM orders").fetchone()
        assert row is not None
        return int(row[0])

    def check(self, *, orders: int, mails: int) -> None:
        """Everything adds up: orders, stock, notifications, jobs and mails."""
        assert self.committed_orders() == orders
        assert self.conn.execute("SELECT stock FROM products").fetchone() == (STOCK - orders,)
        reported = self.conn.execute("SELECT count(*) FROM order_notifications WHERE status = 'sent'").fetchone()
        assert reported == (orders,)
        done = self.conn.execute("SELECT count(*) FROM jobs WHERE state = 'completed'").fetchone()
        assert done == (orders,)
        assert self.mails() == mails


def create_bucket(aws: AwsSession) -> str:
    """Create a bucket for invoices and return its name."""
    bucket = f"invoices-{uuid.uuid4()}"
    aws.client("s3", LONG_TIMEOUTS).create_bucket(
        Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": "ap-southeast-3"}
    )
    return bucket


@pytest.fixture
def shop(database_url: str, aws: AwsSession, aws_endpoint: str, tmp_path: Path) -> Iterator[Shop]:
    """The system; whatever was killed, stock is the sum of its movements, and what orders hold is reserved."""
    mail = tmp_path / "mails"
    mail.touch()
    environ = {
        "DATABASE_URL": database_url,
        "AWS_ENDPOINT_URL": aws_endpoint,
        # Workers that are killed in earnest, one after the other, wait for it in real time.
        "QUEUE_URL": create_queue(aws, VisibilityTimeout="1"),
        "DEAD_LETTER_QUEUE_URL": create_queue(aws),
        "MAIL_FILE": str(mail),
        "INVOICE_BUCKET": create_bucket(aws),
    }
    app, clock = crash_process.make_app(environ), ShiftedClock()
    with psycopg.connect(database_url, autocommit=True) as conn:
        factories.make_product(conn, sku="TONER", stock=STOCK)
        with clock.driving_moto():
            yield Shop(environ, conn, app, aws, clock)
        assert not stock_differs(conn)
        assert not reserved_differs(conn)
    app.database.close()
