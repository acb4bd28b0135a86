"""Acknowledging dead jobs: who knows of which death, until when, and what the alarm still counts."""

import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from psycopg import Connection
from psycopg.errors import CheckViolation
from typer.testing import CliRunner, Result

from cli.main import app as cli
from cli.oncall import OnCall
from oncall.dead_letter_requests import Acknowledge, DeadLetterRef, Discard, FindDead, ListDead, Redrive, Unacknowledge
from oncall.job_requests import Cancel, ShowJob
from skincare.app import App
from skincare.deployment.metrics import Metric
from skincare.deployment.queues import QueueName
from skincare.jobs.catalog import ProcessPayment
from skincare.jobs.gauges import job_gauges, queue_gauges
from skincare.jobs.models import DueJob
from skincare.jobs.repository import operations
from tests.support import ledger
from tests.support.local_system import wait_for
from tests.support.oncall import ME, InProcess, ask, audit, dead_job, die

Run = Callable[..., Result]
DAY = timedelta(days=1)


@pytest.fixture
def run(app: App, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(OnCall, "_functions", InProcess(app))

    def run(*arguments: object) -> Result:
        return CliRunner().invoke(cli, [*map(str, arguments), "--stage", "tests"], catch_exceptions=False)

    return run


def deaths(*jobs: DueJob, number: int = 1) -> list[DeadLetterRef]:
    return [DeadLetterRef(job_id=job.job_id, dead_letter_no=number) for job in jobs]


def acknowledge(app: App, *found: DeadLetterRef, lasts: timedelta = DAY, reason: str = "the provider knows") -> Any:
    return ask(
        app,
        Acknowledge(claimed_identity=ME, deaths=list(found), lasts_s=int(lasts.total_seconds()), reason=reason),
    )


def counted(app: App, queue: QueueName = QueueName.NOTIFICATIONS) -> tuple[float, float]:
    """Return what the alarm of a queue counts, and what it leaves out."""
    found = queue_gauges(app.database)[queue]
    return found[Metric.UNACKNOWLEDGED_DEAD_JOBS], found[Metric.ACKNOWLEDGED_DEAD_JOBS]


def let_pass(owner_url: str, span: timedelta) -> None:
    """Move what was acknowledged into the past."""
    with psycopg.connect(owner_url) as owner:
        owner.execute(
            "UPDATE dead_letter_acknowledgements SET acknowledged_at = acknowledged_at - %(span)s,"
            " expires_at = expires_at - %(span)s",
            {"span": span},
        )


def blocked(looking: Connection) -> bool:
    """Return whether a session of this database waits for a lock."""
    row = looking.execute(
        "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    ).fetchone()
    return row is not None


class TestAnAcknowledgedJob:
    def test_stays_dead_and_the_alarm_leaves_it_out(self, app: App, conn: Connection) -> None:
        job = dead_job(conn)
        dead_job(conn)
        assert acknowledge(app, *deaths(job)).counts == {"acknowledged": 1, "not_dead_any_more": 0}
        assert ledger.row(conn, job.job_id)["state"] == "dead_letter"
        assert counted(app) == (1, 1)
        assert job_gauges(app.database)[Metric.DEAD_JOBS] == 2
        assert audit(conn) == [("acknowledge", "the provider knows", {"acknowledged": 1, "not_dead_any_more": 0})]

    def test_is_shown_with_who_since_when_why_and_until_when(self, app: App, conn: Connection) -> None:
        job = dead_job(conn)
        acknowledge(app, *deaths(job))
        (found,) = ask(app, FindDead()).jobs
        reported = found.acknowledgement
        assert (reported.by, reported.reason, reported.until - reported.at) == (ME, "the provider knows", DAY)
        assert ask(app, ShowJob(job_id=job.job_id)).acknowledgement == reported
        listed = ask(app, ListDead())
        assert [group.acknowledged for group in listed.groups] == [1]
        (group,) = listed.acknowledged
        assert (group.count, group.by, group.reason, group.since, group.until) == (
            1,
            ME,
            "the provider knows",
            reported.at,
            reported.until,
        )

    def test_counts_again_when_its_time_is_over(self, app: App, conn: Connection, owner_url: str) -> None:
        job = dead_job(conn)
        acknowledge(app, *deaths(job))
        let_pass(owner_url, DAY)
        assert counted(app) == (1, 0)
        assert ask(app, FindDead()).jobs[0].acknowledgement is None
        listed = ask(app, ListDead())
        assert ([group.acknowledged for group in listed.groups], listed.acknowledged) == ([0], ())
        acknowledge(app, *deaths(job))
        assert counted(app) == (0, 1)

    def test_counts_again_when_that_is_taken_back(self, app: App, conn: Connection) -> None:
        job, other = dead_job(conn), dead_job(conn)
        acknowledge(app, *deaths(job))
        change = ask(app, Unacknowledge(claimed_identity=ME, deaths=deaths(job, other)))
        assert change.counts == {"unacknowledged": 1, "not_acknowledged": 1}
        assert counted(app) == (2, 0)
        assert [entry[0] for entry in audit(conn)] == ["acknowledge", "unacknowledge"]

    def test_counts_again_when_it_was_redriven_and_died_again(self, app: App, conn: Connection) -> None:
        job = dead_job(conn)
        acknowledge(app, *deaths(job))
        ask(app, Redrive(claimed_identity=ME, deaths=deaths(job)))
        assert counted(app) == (0, 0)
        die(conn, job)
        assert counted(app) == (1, 0)
        assert ask(app, FindDead()).jobs[0].acknowledgement is None

    def test_counts_again_when_it_was_given_up_revived_and_died_again(self, app: App, conn: Connection) -> None:
        job = dead_job(conn)
        acknowledge(app, *deaths(job))
        ask(app, Discard(claimed_identity=ME, deaths=deaths(job), reason="x"))
        assert counted(app) == (0, 0)
        assert ask(app, ListDead()).acknowledged == ()
        assert ask(app, ShowJob(job_id=job.job_id)).acknowledgement is None
        operations.revive(conn, [job.job_id])
        assert counted(app) == (0, 0)
        die(conn, job)
        assert counted(app) == (1, 0)

    def test_is_counted_in_its_own_queue(self, app: App, conn: Connection) -> None:
        payment = dead_job(conn, ProcessPayment(event_id=str(uuid4())))
        dead_job(conn)
        acknowledge(app, *deaths(payment))
        assert [counted(app, queue) for queue in QueueName] == [
            {QueueName.NOTIFICATIONS: (1, 0), QueueName.PAYMENTS: (0, 1)}.get(queue, (0, 0)) for queue in QueueName
        ]


class TestAcknowledging:
    def test_needs_a_job_that_is_still_in_the_death_that_was_looked_at(self, app: App, conn: Connection) -> None:
        again, back, gone = dead_job(conn), dead_job(conn), dead_job(conn)
        live = ledger.enqueue(conn)
        ask(app, Redrive(claimed_identity=ME, deaths=deaths(again, back)))
        die(conn, again)
        ask(app, Cancel(claimed_identity=ME, job_ids=[gone.job_id], reason="x"))
        before = len(audit(conn))
        nobody = DeadLetterRef(job_id=uuid4(), dead_letter_no=1)
        change = acknowledge(app, *deaths(again, back, gone, live), nobody)
        assert change.counts == {"acknowledged": 0, "not_dead_any_more": 5}
        assert counted(app) == (1, 0)
        assert len(audit(conn)) == before

    def test_again_replaces_what_was_said(self, app: App, conn: Connection) -> None:
        job = dead_job(conn)
        acknowledge(app, *deaths(job), lasts=30 * DAY)
        acknowledge(app, *deaths(job), lasts=DAY, reason="sooner")
        reported = ask(app, FindDead()).jobs[0].acknowledgement
        assert (reported.reason, reported.until - reported.at) == ("sooner", DAY)
        assert counted(app) == (0, 1)

    def test_by_two_engineers_at_once_is_done_by_both_and_stands_once(self, app: App, conn: Connection) -> None:
        jobs = [dead_job(conn) for _ in range(20)]
        found, start = deaths(*jobs), threading.Barrier(2)
        counts: list[dict[str, int]] = []

        def one(order: list[DeadLetterRef], who: str) -> None:
            start.wait(timeout=30)
            counts.append(acknowledge(app, *order, reason=who).counts)

        threads = [threading.Thread(target=one, args=(order, who)) for order, who in ((found, "a"), (found[::-1], "b"))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=60)
        assert counts == [{"acknowledged": 20, "not_dead_any_more": 0}] * 2
        assert counted(app) == (0, 20)
        assert len({job.acknowledgement.reason for job in ask(app, FindDead()).jobs}) == 1

    @pytest.mark.parametrize("change", [Acknowledge, Unacknowledge])
    def test_takes_the_rows_of_jobs_in_their_order_whatever_was_typed(
        self, app: App, conn: Connection, owner_url: str, change: type[Acknowledge | Unacknowledge]
    ) -> None:
        """Or two engineers, one from the top and one from the bottom of the list, would wait for each other."""
        first, second = sorted((dead_job(conn), dead_job(conn)), key=lambda job: job.job_id)
        acknowledge(app, *deaths(first, second))
        lock = "SELECT FROM dead_letter_acknowledgements WHERE job_id = %s FOR UPDATE"
        more: dict[str, Any] = {"lasts_s": 60, "reason": "x"} if change is Acknowledge else {}
        with psycopg.connect(owner_url) as holding, psycopg.connect(owner_url, autocommit=True) as looking:
            holding.execute(lock, [first.job_id])
            request = change(claimed_identity=ME, deaths=deaths(second, first), **more)
            waiting = threading.Thread(target=ask, args=(app, request))
            waiting.start()
            wait_for(lambda: blocked(looking), "the change to wait for the first row")
            looking.execute(f"{lock} NOWAIT".encode(), [second.job_id])
            holding.rollback()
            waiting.join(timeout=60)

    def test_of_a_death_while_it_is_redriven_says_nothing_of_the_next(
        self, app: App, conn: Connection, database_url: str
    ) -> None:
        job = dead_job(conn)
        with psycopg.connect(database_url) as redriving:
            redriving.execute("UPDATE jobs SET state = 'pending', publish_at = now() WHERE id = %s", [job.job_id])
            # Not committed: to us the job is dead as it was.
            assert acknowledge(app, *deaths(job)).changed == 1
        die(conn, job)
        assert counted(app) == (1, 0)

    @pytest.mark.parametrize("lasts_s", [0, -1, 59, 90 * 86_400 + 1])
    def test_for_no_time_or_for_good_is_refused(self, lasts_s: int) -> None:
        with pytest.raises(ValueError, match="lasts_s"):
            Acknowledge(
                claimed_identity=ME,
                deaths=[DeadLetterRef(job_id=uuid4(), dead_letter_no=1)],
                lasts_s=lasts_s,
                reason="x",
            )

    @pytest.mark.parametrize("until", ["now() + interval '91 days'", "'infinity'", "now()"])
    def test_the_table_holds_none_that_lasts_for_good(self, conn: Connection, until: str) -> None:
        job = dead_job(conn)
        with pytest.raises(CheckViolation):
            conn.execute(
                "INSERT INTO dead_letter_acknowledgements (job_id, dead_letter_no, claimed_identity, reason,"
                f" expires_at) VALUES (%s, 1, 'x', 'x', {until})".encode(),
                [job.job_id],
            )


class TestTyped:
    def test_by_conditions_reach_any_number(self, run: Run, app: App, conn: Connection) -> None:
        for _ in range(102):
            dead_job(conn)
        dead_job(conn, ledger.Sample())
        words = ["--type", "send_confirmation_email", "--for", "2d", "--reason", "known"]
        dry = run("dlq", "acknowledge", *words, "--dry-run")
        assert (dry.exit_code, dry.stdout.splitlines()[-1]) == (0, "102 dead jobs match.")
        assert counted(app) == (103, 0)
        done = run("dlq", "acknowledge", *words)
        assert (done.exit_code, done.stdout) == (0, "102 of 102 acknowledged.\n")
        assert counted(app) == (1, 102)
        back = run("dlq", "unacknowledge", "--all", "--json")
        assert back.exit_code == 0
        assert json.loads(back.stdout) == {"unacknowledged": 102, "not_acknowledged": 0, "not_dead": 0}
        assert counted(app) == (103, 0)
        assert run("dlq", "unacknowledge", "--all").exit_code == 1

    def test_is_read_on_the_list_and_with_the_job(self, run: Run, conn: Connection) -> None:
        job = dead_job(conn)
        run("dlq", "acknowledge", job.job_id, "--reason", "waits for release 1.3")
        listed = run("dlq", "list")
        assert listed.exit_code == 0
        assert "Acknowledged: the alarm leaves them out until then" in listed.stdout
        assert "assumed-role/oncall/ani  waits for release 1.3" in listed.stdout
        shown = run("dlq", "show", job.job_id).stdout
        assert f"by {ME} until " in shown
        (known,) = json.loads(run("dlq", "list", "--json").stdout)["acknowledged"]
        week = datetime.fromisoformat(known["until"]) - datetime.now(UTC)
        assert timedelta(days=6, hours=23) < week <= timedelta(days=7)
        assert run("dlq", "unacknowledge", job.job_id, "--reason", "it is urgent").exit_code == 0
        assert "Acknowledged" not in run("dlq", "list").stdout

    def test_of_one_that_is_not_dead_is_told(self, run: Run, conn: Connection) -> None:
        result = run("dlq", "acknowledge", ledger.enqueue(conn).job_id, "--reason", "x")
        assert (result.exit_code, result.stdout) == (1, "0 of 1 acknowledged.\n  1 are not dead, or unknown.\n")
        result = run("dlq", "unacknowledge", dead_job(conn).job_id)
        assert (result.exit_code, result.stdout) == (1, "0 of 1 unacknowledged.\n  1 are not acknowledged.\n")

    @pytest.mark.parametrize("span", ["", "2", "d", "-1d", "1.5d", "0d", "91d", "1s", "1 week", "999999d", "٢d"])
    def test_a_span_that_is_none_is_refused(self, run: Run, span: str) -> None:
        result = run("dlq", "acknowledge", "--all", "--reason", "x", "--for", span)
        assert result.exit_code == 2
        assert "'--for'" in result.stderr
        assert "must be" in result.stderr

    @pytest.mark.parametrize("span", ["1min", "12h", "90d", " 2 D "])
    def test_a_span_is_taken_as_people_write_it(self, run: Run, app: App, conn: Connection, span: str) -> None:
        dead_job(conn)
        assert run("dlq", "acknowledge", "--all", "--reason", "x", "--for", span).exit_code == 0
        assert counted(app) == (0, 1)

    def test_needs_a_reason(self, run: Run) -> None:
        assert run("dlq", "acknowledge", "--all").exit_code == 2


class AnyOrder(RuleBasedStateMachine):
    """Two jobs in any order of deaths, redrives, discards, revivals, acknowledgements and time."""

    app: App
    conn: Connection
    owner_url: str

    @initialize()
    def begin(self) -> None:
        self.conn.execute("UPDATE jobs SET state = 'cancelled', publish_at = NULL WHERE state <> 'cancelled'")
        self.jobs = [dead_job(self.conn), dead_job(self.conn)]
        self.number = [1, 1]
        self.state = ["dead", "dead"]
        self.known: dict[tuple[int, int], timedelta] = {}

    def is_known(self, at: int) -> bool:
        return self.state[at] == "dead" and (at, self.number[at]) in self.known

    which = st.integers(0, 1)

    @rule(at=which, data=st.data())
    def go_on(self, at: int, data: st.DataObject) -> None:
        """A dead job comes back or is given up, a live one dies or is given up, one that was given up comes back."""
        match self.state[at]:
            case "dead" if data.draw(st.booleans(), label="redriven"):
                found = deaths(self.jobs[at], number=self.number[at])
                assert ask(self.app, Redrive(claimed_identity=ME, deaths=found)).changed
                self.state[at] = "live"
            case "live" if data.draw(st.booleans(), label="dies"):
                die(self.conn, self.jobs[at])
                self.state[at], self.number[at] = "dead", self.number[at] + 1
            case "gone":
                operations.revive(self.conn, [self.jobs[at].job_id])
                self.state[at] = "live"
            case _:
                operations.cancel(self.conn, [self.jobs[at].job_id])
                self.state[at] = "gone"

    @precondition(lambda self: "dead" in self.state)
    @rule(at=which)
    def die_again(self, at: int) -> None:
        """What somebody acknowledged comes back and dies once more: that is another dead letter."""
        if self.state[at] == "dead":
            ask(self.app, Redrive(claimed_identity=ME, deaths=deaths(self.jobs[at], number=self.number[at])))
            die(self.conn, self.jobs[at])
            self.number[at] += 1

    @rule(at=which, days=st.integers(1, 2))
    def acknowledge(self, at: int, days: int) -> None:
        number = self.number[at]
        change = acknowledge(self.app, *deaths(self.jobs[at], number=number), lasts=days * DAY)
        assert change.changed == (self.state[at] == "dead")
        if self.state[at] == "dead":
            self.known[at, number] = days * DAY

    @precondition(lambda self: max(self.number) > 1)
    @rule(at=which)
    def acknowledge_a_former_death(self, at: int) -> None:
        if self.number[at] > 1:
            assert acknowledge(self.app, *deaths(self.jobs[at], number=self.number[at] - 1)).changed == 0

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def take_back(self, data: st.DataObject) -> None:
        at, number = data.draw(st.sampled_from(sorted(self.known)))
        change = ask(self.app, Unacknowledge(claimed_identity=ME, deaths=deaths(self.jobs[at], number=number)))
        assert change.changed == 1
        again = ask(self.app, Unacknowledge(claimed_identity=ME, deaths=deaths(self.jobs[at], number=number)))
        assert again.changed == 0
        del self.known[at, number]

    @precondition(lambda self: self.known)
    @rule()
    def a_day_goes_by(self) -> None:
        let_pass(self.owner_url, DAY)
        over = [death for death, left in self.known.items() if left <= DAY]
        self.known = {death: left - DAY for death, left in self.known.items() if left > DAY}
        for at, number in over:
            change = ask(self.app, Unacknowledge(claimed_identity=ME, deaths=deaths(self.jobs[at], number=number)))
            assert change.changed == 0

    @invariant()
    def the_alarm_counts_the_dead_that_nobody_knows_of(self) -> None:
        dead = [at for at in (0, 1) if self.state[at] == "dead"]
        known = [at for at in dead if (at, self.number[at]) in self.known]
        assert counted(self.app) == (len(dead) - len(known), len(known))
        listed = ask(self.app, ListDead())
        assert sum(group.acknowledged for group in listed.groups) == len(known)
        assert sum(group.count for group in listed.acknowledged) == len(known)
        reported = {UUID(job.id) for job in ask(self.app, FindDead(acknowledged=True)).jobs}
        assert reported == {self.jobs[at].job_id for at in known}
        rest = {UUID(job.id) for job in ask(self.app, FindDead(acknowledged=False)).jobs}
        assert rest == {self.jobs[at].job_id for at in dead if at not in known}


def test_in_any_order_only_deaths_that_somebody_knows_of_are_left_out(
    app: App, conn: Connection, owner_url: str
) -> None:
    class Here(AnyOrder):
        pass

    Here.app, Here.conn, Here.owner_url = app, conn, owner_url
    # Unshrunk: each step is a transaction, and twenty steps can be read.
    wanted = settings(max_examples=15, stateful_step_count=20, deadline=None, phases=[Phase.generate])
    run_state_machine_as_test(Here, settings=wanted)
