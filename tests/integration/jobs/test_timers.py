"""Jobs for later: once per key while unfinished, called off with the rows of the caller's transaction."""

from datetime import UTC, datetime, time, timedelta

import pytest
from psycopg import Connection

from skincare.identifiers import JobId, new_job_id
from skincare.jobs.catalog import PERIODIC_JOBS, ReconcilePayments
from skincare.jobs.relay import run_relay
from skincare.jobs.repository import dead_letter, lease, operations, outbox, timers
from skincare.jobs.retry import Completed, DeadLetter, Retry
from tests.support import ledger
from tests.support.worker_bench import Bench, plenty

DAYS = timedelta(days=3)


def set_timer(conn: Connection, key: str = "one", *, run_at: datetime | None = None) -> JobId | None:
    job = timers.insert(conn, new_job_id(), ledger.Sample(), unique_key=key, run_at=run_at)
    return None if job is None else job.job_id


def settle(conn: Connection, job_id: JobId, outcome: Completed | Retry | DeadLetter) -> None:
    token = ledger.new_token()
    ledger.claim_one(conn, job_id, token=token)
    assert lease.settle(conn, {job_id: outcome}, token=token) == {job_id}


class TestATimer:
    def test_days_ahead_is_published_when_its_time_comes_and_not_before(self, conn: Connection) -> None:
        job_id = set_timer(conn, run_at=datetime.now(UTC) + DAYS)
        assert job_id is not None
        ledger.let_pass(conn, DAYS - timedelta(minutes=1))
        assert outbox.take_due(conn, limit=10) == []
        assert ledger.claim_one(conn, job_id).verdict == "early"
        ledger.let_pass(conn, timedelta(minutes=1))
        assert [job.job_id for job in outbox.take_due(conn, limit=10)] == [job_id]
        assert ledger.claim_one(conn, job_id).age < timedelta(minutes=1)

    @pytest.mark.parametrize("outcome", [None, Retry(DAYS, "X", "x"), DeadLetter("X", "x")])
    def test_is_the_only_one_of_its_key_until_it_ended(
        self, conn: Connection, outcome: Retry | DeadLetter | None
    ) -> None:
        job_id = set_timer(conn)
        assert job_id is not None
        if outcome is not None:
            settle(conn, job_id, outcome)
        assert set_timer(conn) is None
        assert set_timer(conn, "two") is not None

    def test_leaves_its_key_to_the_next_when_it_is_done(self, conn: Connection) -> None:
        job_id = set_timer(conn)
        assert job_id is not None
        settle(conn, job_id, Completed())
        assert set_timer(conn) is not None
        assert timers.cancel(conn, "one")
        assert set_timer(conn) is not None

    def test_that_died_finds_its_key_free_when_it_is_redriven(self, conn: Connection) -> None:
        job_id = set_timer(conn)
        assert job_id is not None
        settle(conn, job_id, DeadLetter("X", "x"))
        assert set_timer(conn) is None
        assert dead_letter.redrive(conn, [job_id]) == {job_id: 1}
        settle(conn, job_id, Completed())

    def test_is_called_off_with_the_transaction_or_not_at_all(self, conn: Connection) -> None:
        job_id = set_timer(conn)
        assert job_id is not None
        with conn.transaction(force_rollback=True):
            assert timers.cancel(conn, "one")
        assert ledger.row(conn, job_id)["state"] == "pending"
        assert timers.cancel(conn, "one")
        assert (ledger.row(conn, job_id)["state"], timers.cancel(conn, "one")) == ("cancelled", False)
        assert outbox.take_due(conn, limit=10) == []

    def test_that_runs_may_finish_but_is_settled_by_nobody(self, conn: Connection) -> None:
        job_id, token = set_timer(conn), ledger.new_token()
        assert job_id is not None
        ledger.claim_one(conn, job_id, token=token)
        assert timers.cancel(conn, "one")
        assert lease.settle(conn, {job_id: Completed()}, token=token) == set()
        assert ledger.claim_one(conn, job_id).verdict == "done"

    def test_costs_jobs_without_a_key_nothing(self, conn: Connection) -> None:
        size = "SELECT pg_relation_size('job_keys')"
        empty = conn.execute(size).fetchone()
        for _ in range(50):
            ledger.enqueue(conn)
        assert conn.execute(size).fetchone() == empty
        set_timer(conn)
        assert conn.execute(size).fetchone() != empty


class TestAPeriodicJob:
    @pytest.fixture
    def bench(self, database_url: str) -> Bench:
        return Bench(database_url)

    def relay(self, bench: Bench) -> None:
        run_relay(
            database=bench.database,
            queues=bench.queues,
            publisher=bench.publisher,
            budgets={},
            time_left=plenty,
            periodic_jobs=PERIODIC_JOBS,
        )

    def days(self, conn: Connection) -> list[tuple[str, str]]:
        return conn.execute("SELECT unique_key, state FROM jobs ORDER BY unique_key").fetchall()

    def test_is_scheduled_once_for_each_day_by_the_relay(self, conn: Connection, bench: Bench) -> None:
        for _ in range(3):
            self.relay(bench)
        row = conn.execute(
            "SELECT job_type, run_at > now(), run_at <= now() + interval '1 day', (run_at AT TIME ZONE 'UTC')::time"
            " FROM jobs"
        ).fetchone()
        assert row == ("reconcile_payments", True, True, time(20))
        bench.close()

    def test_of_tomorrow_does_not_depend_on_todays(self, conn: Connection, bench: Bench) -> None:
        """Today's is dead, or nobody ever ran it: tomorrow's comes, and today's can still be redriven."""
        job_id = new_job_id()
        assert timers.insert_daily(conn, job_id, ReconcilePayments())
        [(today, _)] = self.days(conn)
        # A day later its key is yesterday's.
        conn.execute("UPDATE jobs SET unique_key = 'reconcile_payments:2026-01-01'")
        conn.execute("UPDATE job_keys SET unique_key = 'reconcile_payments:2026-01-01'")
        ledger.let_pass(conn, timedelta(days=1))
        settle(conn, job_id, DeadLetter("X", "x"))
        self.relay(bench)
        assert self.days(conn) == [("reconcile_payments:2026-01-01", "dead_letter"), (today, "pending")]
        assert dead_letter.redrive(conn, [job_id])
        bench.close()

    def test_that_a_person_cancelled_comes_back(self, conn: Connection) -> None:
        job_id = new_job_id()
        timers.insert_daily(conn, job_id, ReconcilePayments())
        operations.cancel(conn, [job_id])
        assert timers.insert_daily(conn, new_job_id(), ReconcilePayments())
