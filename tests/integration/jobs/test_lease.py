"""A job is run by one worker at a time, counted honestly, and settled by who holds its lease."""

import threading
from collections.abc import Iterator
from datetime import timedelta

import psycopg
import pytest
from psycopg import Connection

from skincare.identifiers import JobId, new_job_id
from skincare.jobs.models import DueJob, SweepVerdict, Verdict
from skincare.jobs.repository import dead_letter, lease, operations, outbox
from skincare.jobs.retry import CRASH_LIMIT, Completed, DeadLetter, Retry
from tests.support import ledger

BUSY = Retry(timedelta(seconds=8), "TransientError", "busy")
DEAD = DeadLetter("NoSuchOrder", "order 7 is gone")


@pytest.fixture
def other(database_url: str) -> Iterator[Connection]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def crash(conn: Connection, job: DueJob) -> None:
    """A process dies with the job: its lease runs out."""
    ledger.claim_one(conn, job.job_id, alone=True)
    ledger.let_pass(conn, 2 * ledger.MINUTE)


def dead_letter_job(conn: Connection, job: DueJob) -> None:
    token = ledger.new_token()
    ledger.claim_one(conn, job.job_id, token=token)
    lease.settle(conn, {job.job_id: DEAD}, token=token)


class TestClaim:
    def test_tells_a_worker_what_to_run(self, conn: Connection) -> None:
        job = ledger.enqueue(conn, order_number="SKN-00000-00001", request_id="r-1")
        claim = ledger.claim_one(conn, job.job_id)
        assert claim.verdict is Verdict.RUN
        assert (claim.job_type, claim.payload, claim.attempts) == (job.job_type, job.payload, 1)
        assert (claim.order_number, claim.request_id) == ("SKN-00000-00001", "r-1")
        assert timedelta(0) <= claim.age < ledger.MINUTE

    def test_a_second_worker_is_told_for_how_long_the_first_holds_it(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        ledger.claim_one(conn, job.job_id)
        claim = ledger.claim_one(conn, job.job_id)
        assert claim.verdict is Verdict.BUSY
        assert timedelta(seconds=55) < claim.wait <= ledger.MINUTE
        assert ledger.row(conn, job.job_id)["attempts"] == 1

    def test_a_copy_that_comes_before_the_backoff_is_early_and_costs_nothing(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        token = ledger.new_token()
        ledger.claim_one(conn, job.job_id, token=token)
        lease.settle(conn, {job.job_id: BUSY}, token=token)
        claim = ledger.claim_one(conn, job.job_id)
        assert claim.verdict is Verdict.EARLY
        assert timedelta(seconds=6) < claim.wait <= timedelta(seconds=8)
        ledger.let_pass(conn, timedelta(seconds=9))
        assert ledger.claim_one(conn, job.job_id).attempts == 2

    def test_a_job_for_later_is_early_until_its_time(self, conn: Connection) -> None:
        row = conn.execute("SELECT now() + interval '1 hour'").fetchone()
        assert row is not None
        job = ledger.enqueue(conn, run_at=row[0])
        assert ledger.claim_one(conn, job.job_id).verdict is Verdict.EARLY
        ledger.let_pass(conn, timedelta(hours=2))
        assert ledger.claim_one(conn, job.job_id).verdict is Verdict.RUN

    @pytest.mark.parametrize("ending", ["completed", "cancelled"])
    def test_a_message_of_a_finished_job_is_done(self, conn: Connection, ending: str) -> None:
        job = ledger.enqueue(conn)
        token = ledger.new_token()
        ledger.claim_one(conn, job.job_id, token=token)
        if ending == "completed":
            lease.settle(conn, {job.job_id: Completed()}, token=token)
        else:
            operations.cancel(conn, [job.job_id])
        assert ledger.claim_one(conn, job.job_id).verdict is Verdict.DONE

    def test_an_unknown_job_is_missing(self, conn: Connection) -> None:
        assert ledger.claim_one(conn, new_job_id()).verdict is Verdict.MISSING

    def test_a_batch_is_claimed_in_one_statement_with_a_verdict_for_each(self, conn: Connection) -> None:
        fresh, leased, gone = ledger.enqueue(conn), ledger.enqueue(conn), new_job_id()
        ledger.claim_one(conn, leased.job_id)
        claims = lease.claim(
            conn, {fresh.job_id: None, leased.job_id: None, gone: None}, token=ledger.new_token(), lease=ledger.MINUTE
        )
        assert {claim.job_id: claim.verdict for claim in claims} == {
            fresh.job_id: Verdict.RUN,
            leased.job_id: Verdict.BUSY,
            gone: Verdict.MISSING,
        }

    def test_of_two_workers_at_the_same_moment_one_gets_it(self, conn: Connection, other: Connection) -> None:
        job = ledger.enqueue(conn)
        verdicts = []
        with conn.transaction():
            verdicts.append(ledger.claim_one(conn, job.job_id).verdict)
            rival = threading.Thread(target=lambda: verdicts.append(ledger.claim_one(other, job.job_id).verdict))
            rival.start()
        rival.join(timeout=10)
        assert verdicts == [Verdict.RUN, Verdict.BUSY]

    def test_workers_that_claim_the_same_jobs_in_any_order_do_not_deadlock(
        self, conn: Connection, other: Connection
    ) -> None:
        jobs = [ledger.enqueue(conn).job_id for _ in range(40)]
        failures: list[Exception] = []

        def work(connection: Connection, order: list[JobId]) -> None:
            try:
                for _ in range(20):
                    token = ledger.new_token()
                    claims = lease.claim(connection, dict.fromkeys(order), token=token, lease=ledger.MINUTE)
                    mine = [claim.job_id for claim in claims if claim.verdict is Verdict.RUN]
                    if mine:
                        lease.settle(connection, dict.fromkeys(mine), token=token)
            except Exception as error:  # noqa: BLE001  the test shows whatever it was
                failures.append(error)

        rival = threading.Thread(target=work, args=(other, jobs[::-1]))
        rival.start()
        work(conn, jobs)
        rival.join(timeout=30)
        assert failures == []
        assert {ledger.row(conn, job)["attempts"] for job in jobs} == {0}


class TestSettle:
    def test_completed_is_final(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        token = ledger.new_token()
        ledger.claim_one(conn, job.job_id, token=token)
        assert lease.settle(conn, {job.job_id: Completed()}, token=token) == {job.job_id}
        row = ledger.row(conn, job.job_id)
        assert (row["state"], row["publish_at"], row["lease_token"]) == ("completed", None, None)
        assert ledger.attempts(conn, job.job_id) == ["completed"]

    def test_a_failed_attempt_is_kept_with_its_error(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        token = ledger.new_token()
        ledger.claim_one(conn, job.job_id, token=token)
        lease.settle(conn, {job.job_id: BUSY}, token=token)
        row = ledger.row(conn, job.job_id)
        assert (row["state"], row["error_class"], row["error_message"]) == ("retry_waiting", "TransientError", "busy")
        assert row["first_failed_at"] == row["last_failed_at"] is not None
        assert ledger.attempts(conn, job.job_id) == ["retry"]

    def test_an_unstarted_job_gets_its_attempt_back(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        token = ledger.new_token()
        ledger.claim_one(conn, job.job_id, token=token)
        lease.settle(conn, {job.job_id: None}, token=token)
        row = ledger.row(conn, job.job_id)
        assert (row["state"], row["attempts"]) == ("queued", 0)
        assert ledger.attempts(conn, job.job_id) == []
        assert ledger.claim_one(conn, job.job_id).attempts == 1

    def test_a_lost_lease_settles_nothing(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        late = ledger.new_token()
        ledger.claim_one(conn, job.job_id, token=late)
        ledger.let_pass(conn, 2 * ledger.MINUTE)
        ledger.claim_one(conn, job.job_id, alone=True)
        assert lease.settle(conn, {job.job_id: Completed()}, token=late) == set()
        assert ledger.row(conn, job.job_id)["state"] == "processing"

    def test_a_settle_that_is_late_but_not_overtaken_still_counts(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        token = ledger.new_token()
        ledger.claim_one(conn, job.job_id, token=token)
        ledger.let_pass(conn, 2 * ledger.MINUTE)
        assert lease.settle(conn, {job.job_id: Completed()}, token=token) == {job.job_id}

    def test_twice_is_once(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        token = ledger.new_token()
        ledger.claim_one(conn, job.job_id, token=token)
        lease.settle(conn, {job.job_id: BUSY}, token=token)
        assert lease.settle(conn, {job.job_id: BUSY}, token=token) == set()
        assert ledger.attempts(conn, job.job_id) == ["retry"]

    def test_a_cancelled_job_stays_cancelled_when_its_worker_finishes(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        token = ledger.new_token()
        ledger.claim_one(conn, job.job_id, token=token)
        assert operations.cancel(conn, [job.job_id]) == {job.job_id}
        assert lease.settle(conn, {job.job_id: Completed()}, token=token) == set()
        assert ledger.row(conn, job.job_id)["state"] == "cancelled"


class TestCrash:
    def test_a_lease_that_ran_out_makes_a_suspect_that_waits_for_its_own_claim(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        crash(conn, job)
        before = ledger.row(conn, job.job_id)
        assert ledger.claim_one(conn, job.job_id).verdict is Verdict.SUSPECT
        assert ledger.row(conn, job.job_id)["crashes"] == before["crashes"] == 0

    def test_a_claim_alone_counts_the_crash_and_not_the_attempt(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        crash(conn, job)
        claim = ledger.claim_one(conn, job.job_id, alone=True)
        assert (claim.verdict, claim.attempts) == (Verdict.RUN, 1)
        assert ledger.row(conn, job.job_id)["crashes"] == 1
        assert ledger.attempts(conn, job.job_id) == ["crashed"]

    def test_a_job_that_crashed_once_is_claimed_alone_from_then_on(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        crash(conn, job)
        token = ledger.new_token()
        ledger.claim_one(conn, job.job_id, token=token, alone=True)
        lease.settle(conn, {job.job_id: BUSY}, token=token)
        assert ledger.claim_one(conn, job.job_id).verdict is Verdict.EARLY
        ledger.let_pass(conn, ledger.MINUTE)
        assert ledger.claim_one(conn, job.job_id).verdict is Verdict.SUSPECT

    def test_the_fifth_crash_is_the_last(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        for _ in range(CRASH_LIMIT):
            assert ledger.row(conn, job.job_id)["state"] != "dead_letter"
            crash(conn, job)
        assert ledger.claim_one(conn, job.job_id, alone=True).verdict is Verdict.DEAD
        row = ledger.row(conn, job.job_id)
        assert (row["state"], row["crashes"], row["error_class"]) == ("dead_letter", CRASH_LIMIT, "WorkerCrashed")
        assert ledger.attempts(conn, job.job_id) == ["crashed"] * CRASH_LIMIT
        (due,) = outbox.take_due(conn, limit=10)
        assert due.dead_letter is not None
        assert due.dead_letter.crashes == CRASH_LIMIT
        assert due.dead_letter.first_failed_at is not None
        assert due.dead_letter.last_failed_at is not None
        assert due.dead_letter.first_failed_at < due.dead_letter.last_failed_at


class TestDeadLetters:
    def test_the_current_dead_letter_brings_the_job_back(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        dead_letter_job(conn, job)
        claim = ledger.claim_one(conn, job.job_id, dead_letter_no=1)
        assert (claim.verdict, claim.attempts) == (Verdict.RUN, 1)
        assert claim.age < timedelta(seconds=5)

    @pytest.mark.parametrize("number", [None, 0, 2])
    def test_any_other_copy_of_a_dead_job_is_done(self, conn: Connection, number: int | None) -> None:
        job = ledger.enqueue(conn)
        dead_letter_job(conn, job)
        assert ledger.claim_one(conn, job.job_id, dead_letter_no=number).verdict is Verdict.DONE
        assert ledger.row(conn, job.job_id)["state"] == "dead_letter"

    def test_each_burial_makes_the_letters_before_it_waste(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        dead_letter_job(conn, job)
        dead_letter.redrive(conn, [job.job_id])
        dead_letter_job(conn, job)
        assert ledger.row(conn, job.job_id)["dead_letter_no"] == 2
        assert ledger.claim_one(conn, job.job_id, dead_letter_no=1).verdict is Verdict.DONE

    def test_a_job_that_no_worker_can_read_is_dead_lettered_only_while_it_waits(self, conn: Connection) -> None:
        waiting, running = ledger.enqueue(conn), ledger.enqueue(conn)
        ledger.claim_one(conn, running.job_id)
        why = {"error_class": "MessageUnreadable", "error_message": "unknown type"}
        assert dead_letter.dead_letter_unreadable(conn, waiting.job_id, **why)
        assert not dead_letter.dead_letter_unreadable(conn, running.job_id, **why)
        assert not dead_letter.dead_letter_unreadable(conn, new_job_id(), **why)


class TestSweep:
    def judge(self, conn: Connection, job: DueJob, number: int | None = None) -> SweepVerdict:
        (verdict,) = dead_letter.sweep(conn, [(job.job_id, number)], budgets={job.job_type: timedelta(hours=24)})
        return verdict

    def test_a_live_job_that_sqs_gave_up_on_is_published_again(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        outbox.mark_published(conn, [job])
        assert self.judge(conn, job) is SweepVerdict.DELETE
        assert [due.job_id for due in outbox.take_due(conn, limit=10)] == [job.job_id]

    def test_with_its_budget_spent_it_is_a_dead_letter_of_its_own(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        outbox.mark_published(conn, [job])
        ledger.let_pass(conn, timedelta(hours=25))
        assert self.judge(conn, job) is SweepVerdict.DELETE
        assert ledger.row(conn, job.job_id)["state"] == "dead_letter"

    def test_a_running_job_is_left_to_its_worker_until_its_lease_ran_out(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        ledger.claim_one(conn, job.job_id)
        assert self.judge(conn, job) is SweepVerdict.KEEP
        ledger.let_pass(conn, timedelta(hours=30))
        assert self.judge(conn, job) is SweepVerdict.DELETE
        assert ledger.row(conn, job.job_id)["state"] == "processing"
        assert [due.job_id for due in outbox.take_due(conn, limit=10)] == [job.job_id]

    def test_the_current_dead_letter_stays_and_every_other_copy_goes(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        dead_letter_job(conn, job)
        assert self.judge(conn, job, 1) is SweepVerdict.KEEP
        assert self.judge(conn, job, None) is SweepVerdict.DELETE
        dead_letter.redrive(conn, [job.job_id])
        dead_letter_job(conn, job)
        assert self.judge(conn, job, 1) is SweepVerdict.DELETE
        assert self.judge(conn, job, 2) is SweepVerdict.KEEP

    def test_copies_of_finished_jobs_go(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        operations.cancel(conn, [job.job_id])
        assert self.judge(conn, job) is SweepVerdict.DELETE

    def test_a_stranger_stays_for_a_person(self, conn: Connection) -> None:
        assert dead_letter.sweep(conn, [(new_job_id(), None)], budgets={}) == [SweepVerdict.FOREIGN]


class TestBackstop:
    @pytest.mark.parametrize(
        ("start", "forbidden"),
        [("completed", "pending"), ("cancelled", "queued"), ("dead_letter", "completed"), ("pending", "completed")],
    )
    def test_the_database_refuses_a_move_that_no_statement_makes(
        self, conn: Connection, start: str, forbidden: str
    ) -> None:
        job = ledger.enqueue(conn)
        token = ledger.new_token()
        if start != "pending":
            ledger.claim_one(conn, job.job_id, token=token)
            if start == "cancelled":
                operations.cancel(conn, [job.job_id])
            else:
                outcome = Completed() if start == "completed" else DEAD
                lease.settle(conn, {job.job_id: outcome}, token=token)
        with pytest.raises(psycopg.errors.CheckViolation) as refused:
            conn.execute(
                "UPDATE jobs SET state = %(to)s, publish_at = CASE WHEN %(to)s <> 'completed' THEN now() END"
                " WHERE id = %(id)s",
                {"to": forbidden, "id": job.job_id},
            )
        assert refused.value.diag.constraint_name == "jobs_legal_moves"
