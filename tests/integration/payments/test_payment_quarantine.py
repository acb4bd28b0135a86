"""An event whose order does not appear is waited for, then set aside for a person, and never acked silently."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest
from psycopg import Connection

from skincare.app import App
from skincare.jobs.catalog import BUDGETS, ProcessPayment
from skincare.jobs.models import DueJob
from skincare.jobs.relay import run_relay
from skincare.jobs.repository import dead_letter
from skincare.jobs.retry import DeadLetter, backoff_delay, decide
from skincare.payments.errors import EventOverdue, EventUnconfirmed, OrderMaybePaid, PaidOrderUnknown
from tests.fakes.gateway_client import FakeGatewayClient
from tests.support import ledger
from tests.support.http import RecordingPublisher
from tests.support.log import recorded_log
from tests.support.payments import events, new_order, order_status, payments, run_jobs, take_in
from tests.support.timers import expire, start_attempt
from tests.support.webhooks import ORDER
from tests.support.worker_bench import Bench, plenty
from worker.handlers import process_payment


@pytest.fixture
def owner(owner_url: str) -> Iterator[Connection]:
    with psycopg.connect(owner_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def job(app: App) -> DueJob:
    """The job of an event about an order that is not there."""
    take_in(app)
    assert isinstance(app.publisher, RecordingPublisher)
    return app.publisher.jobs[0]


def try_it(app: App, job: DueJob) -> None:
    process_payment.handle(ProcessPayment.model_validate(job.payload), app)


def relay(bench: Bench) -> None:
    run_relay(
        database=bench.database, queues=bench.queues, publisher=bench.publisher, budgets=BUDGETS, time_left=plenty
    )


def age(owner: Connection, time: timedelta) -> None:
    owner.execute("UPDATE payment_events SET received_at = received_at - %s", [time])


class TestAnEventWithoutItsOrder:
    def test_waits_and_is_applied_when_the_order_appears(
        self, app: App, conn: Connection, owner: Connection, job: DueJob
    ) -> None:
        for _ in range(2):
            age(owner, timedelta(hours=35))
            with pytest.raises(PaidOrderUnknown):
                try_it(app, job)
        number = new_order(conn)
        owner.execute("UPDATE orders SET order_number = %s WHERE order_number = %s", [ORDER, number])
        try_it(app, job)
        assert (order_status(conn, ORDER), events(conn)) == ("paid", [("applied", "paid")])  # type: ignore[arg-type]

    def test_is_set_aside_after_the_window_and_says_so(
        self, app: App, conn: Connection, owner: Connection, job: DueJob
    ) -> None:
        age(owner, timedelta(hours=72))
        with recorded_log() as log, pytest.raises(EventOverdue):
            try_it(app, job)
        assert [line["message"] for line in log.lines] == ["payment.event_quarantined"]
        assert conn.execute("SELECT state, flaw FROM payment_events").fetchall() == [
            ("quarantined", "no order of this number came")
        ]
        assert payments(conn) == []

    def test_is_set_aside_by_a_try_that_comes_before_the_budget_ends(self) -> None:
        longest = backoff_delay(99, jitter=lambda: 1.0)
        assert longest < timedelta(minutes=15)

    def test_ends_in_a_dead_letter_that_names_it(
        self, app: App, conn: Connection, owner: Connection, job: DueJob
    ) -> None:
        age(owner, timedelta(hours=72))
        with pytest.raises(EventOverdue) as raised:
            try_it(app, job)
        outcome = decide(raised.value, attempts=9, age=timedelta(0), budget=ProcessPayment.budget)
        assert isinstance(outcome, DeadLetter)
        assert job.payload["event_id"] in outcome.error_message

    def test_keeps_waiting_for_an_order_and_not_for_a_lock(self, app: App, conn: Connection, job: DueJob) -> None:
        with pytest.raises(PaidOrderUnknown):
            try_it(app, job)
        assert events(conn) == [("received", "paid")]


class TestARedrive:
    def test_of_a_settlement_that_was_applied_meanwhile_is_done_and_counted(
        self, app: App, conn: Connection, database_url: str
    ) -> None:
        """Somebody applied it by hand, and its old dead letter is redriven twice."""
        number = new_order(conn)
        take_in(app, order_number=number)
        assert isinstance(app.publisher, RecordingPublisher)
        [job] = app.publisher.jobs
        dead_letter.dead_letter_unreadable(conn, job.job_id, error_class="X", error_message="x")
        run_jobs(app)
        before = (payments(conn), order_status(conn, number))
        with recorded_log() as log:
            for _ in range(2):
                dead_letter.redrive(conn, [job.job_id])
                try_it(app, job)
        assert (payments(conn), order_status(conn, number)) == before
        assert [line["message"] for line in log.lines] == ["payment.event_done_before"] * 2


class TestALostEnqueue:
    def test_is_recovered_by_the_outbox_where_the_gateways_retries_would_not(
        self, app: App, conn: Connection, database_url: str
    ) -> None:
        """The event is stored, and its message never reaches SQS: the gateway was told 200 and does not come again.

        Even if it came again, its copy would change nothing. The job is in the ledger, so the relay sends it.
        """
        number = new_order(conn)
        bench = Bench(database_url)
        for _ in range(3):
            take_in(app, order_number=number)
        assert len(bench.source.all()) == 0
        ledger.let_pass(conn, timedelta(minutes=1))
        relay(bench)
        bodies = [message.body for message in bench.source.all() if '"process_payment"' in message.body]
        assert len(bodies) == 1
        run_jobs(app)
        assert order_status(conn, number) == "paid"
        bench.close()


class TestAnEventThatItsGatewayNeverConfirms:
    def test_is_set_aside_after_the_window_and_keeps_its_order_open_until_a_person_has_looked(
        self, app: App, conn: Connection, owner: Connection
    ) -> None:
        """It may be forged, and it may be of a customer who paid: it moves no money, and sells nobody's goods on."""
        app = replace(app, gateways={"midtrans": FakeGatewayClient("midtrans")})
        number = new_order(conn)
        reference = start_attempt(conn, number, gateway="midtrans")
        take_in(app, "midtrans", order_id=reference)
        assert isinstance(app.publisher, RecordingPublisher)
        [job] = app.publisher.jobs
        with pytest.raises(EventUnconfirmed):
            try_it(app, job)
        with pytest.raises(OrderMaybePaid):
            expire(app, number)
        age(owner, timedelta(hours=72))
        with pytest.raises(EventOverdue, match="never confirmed"):
            try_it(app, job)
        with pytest.raises(OrderMaybePaid):
            expire(app, number)
        assert (order_status(conn, number), payments(conn)) == ("pending", [])
        conn.execute("UPDATE payment_events SET reviewed_at = now()")
        expire(app, number)
        assert (order_status(conn, number), payments(conn)) == ("expired", [])
