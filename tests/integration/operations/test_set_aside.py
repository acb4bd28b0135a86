"""A payment event that can never be applied is given up for good, by a person, and that can be taken back."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import Connection
from typer.testing import CliRunner, Result

from cli.main import app as cli
from cli.oncall import OnCall
from oncall.dead_letter_requests import Discard
from oncall.job_requests import Cancel
from oncall.payment_requests import SetAsideEvent, ShowPayments, TakeUpEvent
from skincare.app import App
from skincare.deployment.metrics import Metric
from skincare.identifiers import OrderNumber
from skincare.jobs.gauges import job_gauges
from skincare.jobs.repository import lease
from skincare.jobs.retry import DeadLetter
from skincare.payments.gauges import payment_gauges
from tests.support import ledger
from tests.support.oncall import ME, InProcess, ask, audit
from tests.support.payments import (
    anomalies,
    checked,
    events,
    new_order,
    order_status,
    payments,
    run_jobs,
    take_in,
    tell,
)

Run = Callable[..., Result]
WHO: dict[str, Any] = {"claimed_identity": ME, "reason": "the gateway's other shop"}
ORDER = "SKN-4T9QX-0M7KD"


@pytest.fixture
def owner(owner_url: str) -> Iterator[Connection]:
    with psycopg.connect(owner_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def run(app: App, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(OnCall, "_functions", InProcess(app))

    def run(*arguments: object) -> Result:
        return CliRunner().invoke(cli, [*map(str, arguments), "--stage", "tests"], catch_exceptions=False)

    return run


def stray(app: App, conn: Connection, owner: Connection, *, status: str = "paid", dead: bool = True) -> UUID:
    """Take in an event of an order that never comes; its job is dead."""
    take_in(app, order_number=ORDER, status=status)
    owner.execute("UPDATE payment_events SET received_at = received_at - interval '1 hour'")
    (event_id, job_id) = conn.execute(  # type: ignore[misc]
        "SELECT e.id, j.id FROM payment_events e JOIN jobs j ON j.payload ->> 'event_id' = e.id::text"
    ).fetchone()
    if dead:
        token = ledger.new_token()
        lease.claim(conn, {job_id: None}, token=token, lease=ledger.MINUTE)
        lease.settle(conn, {job_id: DeadLetter("EventOverdue", "x")}, token=token)
    return UUID(str(event_id))


def alarms(app: App) -> dict[Metric, float]:
    """Return the gauges of money and of dead jobs that are not zero."""
    gauges = {**job_gauges(app.database), **payment_gauges(app.database)}
    return {metric: value for metric, value in gauges.items() if value and metric is not Metric.OUTBOX_LATENESS}


def job_states(conn: Connection) -> list[str]:
    return [row[0] for row in conn.execute("SELECT state FROM jobs WHERE job_type = 'process_payment' ORDER BY id")]


class TestSettingAside:
    def test_lets_no_alarm_sound_and_nothing_enqueues_it_anew(
        self, app: App, conn: Connection, owner: Connection
    ) -> None:
        event = stray(app, conn, owner)
        assert set(alarms(app)) == {Metric.UNAPPLIED_PAYMENT_EVENTS, Metric.DEAD_JOBS}
        change = ask(app, SetAsideEvent(event_id=event, even_paid=True, **WHO))
        assert change.counts == {"set_aside": 1, "jobs_cancelled": 1}
        assert alarms(app) == {}
        assert checked(app).repaired == ()
        assert job_states(conn) == ["cancelled"]
        assert audit(conn) == [("set_aside_event", WHO["reason"], change.counts)]

    def test_of_a_paid_event_must_be_said_in_full(self, app: App, conn: Connection, owner: Connection) -> None:
        event = stray(app, conn, owner)
        change = ask(app, SetAsideEvent(event_id=event, **WHO))
        assert (change.changed, change.counts) == (0, {"set_aside": 0, "needs_even_paid": 1})
        assert events(conn) == [("received", "paid")]
        assert audit(conn) == []

    def test_of_an_event_about_no_money_needs_no_more_words(
        self, app: App, conn: Connection, owner: Connection
    ) -> None:
        event = stray(app, conn, owner, status="expired")
        assert ask(app, SetAsideEvent(event_id=event, **WHO)).counts["set_aside"] == 1

    def test_twice_is_once(self, app: App, conn: Connection, owner: Connection) -> None:
        event = stray(app, conn, owner)
        ask(app, SetAsideEvent(event_id=event, even_paid=True, **WHO))
        again = ask(app, SetAsideEvent(event_id=event, even_paid=True, **WHO))
        assert (again.changed, again.counts) == (0, {"set_aside": 0, "quarantined": 1})
        assert len(audit(conn)) == 1

    def test_of_an_applied_event_is_refused(self, app: App, conn: Connection) -> None:
        take_in(app, order_number=new_order(conn))
        run_jobs(app)
        (event,) = conn.execute("SELECT id FROM payment_events").fetchone()  # type: ignore[misc]
        change = ask(app, SetAsideEvent(event_id=event, even_paid=True, **WHO))
        assert (change.changed, change.counts) == (0, {"set_aside": 0, "applied": 1})
        assert events(conn) == [("applied", "paid")]

    def test_of_one_that_nobody_knows_says_so(self, app: App) -> None:
        change = ask(app, SetAsideEvent(event_id=UUID(int=7), **WHO))
        assert change.counts == {"set_aside": 0, "unknown": 1}

    def test_of_one_whose_job_runs_wins_over_the_job(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        take_in(app, order_number=number)
        (event,) = conn.execute("SELECT id FROM payment_events").fetchone()  # type: ignore[misc]
        ask(app, SetAsideEvent(event_id=event, even_paid=True, **WHO))
        run_jobs(app)
        assert (order_status(conn, number), events(conn)) == ("pending", [("quarantined", "paid")])

    def test_is_listed(self, app: App, conn: Connection, owner: Connection) -> None:
        event = stray(app, conn, owner)
        ask(app, SetAsideEvent(event_id=event, even_paid=True, **WHO))
        found = ask(app, ShowPayments())
        assert (found.unapplied, found.quarantined, found.events) == (0, 0, ())
        assert [(each.id, each.flaw) for each in found.set_aside] == [(str(event), "set aside by a person")]

    def test_is_a_finding_where_its_order_appears_after_all(
        self, app: App, conn: Connection, owner: Connection
    ) -> None:
        event = stray(app, conn, owner)
        ask(app, SetAsideEvent(event_id=event, even_paid=True, **WHO))
        assert checked(app).findings == ()
        owner.execute("UPDATE orders SET order_number = %s WHERE order_number = %s", [ORDER, new_order(conn)])
        assert [(each.kind, each.subject) for each in checked(app).findings] == [("paid_event_set_aside", str(event))]
        ask(app, TakeUpEvent(event_id=event, **WHO))
        assert checked(app).findings == ()

    def test_is_a_finding_also_where_its_payment_was_told_before_it_had_money(self, app: App, conn: Connection) -> None:
        """The order is here, and of the transaction only a word without money was applied."""
        number = new_order(conn)
        tell(app, number, "pending", "one")
        take_in(app, order_number=number, transaction_id="one", event_id="paid")
        (event,) = conn.execute("SELECT id FROM payment_events WHERE state = 'received'").fetchone()  # type: ignore[misc]
        ask(app, SetAsideEvent(event_id=event, even_paid=True, **WHO))
        assert [(each.kind, each.subject) for each in checked(app).findings] == [("paid_event_set_aside", str(event))]

    def test_is_none_where_its_money_is_known_by_another_event(self, app: App, conn: Connection) -> None:
        """Taken up all the same it changes nothing, however often, also of an order that was refunded meanwhile."""
        number = new_order(conn)
        take_in(app, order_number=number, transaction_id="one", event_id="paid")
        (event,) = conn.execute("SELECT id FROM payment_events").fetchone()  # type: ignore[misc]
        ask(app, SetAsideEvent(event_id=event, even_paid=True, **WHO))
        tell(app, number, "paid", "one", key="again", minute=1)
        tell(app, number, "refunded", "one", minute=2)
        assert checked(app).findings == ()
        for _ in range(2):
            ask(app, TakeUpEvent(event_id=event, **WHO))
            apply_all(app, conn)
        assert (order_status(conn, number), anomalies(conn)) == ("refunded", [])
        assert payments(conn) == [("one", "refunded", 150_000, 150_000, True)]


class TestGivingItsJobUp:
    @pytest.mark.parametrize("command", [("dlq", "discard"), ("jobs", "cancel")])
    def test_sets_the_event_aside_as_well(
        self, run: Run, app: App, conn: Connection, owner: Connection, command: tuple[str, str]
    ) -> None:
        stray(app, conn, owner)
        (job,) = conn.execute("SELECT id FROM jobs WHERE job_type = 'process_payment'").fetchone()  # type: ignore[misc]
        left = run(*command, job, "--reason", "x")
        assert left.exit_code == 1
        assert job_states(conn) == ["dead_letter"]
        assert run(*command, job, "--reason", "x", "--even-paid").exit_code == 0
        assert (job_states(conn), alarms(app)) == (["cancelled"], {})
        assert checked(app).repaired == ()

    def test_leaves_the_event_alone_where_the_job_moved_on(self, app: App, conn: Connection, owner: Connection) -> None:
        stray(app, conn, owner, status="expired")
        (job,) = conn.execute("SELECT id FROM jobs WHERE job_type = 'process_payment'").fetchone()  # type: ignore[misc]
        change = ask(app, Discard(deaths=[{"job_id": job, "dead_letter_no": 2}], **WHO))  # type: ignore[list-item]
        assert change.counts == {"discarded": 0, "not_dead_any_more": 1}
        assert events(conn) == [("received", "expired")]

    def test_of_an_applied_event_is_an_ordinary_cancellation(self, app: App, conn: Connection) -> None:
        take_in(app, order_number=new_order(conn))
        (job,) = conn.execute("SELECT id FROM jobs WHERE job_type = 'process_payment'").fetchone()  # type: ignore[misc]
        run_jobs(app)
        assert ask(app, Cancel(job_ids=[job], **WHO)).counts == {"cancelled": 1, "finished_or_unknown": 0}
        assert events(conn) == [("applied", "paid")]


class TestTakingUpAgain:
    def test_applies_it_once_its_order_is_here(self, app: App, conn: Connection, owner: Connection) -> None:
        event = stray(app, conn, owner)
        ask(app, SetAsideEvent(event_id=event, even_paid=True, **WHO))
        owner.execute("UPDATE orders SET order_number = %s WHERE order_number = %s", [ORDER, new_order(conn)])
        assert ask(app, TakeUpEvent(event_id=event, **WHO)).counts == {"taken_up": 1}
        assert job_states(conn) == ["cancelled", "pending"]
        assert ask(app, ShowPayments()).set_aside == ()
        apply_all(app, conn)
        assert order_status(conn, OrderNumber(ORDER)) == "paid"

    def test_takes_up_what_its_time_was_over_for(self, app: App, conn: Connection, owner: Connection) -> None:
        event = stray(app, conn, owner)
        owner.execute("UPDATE payment_events SET state = 'quarantined', flaw = 'its gateway never confirmed it'")
        assert ask(app, TakeUpEvent(event_id=event, **WHO)).changed == 1

    def test_leaves_alone_what_was_set_aside_for_what_it_says(
        self, app: App, conn: Connection, owner: Connection
    ) -> None:
        event = stray(app, conn, owner)
        owner.execute("UPDATE payment_events SET state = 'quarantined', flaw = 'it is about another merchant'")
        assert ask(app, TakeUpEvent(event_id=event, **WHO)).counts == {"taken_up": 0, "not_set_aside": 1}

    def test_of_an_event_that_waits_changes_nothing(self, app: App, conn: Connection, owner: Connection) -> None:
        event = stray(app, conn, owner)
        assert ask(app, TakeUpEvent(event_id=event, **WHO)).changed == 0


def apply_all(app: App, conn: Connection) -> None:
    """Run the jobs that wait to apply an event."""
    from skincare.jobs.catalog import ProcessPayment
    from worker.handlers import process_payment

    waiting = "SELECT payload ->> 'event_id' FROM jobs WHERE job_type = 'process_payment' AND state = 'pending'"
    for (event_id,) in conn.execute(waiting).fetchall():
        process_payment.handle(ProcessPayment(event_id=event_id), app)


class TestTheCommands:
    def test_set_aside_and_take_up_by_the_beginning_of_an_id(
        self, run: Run, app: App, conn: Connection, owner: Connection
    ) -> None:
        event = str(stray(app, conn, owner))
        reported = run("payments", "set-aside", event[:20], "--reason", "x")
        assert reported.exit_code == 1
        assert "--even-paid" in reported.stdout
        reported = run("payments", "set-aside", event[:20], "--reason", "x", "--even-paid")
        assert (reported.exit_code, reported.stdout) == (0, "Set aside; nothing waits for it any more.\n")
        assert "Set aside by people" in run("payments", "list").stdout
        again = run("payments", "set-aside", event, "--reason", "x", "--even-paid", "--json")
        assert (again.exit_code, json.loads(again.stdout)) == (1, {"set_aside": 0, "quarantined": 1})
        assert run("payments", "take-up", event[:20], "--reason", "x").exit_code == 0
        assert events(conn) == [("received", "paid")]

    def test_age_of_a_taken_up_event_does_not_hide_it(self, app: App, conn: Connection, owner: Connection) -> None:
        event = stray(app, conn, owner)
        ask(app, SetAsideEvent(event_id=event, even_paid=True, **WHO))
        ask(app, TakeUpEvent(event_id=event, **WHO))
        owner.execute("UPDATE payment_events SET received_at = received_at - %s", [timedelta(days=1)])
        assert Metric.UNAPPLIED_PAYMENT_EVENTS in alarms(app)
