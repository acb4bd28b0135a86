"""Pauses: what a person holds back waits without loss, burns no attempt and keeps its budget."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import combinations

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import Connection

from skincare.deployment.metrics import Metric
from skincare.deployment.providers import Provider
from skincare.identifiers import JobId, new_job_id
from skincare.jobs.catalog import PAYLOADS, TYPES_OF
from skincare.jobs.gauges import job_gauges
from skincare.jobs.models import DueJob, PauseTarget, Verdict
from skincare.jobs.ports import OutgoingMessage
from skincare.jobs.repository import dead_letter, lease, operations, outbox, pauses, timers
from skincare.jobs.retry import Completed, DeadLetter, Outcome, Retry
from skincare.jobs.worker.unprocessable import GIVE_UP_AT_RECEIVE
from tests.support import ledger
from tests.support.worker_bench import Bench, plenty

TARGETS = (("all", ""), ("queue", "notifications"), ("type", "sample"), ("provider", "ses"))
HOUR = timedelta(hours=1)


@pytest.fixture
def bench(database_url: str) -> Iterator[Bench]:
    bench = Bench(database_url)
    yield bench
    bench.close()


@pytest.fixture
def other(database_url: str) -> Iterator[Connection]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def sample(conn: Connection) -> DueJob:
    return ledger.enqueue(conn, ledger.Sample())


def retry_in(delay: timedelta) -> Retry:
    return Retry(delay, "TransientError", "busy")


def due(conn: Connection) -> set[object]:
    return {job.job_id for job in outbox.take_due(conn, limit=100)}


class TestClaim:
    @pytest.mark.parametrize(("scope", "name"), TARGETS)
    def test_answers_paused_and_leaves_the_job_due_and_as_it_was(self, conn: Connection, scope: str, name: str) -> None:
        job = sample(conn)
        outbox.mark_published(conn, [job])
        before = ledger.row(conn, job.job_id)
        ledger.pause(conn, scope, name)
        assert ledger.claim_one(conn, job.job_id).verdict is Verdict.PAUSED
        after = ledger.row(conn, job.job_id)
        assert after["publish_at"] <= after["now"]
        changed = {name for name in before if before[name] != after[name]} - {"now"}
        assert changed == {"publish_at", "sends"}

    def test_sees_a_pause_from_its_commit_on(self, conn: Connection, other: Connection) -> None:
        first, second = sample(conn), sample(conn)
        with other.transaction():
            ledger.pause(other, "all")
            assert ledger.claim_one(conn, first.job_id).verdict is Verdict.RUN
        assert ledger.claim_one(conn, second.job_id).verdict is Verdict.PAUSED

    def test_leaves_everything_else_to_run_in_the_same_batch(self, conn: Connection) -> None:
        jobs = [sample(conn), ledger.enqueue(conn, ledger.Other()), sample(conn)]
        ledger.pause(conn, "type", "sample")
        wanted = {job.job_id: None for job in jobs}
        verdicts = {
            claim.job_id: claim.verdict
            for claim in lease.claim(conn, wanted, token=ledger.new_token(), lease=ledger.MINUTE)
        }
        assert [verdicts[job.job_id] for job in jobs] == [Verdict.PAUSED, Verdict.RUN, Verdict.PAUSED]

    def test_a_late_mark_does_not_postpone_what_is_held(self, conn: Connection) -> None:
        job = sample(conn)
        ledger.let_pass(conn, 3 * ledger.MINUTE)
        (taken,) = outbox.take_due(conn, limit=1)
        ledger.pause(conn, "all")
        ledger.claim_one(conn, job.job_id)
        assert outbox.mark_published(conn, [taken]) == 0
        ledger.resume(conn, "all")
        assert due(conn) == {job.job_id}

    def test_a_running_job_ends_as_it_would(self, conn: Connection) -> None:
        done, failed = sample(conn), sample(conn)
        token = ledger.new_token()
        lease.claim(conn, {done.job_id: None, failed.job_id: None}, token=token, lease=ledger.MINUTE)
        ledger.pause(conn, "all")
        assert ledger.claim_one(conn, done.job_id).verdict is Verdict.BUSY
        outcomes: dict[JobId, Outcome | None] = {
            done.job_id: Completed(),
            failed.job_id: retry_in(timedelta(seconds=4)),
        }
        assert lease.settle(conn, outcomes, token=token) == {done.job_id, failed.job_id}
        assert ledger.claim_one(conn, done.job_id).verdict is Verdict.DONE
        ledger.let_pass(conn, timedelta(seconds=5))
        assert ledger.claim_one(conn, failed.job_id).verdict is Verdict.PAUSED
        assert ledger.row(conn, failed.job_id)["attempts"] == 1

    def test_a_backoff_goes_on_and_then_the_job_is_held(self, conn: Connection) -> None:
        job = sample(conn)
        token = ledger.new_token()
        ledger.claim_one(conn, job.job_id, token=token)
        lease.settle(conn, {job.job_id: retry_in(ledger.MINUTE)}, token=token)
        ledger.pause(conn, "all")
        assert ledger.claim_one(conn, job.job_id).verdict is Verdict.EARLY
        ledger.let_pass(conn, 2 * ledger.MINUTE)
        assert ledger.claim_one(conn, job.job_id).verdict is Verdict.PAUSED

    def test_a_crash_is_counted_when_the_pause_is_over(self, conn: Connection) -> None:
        job = sample(conn)
        ledger.claim_one(conn, job.job_id)
        ledger.pause(conn, "all")
        ledger.let_pass(conn, 2 * ledger.MINUTE)
        assert ledger.claim_one(conn, job.job_id, alone=True).verdict is Verdict.PAUSED
        assert ledger.row(conn, job.job_id)["crashes"] == 0
        ledger.resume(conn, "all")
        assert ledger.claim_one(conn, job.job_id, alone=True).verdict is Verdict.RUN
        assert ledger.row(conn, job.job_id)["crashes"] == 1

    def test_a_dead_job_sent_back_in_the_console_comes_back_and_waits(self, conn: Connection) -> None:
        job = sample(conn)
        token = ledger.new_token()
        ledger.claim_one(conn, job.job_id, token=token)
        lease.settle(conn, {job.job_id: DeadLetter("NoSuchOrder", "gone")}, token=token)
        ledger.pause(conn, "all")
        assert ledger.claim_one(conn, job.job_id, dead_letter_no=1).verdict is Verdict.PAUSED
        assert ledger.row(conn, job.job_id)["state"] == "pending"
        assert due(conn) == set()
        ledger.resume(conn, "all")
        assert due(conn) == {job.job_id}

    def test_a_finished_or_cancelled_job_is_done_whatever_is_paused(self, conn: Connection) -> None:
        job = sample(conn)
        operations.cancel(conn, [job.job_id])
        ledger.pause(conn, "all")
        assert ledger.claim_one(conn, job.job_id).verdict is Verdict.DONE


class TestPublishing:
    @pytest.mark.parametrize(("scope", "name"), TARGETS)
    def test_the_relay_sends_nothing_that_is_held_and_all_of_it_afterwards(
        self, conn: Connection, scope: str, name: str
    ) -> None:
        held, free = sample(conn), ledger.enqueue(conn, ledger.Other())
        ledger.let_pass(conn, 3 * ledger.MINUTE)
        ledger.pause(conn, scope, name)
        assert due(conn) == (set() if scope == "all" else {free.job_id})
        ledger.resume(conn, scope, name)
        ledger.let_pass(conn, 2 * ledger.MINUTE)
        assert due(conn) == {held.job_id, free.job_id}

    def test_dead_letters_go_out_all_the_same(self, conn: Connection) -> None:
        job = sample(conn)
        token = ledger.new_token()
        ledger.claim_one(conn, job.job_id, token=token)
        lease.settle(conn, {job.job_id: DeadLetter("NoSuchOrder", "gone")}, token=token)
        ledger.pause(conn, "all")
        (letter,) = outbox.take_due(conn, limit=10)
        assert letter.dead_letter is not None

    @pytest.mark.parametrize("change", ["redrive", "revive", "retry_now"])
    def test_what_a_person_makes_due_waits_as_well(self, conn: Connection, change: str) -> None:
        job = sample(conn)
        if change == "redrive":
            token = ledger.new_token()
            ledger.claim_one(conn, job.job_id, token=token)
            lease.settle(conn, {job.job_id: DeadLetter("NoSuchOrder", "gone")}, token=token)
        elif change == "revive":
            operations.cancel(conn, [job.job_id])
        ledger.pause(conn, "all")
        if change == "redrive":
            assert job.job_id in dead_letter.redrive(conn, [job.job_id])
        else:
            act = operations.revive if change == "revive" else operations.retry_now
            assert act(conn, [job.job_id]) == {job.job_id}
        assert outbox.take_these(conn, [job.job_id]) == []
        assert due(conn) == set()
        ledger.resume(conn, "all")
        assert due(conn) == {job.job_id}

    def test_a_timer_that_goes_off_waits_and_can_be_called_off(self, conn: Connection) -> None:
        now = ledger.row(conn, sample(conn).job_id)["now"]
        one, two = (
            timers.insert(conn, new_job_id(), ledger.Sample(), unique_key=key, run_at=now + HOUR)
            for key in ("one", "two")
        )
        assert one is not None
        assert two is not None
        ledger.pause(conn, "type", "sample")
        ledger.let_pass(conn, 2 * HOUR)
        assert due(conn) == set()
        assert timers.cancel(conn, "one")
        ledger.resume(conn, "type", "sample")
        assert one.job_id not in (found := due(conn))
        assert two.job_id in found

    def test_a_type_that_this_release_does_not_know_is_held_and_not_given_up(self, bench: Bench) -> None:
        with bench.database.connection() as conn:
            job = ledger.enqueue(conn, ledger.Other())
            ledger.pause(conn, "type", "other")
        bench.publisher.publish([job])
        for _ in range(GIVE_UP_AT_RECEIVE):
            bench.worker.answer(bench.source.receive(limit=10, wait=timedelta(0)), time_left=plenty)
            bench.time += 400
        with bench.database.connection() as conn:
            assert ledger.row(conn, job.job_id)["state"] == "queued"
            assert due(conn) == set()
            ledger.resume(conn, "type", "other")
            assert due(conn) == {job.job_id}

    def test_a_held_job_outlives_its_message_and_its_queue(self, bench: Bench) -> None:
        """Its message is acked: a pause of weeks loses nothing to the retention of SQS."""
        with bench.database.connection() as conn:
            job = sample(conn)
            ledger.pause(conn, "all")
        bench.source.enqueue([OutgoingMessage(body) for body in [_body(job)]])
        assert bench.worker.answer(bench.source.receive(limit=10, wait=timedelta(0)), time_left=plenty) == []
        assert bench.ran == []
        with bench.database.connection() as conn:
            ledger.let_pass(conn, timedelta(days=20))
            ledger.resume(conn, "all")
            assert due(conn) == {job.job_id}
            assert ledger.claim_one(conn, job.job_id).verdict is Verdict.RUN


def _body(job: DueJob) -> str:
    from skincare.jobs.envelope import Envelope

    return Envelope(job.job_id, job.job_type, job.payload, None).encode()


class TestOverlaps:
    @pytest.mark.parametrize("pair", list(combinations(TARGETS, 2)), ids=str)
    def test_a_job_waits_until_the_last_pause_that_holds_it_is_over(
        self, conn: Connection, pair: tuple[tuple[str, str], tuple[str, str]]
    ) -> None:
        job = sample(conn)
        for target in pair:
            ledger.pause(conn, *target)
        ledger.resume(conn, *pair[0])
        assert ledger.claim_one(conn, job.job_id).verdict is Verdict.PAUSED
        assert ledger.resume(conn, *pair[1])
        assert ledger.claim_one(conn, job.job_id).verdict is Verdict.RUN

    def test_the_same_pause_again_never_ends_earlier(self, conn: Connection) -> None:
        assert ledger.pause(conn, "all", lasts=HOUR) == "paused"
        assert ledger.pause(conn, "all", lasts=ledger.MINUTE) == "already_paused"
        assert ledger.pause(conn, "all", lasts=2 * HOUR) == "extended"
        assert ledger.pause(conn, "all") == "extended"
        assert ledger.pause(conn, "all", lasts=HOUR) == "already_paused"
        assert [each.ends_at for each in pauses.active(conn)] == [None]

    def test_of_two_people_at_once_one_pauses_and_the_other_is_told(self, conn: Connection, other: Connection) -> None:
        conn.execute("BEGIN")
        assert ledger.pause(conn, "all") == "paused"
        other.execute("SET lock_timeout = '200ms'")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            ledger.pause(other, "all")
        conn.execute("COMMIT")
        assert ledger.pause(other, "all") == "already_paused"

    def test_what_is_not_paused_is_not_resumed(self, conn: Connection) -> None:
        ledger.pause(conn, "queue", "notifications")
        assert not ledger.resume(conn, "all")
        assert not ledger.resume(conn, "queue", "payments")
        assert ledger.resume(conn, "queue", "notifications")
        assert not ledger.resume(conn, "queue", "notifications")


class TestEnds:
    def test_a_pause_ends_by_itself(self, conn: Connection) -> None:
        job = sample(conn)
        ledger.pause(conn, "all", lasts=HOUR)
        assert ledger.claim_one(conn, job.job_id).verdict is Verdict.PAUSED
        ledger.let_pass(conn, HOUR)
        assert due(conn) == {job.job_id}
        assert ledger.claim_one(conn, job.job_id).verdict is Verdict.RUN
        assert not ledger.resume(conn, "all")
        assert ledger.pause(conn, "all") == "paused"

    def test_a_clock_that_is_put_back_begins_no_resumed_pause_again(self, conn: Connection) -> None:
        job = sample(conn)
        ledger.pause(conn, "all", lasts=HOUR)
        ledger.resume(conn, "all")
        ledger.let_pass(conn, -HOUR)
        assert ledger.claim_one(conn, job.job_id).verdict is Verdict.RUN

    def test_a_clock_that_is_put_back_ends_no_pause(self, conn: Connection) -> None:
        job = sample(conn)
        ledger.pause(conn, "all")
        ledger.let_pass(conn, -HOUR)
        assert ledger.claim_one(conn, job.job_id).verdict is Verdict.PAUSED


class TestBudget:
    def test_stands_still_while_the_job_is_paused(self, conn: Connection) -> None:
        job = sample(conn)
        ledger.let_pass(conn, HOUR)
        ledger.pause(conn, "all")
        ledger.let_pass(conn, timedelta(days=20))
        ledger.resume(conn, "all")
        ledger.let_pass(conn, HOUR)
        claim = ledger.claim_one(conn, job.job_id)
        assert abs(claim.age - 2 * HOUR) < ledger.MINUTE

    def test_stands_still_for_the_sweep_as_well(self, conn: Connection) -> None:
        job = sample(conn)
        ledger.pause(conn, "all")
        ledger.let_pass(conn, 20 * HOUR)
        ledger.resume(conn, "all")
        budgets = {"sample": HOUR}
        assert dead_letter.sweep(conn, [(job.job_id, None)], budgets=budgets)
        assert ledger.row(conn, job.job_id)["state"] == "pending"
        ledger.let_pass(conn, 2 * HOUR)
        dead_letter.sweep(conn, [(job.job_id, None)], budgets=budgets)
        assert ledger.row(conn, job.job_id)["state"] == "dead_letter"

    @given(
        spans=st.lists(st.tuples(st.integers(-90, 30), st.integers(0, 60), st.integers(0, 60) | st.none()), max_size=5),
        age=st.integers(-20, 100),
    )
    @settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_leaves_out_each_minute_that_some_pause_held_the_job(
        self, conn: Connection, spans: list[tuple[int, int, int | None]], age: int
    ) -> None:
        with conn.transaction(force_rollback=True):
            # Minutes from now; each pause has a planned end and was resumed, or not.
            for number, (begin, lasts, resumed) in enumerate(spans):
                conn.execute(
                    """
                    INSERT INTO job_pauses (scope, name, job_types, reason, paused_by, paused_at, ends_at, resumed_at)
                    VALUES ('type', %s, '{sample}', 'x', 'x', now() + %s * interval '1 min',
                        now() + %s * interval '1 min', now() + %s * interval '1 min')""",
                    [str(number), begin, begin + lasts, None if resumed is None else begin + resumed],
                )
            row = conn.execute(
                "SELECT job_age_s('sample', 'notifications', now() - %s * interval '1 min')", [age]
            ).fetchone()
        paused = {
            minute
            for begin, lasts, resumed in spans
            for minute in range(begin, begin + min(lasts, 999 if resumed is None else resumed))
        }
        assert row is not None
        assert row[0] / 60 == pytest.approx(age - len(paused & set(range(-age, 0))))


class TestProviderThatRefusesEverything:
    def hold(self, conn: Connection) -> bool:
        return pauses.hold_provider(conn, "ses", job_types=["sample"], reason="EmailSendingStopped")

    def test_is_held_for_a_minute_and_then_tried(self, conn: Connection) -> None:
        held, free = sample(conn), ledger.enqueue(conn, ledger.Other())
        assert self.hold(conn)
        assert ledger.claim_one(conn, held.job_id).verdict is Verdict.PAUSED
        assert ledger.claim_one(conn, free.job_id).verdict is Verdict.RUN
        (pause,) = pauses.active(conn)
        assert (pause.paused_by, pause.reason) == ("system", "EmailSendingStopped")
        ledger.let_pass(conn, ledger.MINUTE)
        assert ledger.claim_one(conn, held.job_id).verdict is Verdict.RUN

    def test_costs_no_budget_between_trials_either(self, conn: Connection) -> None:
        job = sample(conn)
        self.hold(conn)
        for _ in range(30):
            ledger.let_pass(conn, 4 * ledger.MINUTE)
            assert not self.hold(conn)
        ledger.let_pass(conn, 2 * ledger.MINUTE)
        assert ledger.claim_one(conn, job.job_id).age < 2 * ledger.MINUTE
        assert conn.execute("SELECT count(*) FROM job_pauses").fetchone() == (1,)

    def test_two_containers_that_find_out_at_once_make_one_pause(self, conn: Connection, other: Connection) -> None:
        conn.execute("BEGIN")
        assert self.hold(conn)
        other.execute("SET lock_timeout = '200ms'")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            self.hold(other)
        conn.execute("COMMIT")
        assert not self.hold(other)
        assert len(pauses.active(conn)) == 1

    def test_a_new_outage_is_a_new_pause_that_holds_nothing_before_it(self, conn: Connection) -> None:
        job = sample(conn)
        self.hold(conn)
        ledger.let_pass(conn, HOUR)
        assert self.hold(conn)
        ledger.let_pass(conn, ledger.MINUTE)
        assert ledger.claim_one(conn, job.job_id).age > 58 * ledger.MINUTE

    def test_lifted_by_hand_while_it_lasts_begins_with_the_next_refusal(self, conn: Connection) -> None:
        job = sample(conn)
        self.hold(conn)
        assert ledger.resume(conn, "provider", "ses")
        assert ledger.claim_one(conn, job.job_id).verdict is Verdict.RUN
        assert self.hold(conn)

    def test_leaves_a_pause_by_a_person_alone(self, conn: Connection) -> None:
        ledger.pause(conn, "provider", "ses")
        before = pauses.active(conn)
        assert not self.hold(conn)
        assert pauses.active(conn) == before

    def test_lengthens_no_pause_by_a_person_that_is_over(self, conn: Connection) -> None:
        ledger.pause(conn, "provider", "ses", lasts=ledger.MINUTE)
        ledger.let_pass(conn, 5 * ledger.MINUTE)
        assert self.hold(conn)
        (pause,) = pauses.active(conn)
        assert pause.paused_by == "system"

    def test_becomes_a_persons_who_pauses_it_for_longer(self, conn: Connection) -> None:
        self.hold(conn)
        assert ledger.pause(conn, "provider", "ses") == "extended"
        ledger.let_pass(conn, HOUR)
        assert not self.hold(conn)
        (pause,) = pauses.active(conn)
        assert pause.paused_by != "system"
        assert pause.ends_at is None


class TestGauges:
    def gauges(self, bench: Bench) -> dict[Metric, float]:
        return job_gauges(bench.database)

    def test_a_paused_job_is_not_late_but_counted(self, bench: Bench) -> None:
        with bench.database.connection() as conn:
            sample(conn)
            ledger.pause(conn, "all")
            ledger.let_pass(conn, 5 * HOUR)
        gauges = self.gauges(bench)
        assert gauges[Metric.OUTBOX_LATENESS] == 0
        assert gauges[Metric.PAUSED_JOBS] == 1

    def test_after_the_pause_lateness_counts_from_its_end(self, bench: Bench) -> None:
        with bench.database.connection() as conn:
            sample(conn)
            ledger.pause(conn, "all")
            ledger.let_pass(conn, 5 * HOUR)
            ledger.resume(conn, "all")
            ledger.let_pass(conn, ledger.MINUTE)
        gauges = self.gauges(bench)
        assert gauges[Metric.OUTBOX_LATENESS] == pytest.approx(60, abs=10)
        assert gauges[Metric.PAUSED_JOBS] == 0

    @pytest.mark.parametrize(
        ("lasts", "since", "counted"),
        [(None, timedelta(hours=23), 0), (None, timedelta(hours=24), 1), (timedelta(days=5), timedelta(days=2), 0)],
    )
    def test_a_pause_without_an_end_rings_after_a_day(
        self, bench: Bench, lasts: timedelta | None, since: timedelta, counted: int
    ) -> None:
        with bench.database.connection() as conn:
            ledger.pause(conn, "all", lasts=lasts)
            ledger.let_pass(conn, since)
        assert self.gauges(bench)[Metric.FORGOTTEN_PAUSES] == counted
        with bench.database.connection() as conn:
            pauses.resume(conn, PauseTarget("all"))
        assert self.gauges(bench)[Metric.FORGOTTEN_PAUSES] == 0


class TestProviders:
    @pytest.mark.parametrize("payload", PAYLOADS, ids=lambda each: each.job_type)
    def test_each_job_type_says_itself_whom_it_calls(self, payload: type) -> None:
        assert "providers" in vars(payload)

    @pytest.mark.parametrize("provider", Provider)
    def test_each_provider_is_called_by_some_type(self, provider: Provider) -> None:
        assert TYPES_OF[provider]
