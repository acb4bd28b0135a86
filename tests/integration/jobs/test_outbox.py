"""Nothing that was committed stays unpublished, and a late word about it changes nothing."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from psycopg import Connection

from skincare.deployment.queues import QueueName
from skincare.jobs.models import DueJob
from skincare.jobs.repository import dead_letter, lease, outbox
from skincare.jobs.retry import Completed, DeadLetter, Retry
from tests.support import ledger

HOUR = timedelta(hours=1)


@pytest.fixture
def other(database_url: str) -> Iterator[Connection]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def due_in(conn: Connection, job: DueJob) -> timedelta:
    row = ledger.row(conn, job.job_id)
    due: timedelta = row["publish_at"] - row["now"]
    return due


class TestInsert:
    def test_gives_the_process_and_a_worker_two_minutes_before_the_relay(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        assert timedelta(seconds=118) < due_in(conn, job) <= timedelta(minutes=2)

    def test_a_job_for_later_is_due_when_its_time_comes(self, conn: Connection) -> None:
        at = datetime.now(UTC) + timedelta(days=3)
        job = ledger.enqueue(conn, run_at=at)
        row = ledger.row(conn, job.job_id)
        assert row["publish_at"] == row["run_at"] == row["budget_from"] == at

    def test_is_undone_with_the_business_rows_of_its_transaction(self, conn: Connection) -> None:
        with conn.transaction(force_rollback=True):
            ledger.enqueue(conn)
        assert conn.execute("SELECT count(*) FROM jobs").fetchone() == (0,)

    def test_is_seen_by_nobody_before_the_commit(self, conn: Connection, other: Connection) -> None:
        with conn.transaction():
            job = ledger.enqueue(conn)
            ledger.let_pass(conn, HOUR)
            assert outbox.take_due(other, limit=10) == []
            assert ledger.claim_one(other, job.job_id).verdict == "missing"
        assert [taken.job_id for taken in outbox.take_due(other, limit=10)] == [job.job_id]


class TestTake:
    def test_leaves_alone_what_is_not_due(self, conn: Connection) -> None:
        ledger.enqueue(conn)
        assert outbox.take_due(conn, limit=10) == []

    def test_gives_each_job_to_one_taker_and_again_after_a_minute(self, conn: Connection, other: Connection) -> None:
        job = ledger.enqueue(conn)
        ledger.let_pass(conn, HOUR)
        assert [taken.job_id for taken in outbox.take_due(conn, limit=10)] == [job.job_id]
        assert outbox.take_due(other, limit=10) == []
        ledger.let_pass(conn, timedelta(seconds=61))
        assert [taken.job_id for taken in outbox.take_due(other, limit=10)] == [job.job_id]

    def test_two_takers_at_once_share_the_work_without_waiting(self, conn: Connection, other: Connection) -> None:
        jobs = {ledger.enqueue(conn).job_id for _ in range(10)}
        ledger.let_pass(conn, HOUR)
        with conn.transaction():
            mine = {job.job_id for job in outbox.take_due(conn, limit=5)}
            theirs = {job.job_id for job in outbox.take_due(other, limit=10)}
        assert len(mine) == 5
        assert mine | theirs == jobs
        assert not mine & theirs

    def test_a_row_that_commits_late_is_not_skipped(self, conn: Connection, other: Connection) -> None:
        with conn.transaction():
            late = ledger.enqueue(conn)
            early = ledger.enqueue(other)
            ledger.let_pass(other, HOUR)
            taken = outbox.take_due(other, limit=10)
            assert [job.job_id for job in taken] == [early.job_id]
            outbox.mark_published(other, taken)
        ledger.let_pass(other, timedelta(seconds=121))
        assert [job.job_id for job in outbox.take_due(other, limit=10)] == [late.job_id]

    def test_takes_the_longest_due_first(self, conn: Connection) -> None:
        first = ledger.enqueue(conn)
        ledger.let_pass(conn, timedelta(minutes=10))
        ledger.enqueue(conn)
        ledger.let_pass(conn, timedelta(minutes=10))
        assert [job.job_id for job in outbox.take_due(conn, limit=1)] == [first.job_id]


class TestMakeDue:
    def test_leaves_a_job_to_the_next_run_of_the_relay(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        assert outbox.make_due(conn, [job]) == 1
        assert [taken.job_id for taken in outbox.take_due(conn, limit=1)] == [job.job_id]

    def test_does_not_touch_what_a_worker_has_claimed(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        ledger.claim_one(conn, job.job_id, token=ledger.new_token())
        assert outbox.make_due(conn, [job]) == 0
        assert due_in(conn, job) > HOUR

    def test_a_job_that_only_the_relay_sends_is_due_at_once_and_once(self, conn: Connection) -> None:
        for first in (True, False):
            assert outbox.insert_for_relay(conn, ledger.Sample(), unique_key="k", order_number=None) is first
        assert len(outbox.take_due(conn, limit=10)) == 1


class TestMark:
    def test_turns_pending_into_queued_and_rescues_after_an_hour(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        assert outbox.mark_published(conn, [job]) == 1
        assert ledger.row(conn, job.job_id)["state"] == "queued"
        assert timedelta(minutes=59) < due_in(conn, job) <= HOUR

    def test_each_resend_doubles_the_rescue_up_to_a_day(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        outbox.mark_published(conn, [job])
        waits = []
        for _ in range(6):
            ledger.let_pass(conn, timedelta(days=2))
            outbox.mark_published(conn, outbox.take_due(conn, limit=1))
            waits.append(round(due_in(conn, job) / HOUR))
        assert waits == [2, 4, 8, 16, 24, 24]

    def test_a_late_mark_does_not_touch_what_a_faster_worker_did(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        token = ledger.new_token()
        ledger.claim_one(conn, job.job_id, token=token)
        claimed = ledger.row(conn, job.job_id)
        assert outbox.mark_published(conn, [job]) == 0
        assert ledger.row(conn, job.job_id)["publish_at"] == claimed["publish_at"]
        lease.settle(conn, {job.job_id: Completed()}, token=token)
        assert outbox.mark_published(conn, [job]) == 0
        assert ledger.row(conn, job.job_id)["state"] == "completed"
        assert ledger.row(conn, job.job_id)["publish_at"] is None

    def test_the_mark_of_an_overtaken_take_is_void(self, conn: Connection) -> None:
        ledger.enqueue(conn)
        ledger.let_pass(conn, HOUR)
        first = outbox.take_due(conn, limit=1)
        ledger.let_pass(conn, timedelta(seconds=61))
        second = outbox.take_due(conn, limit=1)
        assert outbox.mark_published(conn, first) == 0
        assert outbox.mark_published(conn, second) == 1

    def test_a_sent_dead_letter_is_sent_again_before_its_queue_forgets_it(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        token = ledger.new_token()
        ledger.claim_one(conn, job.job_id, token=token)
        lease.settle(conn, {job.job_id: DeadLetter("NoSuchOrder", "order 7 is gone")}, token=token)
        (dead,) = outbox.take_due(conn, limit=10)
        assert dead.dead_letter is not None
        assert (dead.dead_letter.dead_letter_no, dead.dead_letter.error_class) == (1, "NoSuchOrder")
        outbox.mark_published(conn, [dead])
        assert ledger.row(conn, job.job_id)["state"] == "dead_letter"
        assert timedelta(days=12, hours=23) < due_in(conn, job) <= timedelta(days=13)


class TestRefusal:
    def test_a_message_that_sqs_refuses_for_good_becomes_a_dead_letter(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        assert outbox.dead_letter_refused(conn, [job], error_class="PublishRefused", error_message="too long") == 1
        row = ledger.row(conn, job.job_id)
        assert (row["state"], row["dead_letter_no"], row["error_class"]) == ("dead_letter", 1, "PublishRefused")

    def test_a_refusal_that_comes_late_changes_nothing(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        ledger.claim_one(conn, job.job_id)
        assert outbox.dead_letter_refused(conn, [job], error_class="PublishRefused", error_message="too long") == 0


class TestRescue:
    def test_is_longer_than_six_invocations_of_any_queue(self, conn: Connection) -> None:
        row = conn.execute("SELECT rescue_delay(0)").fetchone()
        assert row is not None
        assert all(row[0] > 6 * queue.limits.function_timeout for queue in QueueName)
        assert all(row[0] > queue.limits.visibility_timeout for queue in QueueName)

    def test_finds_a_retry_whose_message_vanished(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        token = ledger.new_token()
        ledger.claim_one(conn, job.job_id, token=token)
        lease.settle(conn, {job.job_id: Retry(timedelta(seconds=2), "TransientError", "busy")}, token=token)
        assert HOUR - timedelta(minutes=1) < due_in(conn, job) <= HOUR + timedelta(seconds=2)

    def test_finds_a_job_whose_worker_died_with_its_message(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        ledger.claim_one(conn, job.job_id)
        ledger.let_pass(conn, HOUR + 2 * ledger.MINUTE)
        assert [due.job_id for due in outbox.take_due(conn, limit=10)] == [job.job_id]
        assert ledger.row(conn, job.job_id)["state"] == "processing"


class TestRedriveAndCancel:
    def test_a_redriven_job_is_due_at_once_with_a_fresh_budget_and_its_history(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        token = ledger.new_token()
        ledger.claim_one(conn, job.job_id, token=token)
        lease.settle(conn, {job.job_id: DeadLetter("NoSuchOrder", "order 7 is gone")}, token=token)
        assert dead_letter.redrive(conn, [job.job_id]) == {job.job_id: 1}
        row = ledger.row(conn, job.job_id)
        assert (row["state"], row["attempts"], row["crashes"], row["dead_letter_no"]) == ("pending", 0, 0, 1)
        assert ledger.attempts(conn, job.job_id) == ["dead_letter"]
        (due,) = outbox.take_due(conn, limit=10)
        assert due.dead_letter is None

    def test_a_live_job_is_not_redriven(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        assert dead_letter.redrive(conn, [job.job_id]) == {}
        assert ledger.row(conn, job.job_id)["state"] == "pending"
