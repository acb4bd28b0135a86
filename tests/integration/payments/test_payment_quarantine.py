"""An event that cannot be applied waits, then it is set aside for a person, and it is never dropped silently."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg import Connection

from oncall.payment_requests import ReviewEvent, ShowPayments, TakeUpEvent
from skincare.app import App
from skincare.identifiers import uuid7
from skincare.jobs.catalog import BUDGETS, ProcessPayment
from skincare.jobs.models import DueJob
from skincare.jobs.relay import run_relay
from skincare.jobs.repository import dead_letter
from skincare.jobs.retry import DeadLetter, backoff_delay, decide
from skincare.payments.errors import EventOverdue, EventUnconfirmed, OrderMaybePaid
from tests.fakes.gateway_client import FakeGatewayClient
from tests.support import ledger
from tests.support.http import RecordingPublisher
from tests.support.jobs import run_due, states_of
from tests.support.log import recorded_log
from tests.support.oncall import ME, ask
from tests.support.payments import (
    anomalies,
    checked,
    events,
    gateway_of,
    new_order,
    order_status,
    payments,
    run_jobs,
    take_in,
)
from tests.support.timers import expire, start_attempt
from tests.support.webhooks import ORDER, SECRETS
from tests.support.worker_bench import Bench, plenty
from worker.handlers import process_payment

WHO: dict[str, Any] = {"claimed_identity": ME, "reason": "another shop's"}


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
    def test_waits_and_is_applied_by_the_reconciliation_that_finds_its_order(
        self, app: App, conn: Connection, owner: Connection, job: DueJob
    ) -> None:
        with recorded_log() as log:
            try_it(app, job)
        assert [line["message"] for line in log.lines] == ["payment.event_without_order"]
        assert run_due(app, conn, of_type=ProcessPayment.job_type) == 1
        age(owner, timedelta(hours=70))
        assert (checked(app).repaired, events(conn)) == ((), [("received", "paid")])
        number = new_order(conn)
        owner.execute("UPDATE orders SET order_number = %s WHERE order_number = %s", [ORDER, number])
        assert [each.order_number for each in checked(app).repaired] == [ORDER]
        assert run_due(app, conn, of_type=ProcessPayment.job_type) == 1
        assert (order_status(conn, ORDER), events(conn)) == ("paid", [("applied", "paid")])  # type: ignore[arg-type]

    def test_is_looked_at_once_by_a_worker_however_many_come_and_however_long_they_wait(
        self, app: App, conn: Connection, owner: Connection
    ) -> None:
        """A flood of signed notifications about another shop's orders leaves the workers to our own."""
        for number in range(30):
            order_number = f"SKN-00000-000{number:02}"
            take_in(app, "standard_webhooks", event_id=f"flood-{number}", order_number=order_number)
            take_in(app, "midtrans", order_id=f"{order_number}.1", transaction_id=f"flood-{number}")
        assert run_due(app, conn, of_type=ProcessPayment.job_type) == 60
        for _ in range(24):
            ledger.let_pass(conn, timedelta(hours=3))
            age(owner, timedelta(hours=3))
            checked(app)
            assert run_due(app, conn, of_type=ProcessPayment.job_type) == 0
        assert conn.execute(
            "SELECT DISTINCT state, attempts FROM jobs WHERE job_type = 'process_payment'"
        ).fetchall() == [("completed", 1)]
        assert {state for state, _ in events(conn)} == {"quarantined"}

    def test_of_a_gateway_that_must_confirm_it_asks_nobody(self, app: App, conn: Connection) -> None:
        take_in(app, "midtrans", order_id=f"{ORDER}.1")
        run_jobs(app)
        assert (gateway_of(app, "midtrans").asked, events(conn)) == ([], [("received", "paid")])

    def test_is_set_aside_after_the_window_and_says_so(
        self, app: App, conn: Connection, owner: Connection, job: DueJob
    ) -> None:
        try_it(app, job)
        age(owner, timedelta(hours=72))
        with recorded_log() as log:
            checked(app)
        assert [line["message"] for line in log.lines].count("payment.event_quarantined") == 1
        assert conn.execute("SELECT state, flaw FROM payment_events").fetchall() == [
            ("quarantined", "no order of this number came")
        ]
        assert payments(conn) == []

    def test_is_not_set_aside_while_its_order_is_here(self, app: App, conn: Connection, owner: Connection) -> None:
        take_in(app, order_number=new_order(conn))
        age(owner, timedelta(hours=72))
        checked(app)
        assert events(conn) == [("received", "paid")]


# What no gateway can have from us, though some looks like it; "{0}" is an order that is here.
NOT_OURS = [
    "1",
    "INV-2026-00017",
    "SKN-00000-0000",
    "SKN-00000-000000",
    "SKN-0000O-00000",
    "{0}.0",
    "{0}.01",
    "{0}.1.1",
    "{0}.9999999999",
    "{0}-1",
    " {0}",
    "{0}\u200b",
    "\u202e{0}",
    "SKN\u201100000\u201100000",
    "SKN-\u0660\u0660\u0660\u0660\u0660-00000",
    "skn-00000-00000",
]
MEMBER = {
    "standard_webhooks": "order_number",
    "midtrans": "order_id",
    "xendit": "external_id",
    "doku": "invoice_number",
}


def told_of(app: App, gateway: str, reference: str) -> None:
    changes: dict[str, Any] = {MEMBER[gateway]: reference}
    if gateway == "doku":
        changes = {"order": changes | {"amount": 150_000}}
    take_in(app, gateway, **changes)


class TestAnEventOfANumberThatWeNeverWrite:
    @pytest.mark.parametrize("gateway", list(SECRETS))
    @pytest.mark.parametrize("reference", NOT_OURS)
    def test_is_set_aside_at_once_with_its_reason(
        self, app: App, conn: Connection, gateway: str, reference: str
    ) -> None:
        """Nobody waits for an order that cannot come."""
        with recorded_log() as log:
            told_of(app, gateway, reference.format(new_order(conn)))
        assert conn.execute("SELECT state, flaw FROM payment_events").fetchone() in (
            ("quarantined", "its order number is not of our form"),
            # Characters that act and are not seen are a flaw of their own.
            *(
                ("quarantined", f"{name} is not 1 to 64 printable characters")
                for name in (*MEMBER.values(), "invoice_number")
            ),
        )
        assert states_of(conn, ProcessPayment.job_type) == []
        assert [line["message"] for line in log.lines] == ["payment.event_quarantined"]

    def test_is_settled_by_whoever_has_looked_and_not_taken_up(self, app: App, conn: Connection) -> None:
        told_of(app, "standard_webhooks", "INV-1")
        (event,) = conn.execute("SELECT id FROM payment_events").fetchone()  # type: ignore[misc]
        assert ask(app, TakeUpEvent(event_id=event, **WHO)).counts == {"taken_up": 0, "not_set_aside": 1}
        [listed] = ask(app, ShowPayments()).events
        assert listed.flaw == "its order number is not of our form"
        assert ask(app, ReviewEvent(event_id=event, **WHO)).counts == {"reviewed": 1, "not_waiting": 0}

    def test_that_an_earlier_release_took_in_is_set_aside_by_its_job(
        self, app: App, conn: Connection, owner: Connection, job: DueJob
    ) -> None:
        owner.execute("ALTER TABLE payment_events DISABLE TRIGGER USER")
        owner.execute("UPDATE payment_events SET order_number = 'INV-1'")
        owner.execute("ALTER TABLE payment_events ENABLE TRIGGER USER")
        try_it(app, job)
        assert conn.execute("SELECT state, flaw FROM payment_events").fetchall() == [
            ("quarantined", "its order number is not of our form")
        ]

    @pytest.mark.parametrize("status", ["authorize", "zzz"])
    def test_in_a_word_that_we_do_not_know_sets_nothing_off(self, app: App, conn: Connection, status: str) -> None:
        take_in(app, order_number="INV-1", status=status)
        assert events(conn) == [("ignored", None)]

    @pytest.mark.parametrize("currency", ["USD", "idr", "XXX"])
    def test_is_not_one_in_another_currency_for_that_is_an_anomaly(
        self, app: App, conn: Connection, currency: str
    ) -> None:
        take_in(app, order_number=new_order(conn), currency=currency)
        run_jobs(app)
        assert (events(conn), [kind for kind, *_ in anomalies(conn)]) == ([("applied", "paid")], ["wrong_currency"])


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
        ledger.let_pass(conn, timedelta(minutes=2))
        relay(bench)
        bodies = [message.body for message in bench.source.all() if '"process_payment"' in message.body]
        assert len(bodies) == 1
        run_jobs(app)
        assert order_status(conn, number) == "paid"
        bench.close()


class TestAnEventThatItsGatewayNeverConfirms:
    def test_is_set_aside_by_a_try_that_comes_before_the_budget_ends(self) -> None:
        longest = backoff_delay(99, jitter=lambda: 1.0)
        assert longest < timedelta(minutes=15)

    def test_ends_in_a_dead_letter_that_names_it(self) -> None:
        event_id = uuid7()
        overdue = EventOverdue(event_id, "x")
        outcome = decide(overdue, attempts=9, age=timedelta(0), budget=ProcessPayment.budget)
        assert isinstance(outcome, DeadLetter)
        assert str(event_id) in outcome.error_message

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
