"""A process is killed at each step while money moves: nothing is lost, and nothing happens twice."""

import json
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from psycopg import Connection

from skincare.adapters.aws import AwsSession
from skincare.app import App
from skincare.identifiers import OrderNumber
from skincare.payments.refunds.models import RefundRequest
from tests.integration.payments import money_crash_process
from tests.support import crash_process, factories, ledger
from tests.support.aws import ShiftedClock, create_queue
from tests.support.crash_shop import create_bucket
from tests.support.forked import Forked
from tests.support.payments import anomalies, ask_for_refund, order_status, payments, take_in
from tests.support.shop import reserved_differs, stock, stock_differs
from tests.support.timers import start_attempt

TOTAL = 150_000
STOCK = 10


@dataclass
class Till:
    """The system at rest, with one order, and the environment that a process of it is given."""

    environ: dict[str, str]
    conn: Connection
    app: App
    number: OrderNumber
    clock: ShiftedClock

    def let_pass(self, time: timedelta) -> None:
        """Let time pass for the ledger and for the queues."""
        ledger.let_pass(self.conn, time)
        self.clock.advance(time)

    def kill_at(self, point: str) -> None:
        environ = {**os.environ, **self.environ, "ORDER_NUMBER": self.number}
        process = Forked(money_crash_process.main, point, environ=environ)
        assert process.wait() == -signal.SIGKILL, "the point was not reached"

    def lives(self) -> list[str]:
        rows = self.conn.execute(
            "SELECT job_type FROM jobs WHERE publish_at IS NOT NULL AND (run_at IS NULL OR run_at <= now())"
        )
        return [job_type for (job_type,) in rows]

    def come_to_rest(self) -> None:
        deadline = time.monotonic() + 60
        while self.lives():
            assert time.monotonic() < deadline, f"jobs live on: {self.lives()}"
            self.let_pass(timedelta(minutes=2))
            crash_process.relay_once(self.app)
            crash_process.work_once(self.app, wait=timedelta(0))

    def publish(self) -> None:
        self.let_pass(timedelta(minutes=2))
        crash_process.relay_once(self.app)

    def pay(self) -> None:
        take_in(self.app, order_number=self.number, transaction_id="one")

    @property
    def refunds(self) -> list[tuple[str, int]]:
        """What the gateway was asked to give back, once per key: it takes each only once."""
        file = Path(self.environ["GATEWAY_FOLDER"]) / "refunds"
        lines = file.read_text().splitlines() if file.exists() else []
        return sorted({tuple(json.loads(line)) for line in lines})


@pytest.fixture
def till(database_url: str, owner_url: str, aws: AwsSession, aws_endpoint: str, tmp_path: Path) -> Iterator[Till]:
    (tmp_path / "mails").touch()
    environ = {
        "DATABASE_URL": database_url,
        "AWS_ENDPOINT_URL": aws_endpoint,
        "QUEUE_URL": create_queue(aws, VisibilityTimeout="1"),
        "DEAD_LETTER_QUEUE_URL": create_queue(aws),
        "MAIL_FILE": str(tmp_path / "mails"),
        "INVOICE_BUCKET": create_bucket(aws),
        "GATEWAY_FOLDER": str(tmp_path),
    }
    app, clock = money_crash_process.make_app(environ), ShiftedClock()
    with psycopg.connect(database_url, autocommit=True) as conn:
        sku = factories.make_product(conn, sku="SERUM", price_rupiah=TOTAL, stock=STOCK).sku
        number = factories.make_order(conn, lines={sku: 1}).order.order_number
        with psycopg.connect(owner_url) as owner:
            owner.execute("DELETE FROM jobs WHERE job_type = 'send_confirmation_email'")
        with clock.driving_moto():
            yield Till(environ, conn, app, number, clock)
        assert not stock_differs(conn)
        assert not reserved_differs(conn)
    app.database.close()


def points_of(scene: str) -> list[str]:
    return [point for point, (where, *_) in money_crash_process.POINTS.items() if where == scene]


def timer(till: Till) -> str:
    row = till.conn.execute("SELECT state FROM jobs WHERE job_type = 'expire_order'").fetchone()
    assert row is not None
    return str(row[0])


@pytest.mark.parametrize("reported_again", [False, True])
@pytest.mark.parametrize("point", points_of("take in"))
def test_killed_while_it_takes_in_an_event_the_order_is_paid_once(
    till: Till, point: str, *, reported_again: bool
) -> None:
    """The gateway got no answer, so it comes again; once the event is stored that is not needed."""
    till.kill_at(point)
    stored = till.conn.execute("SELECT count(*) FROM payment_events").fetchone() == (1,)
    assert stored == (point != "signature checked")
    if reported_again or not stored:
        till.pay()
    till.come_to_rest()
    assert payments(till.conn) == [("one", "paid", TOTAL, 0, True)]
    assert (order_status(till.conn, till.number), anomalies(till.conn)) == ("paid", [])
    jobs = till.conn.execute("SELECT state FROM jobs WHERE job_type = 'process_payment'").fetchall()
    assert jobs == [("completed",)]


@pytest.mark.parametrize("point", points_of("apply"))
def test_killed_while_it_applies_a_payment_the_order_is_paid_once(till: Till, point: str) -> None:
    till.pay()
    till.kill_at(point)
    till.come_to_rest()
    assert payments(till.conn) == [("one", "paid", TOTAL, 0, True)]
    assert (order_status(till.conn, till.number), timer(till), anomalies(till.conn)) == ("paid", "cancelled", [])
    completed = till.conn.execute(
        "SELECT count(*) FROM job_attempts a JOIN jobs j ON j.id = a.job_id"
        " WHERE a.outcome = 'completed' AND j.job_type = 'process_payment'"
    ).fetchone()
    assert (completed, stock(till.conn, "SERUM")) == ((1,), STOCK - 1)


@pytest.mark.parametrize("point", points_of("expire"))
def test_killed_while_it_expires_an_order_the_stock_comes_back_once(till: Till, point: str) -> None:
    start_attempt(till.conn, till.number)
    till.let_pass(timedelta(hours=25))
    till.publish()
    till.kill_at(point)
    till.come_to_rest()
    assert (order_status(till.conn, till.number), timer(till)) == ("expired", "completed")
    assert stock(till.conn, "SERUM") == STOCK


@pytest.mark.parametrize("point", points_of("paid after all"))
def test_killed_while_it_learns_of_a_payment_the_order_is_paid_once(till: Till, point: str) -> None:
    start_attempt(till.conn, till.number)
    (Path(till.environ["GATEWAY_FOLDER"]) / "paid").touch()
    till.let_pass(timedelta(hours=25))
    till.publish()
    till.kill_at(point)
    till.come_to_rest()
    assert payments(till.conn) == [("one", "paid", TOTAL, 0, True)]
    assert (order_status(till.conn, till.number), anomalies(till.conn)) == ("paid", [])
    assert (timer(till) in {"cancelled", "completed"}, stock(till.conn, "SERUM")) == (True, STOCK - 1)


@pytest.mark.parametrize("point", points_of("refund"))
def test_killed_while_it_sends_a_refund_the_money_goes_back_once(till: Till, point: str) -> None:
    till.pay()
    till.come_to_rest()
    refund = ask_for_refund(till.app, RefundRequest(till.number, "damaged", "service desk", 50_000))
    till.publish()
    till.kill_at(point)
    till.come_to_rest()
    assert till.refunds == [(refund.key, 50_000)]
    for _ in range(2):
        take_in(
            till.app,
            order_number=till.number,
            transaction_id="one",
            event_id="refund-1",
            status="partially_refunded",
            amount_rupiah=50_000,
            refund_id=refund.key,
        )
    till.come_to_rest()
    assert payments(till.conn) == [("one", "partially_refunded", TOTAL, 50_000, True)]
    assert till.conn.execute("SELECT state FROM refunds").fetchall() == [("booked",)]
