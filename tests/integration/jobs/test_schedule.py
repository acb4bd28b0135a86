"""The schedule names each job no later than it is due, and an update of a job touches no index."""

import threading
from collections.abc import Iterator
from datetime import timedelta

import psycopg
import pytest
from psycopg import Connection

from bench.server_cost import hot_share
from skincare.database.session import Session
from skincare.identifiers import JobId, new_job_id
from skincare.jobs.models import JobState
from skincare.jobs.repository import dead_letter, lease, operations, outbox, timers
from skincare.jobs.retry import Completed, DeadLetter, Outcome, Retry
from tests.support import ledger
from tests.support.shop import wait_until

HOUR = timedelta(hours=1)


@pytest.fixture
def owner(owner_url: str) -> Iterator[Connection]:
    with psycopg.connect(owner_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def other(database_url: str) -> Iterator[Connection]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


def schedule(conn: Connection) -> list[tuple[JobId, bool]]:
    """Return whose rows there are, and whether each is the job's own publish_at."""
    return conn.execute(
        "SELECT s.job_id, s.look_at IS NOT DISTINCT FROM j.publish_at FROM job_schedule s"
        " LEFT JOIN jobs j ON j.id = s.job_id ORDER BY s.look_at"
    ).fetchall()


def taken(conn: Connection) -> list[JobId]:
    return [job.job_id for job in outbox.take_due(conn, limit=100)]


class TestTheSchedule:
    def test_of_a_life_without_trouble_is_one_row_which_goes_when_it_is_met(self, conn: Connection) -> None:
        job, token = ledger.enqueue(conn), ledger.new_token()
        outbox.mark_published(conn, [job])
        ledger.claim_one(conn, job.job_id, token=token)
        lease.settle(conn, {job.job_id: Completed()}, token=token)
        assert schedule(conn) == [(job.job_id, False)]
        assert outbox.tidy_schedule(conn, limit=10) == 0, "its time has not come"
        conn.execute("UPDATE job_schedule SET look_at = look_at - interval '1 hour'")
        assert taken(conn) == []
        assert outbox.tidy_schedule(conn, limit=10) == 1
        assert schedule(conn) == []

    def test_follows_a_job_that_was_put_off(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        ledger.let_pass(conn, HOUR)
        assert taken(conn) == [job.job_id]
        conn.execute("UPDATE jobs SET publish_at = publish_at + interval '2 hours'")
        assert taken(conn) == []
        assert outbox.tidy_schedule(conn, limit=10) == 1
        assert schedule(conn) == [(job.job_id, True)]

    def test_forgets_a_job_that_is_gone(self, conn: Connection, owner_url: str) -> None:
        ledger.enqueue(conn)
        ledger.let_pass(conn, HOUR)
        with psycopg.connect(owner_url) as owner:
            owner.execute("DELETE FROM jobs")
        outbox.tidy_schedule(conn, limit=10)
        assert schedule(conn) == []

    def test_keeps_a_job_that_is_due_and_takes_it_once_however_many_rows_it_has(self, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        for minutes in (90, 80, 70):
            conn.execute("UPDATE jobs SET publish_at = now() - %s + %s", [2 * HOUR, timedelta(minutes=minutes)])
        assert len(schedule(conn)) == 4
        outbox.tidy_schedule(conn, limit=10)
        assert taken(conn) == [job.job_id]
        conn.execute("UPDATE jobs SET publish_at = now() + interval '1 hour'")
        outbox.tidy_schedule(conn, limit=10)
        assert [is_own for _, is_own in schedule(conn)] == [False, True], "the first moment has not come"

    def test_is_tidied_in_steps(self, conn: Connection) -> None:
        for _ in range(5):
            ledger.enqueue(conn)
        ledger.let_pass(conn, HOUR)
        conn.execute("UPDATE jobs SET state = 'cancelled', publish_at = NULL, finished_at = now()")
        assert [outbox.tidy_schedule(conn, limit=2) for _ in range(9)][:6] == [2, 2, 1, 0, 0, 0]

    @pytest.mark.parametrize("ending", ["commit", "rollback"])
    def test_loses_nobody_who_comes_back_to_the_very_moment_that_is_being_tidied(
        self, conn: Connection, other: Connection, ending: str
    ) -> None:
        """The row is being deleted while a job is given that same moment again."""
        job = ledger.enqueue(conn)
        ledger.let_pass(conn, HOUR)
        (moment,) = conn.execute("SELECT publish_at FROM jobs").fetchone() or (None,)
        conn.execute("UPDATE jobs SET publish_at = now() + interval '1 hour'")
        conn.execute("BEGIN")
        assert outbox.tidy_schedule(conn, limit=10) == 1
        back = threading.Thread(target=other.execute, args=("UPDATE jobs SET publish_at = %s", [moment]))
        back.start()
        pid = other.info.backend_pid
        waits = "SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = %s"
        with psycopg.connect(conn.info.dsn, password=conn.info.password, autocommit=True) as watcher:
            wait_until(lambda: watcher.execute(waits, [pid]).fetchone() == (True,))
        conn.execute(ending.upper().encode())
        back.join(10)
        assert taken(conn) == [job.job_id]

    def test_is_left_alone_where_somebody_else_tidies(self, conn: Connection, other: Connection) -> None:
        ledger.enqueue(conn)
        ledger.let_pass(conn, HOUR)
        conn.execute("UPDATE jobs SET state = 'cancelled', publish_at = NULL, finished_at = now()")
        with conn.transaction():
            assert outbox.tidy_schedule(conn, limit=10) == 1
            assert outbox.tidy_schedule(other, limit=10) == 0
        assert schedule(conn) == []


class TestUpdatesOfJobs:
    def test_touch_no_index(self, conn: Connection) -> None:
        """Every index of jobs stands on columns that no statement changes."""
        columns = conn.execute(
            "SELECT DISTINCT a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid"
            " AND (a.attnum = ANY (i.indkey) OR pg_get_indexdef(i.indexrelid) ~ ('\\m' || a.attname || '\\M'))"
            " WHERE i.indrelid = 'jobs'::regclass AND a.attnum > 0 ORDER BY 1"
        ).fetchall()
        assert columns == [("id",), ("order_number",)]

    def test_stay_in_their_page(self, database_url: str, owner: Connection) -> None:
        """Also where jobs fail, wait and die: batches of ten through each of the ways."""
        with Session.open(database_url) as conn:
            outcomes: list[Outcome | None] = [Completed(), Retry(timedelta(0), "X", "x"), DeadLetter("X", "x"), None]
            for outcome in outcomes * 5:
                jobs = [ledger.enqueue(conn) for _ in range(10)]
                outbox.mark_published(conn, jobs)
                token = ledger.new_token()
                lease.claim(conn, {job.job_id: None for job in jobs}, token=token, lease=HOUR)
                lease.settle(conn, dict.fromkeys([job.job_id for job in jobs], outcome), token=token)
            assert hot_share(owner, "jobs", conn) >= 0.95


class TestWhatIsFound:
    """By the narrow tables, whatever state a job is in."""

    def test_every_unfinished_state_is_listed(self, conn: Connection) -> None:
        for state in JobState:
            job = ledger.enqueue(conn)
            match state:
                case JobState.QUEUED:
                    outbox.mark_published(conn, [job])
                case JobState.CANCELLED:
                    operations.cancel(conn, [job.job_id])
                case JobState.PENDING:
                    pass
                case _:
                    token = ledger.new_token()
                    ledger.claim_one(conn, job.job_id, token=token)
                    endings: dict[JobState, Outcome] = {
                        JobState.COMPLETED: Completed(),
                        JobState.RETRY_WAITING: Retry(HOUR, "X", "x"),
                        JobState.DEAD_LETTER: DeadLetter("X", "x"),
                    }
                    if state in endings:
                        lease.settle(conn, {job.job_id: endings[state]}, token=token)
            assert [each.id for each in operations.list_jobs(conn, state=state)] == [str(job.job_id)], state
        assert len(operations.list_jobs(conn)) == len(JobState)

    def test_a_dead_job_is_counted_until_it_comes_back(self, conn: Connection) -> None:
        job, token = ledger.enqueue(conn), ledger.new_token()
        ledger.claim_one(conn, job.job_id, token=token)
        lease.settle(conn, {job.job_id: DeadLetter("X", "x")}, token=token)
        assert operations.backlog(conn).dead == 1
        dead_letter.redrive(conn, [job.job_id])
        assert operations.backlog(conn).dead == 0

    def test_a_key_is_free_again_the_moment_its_job_ends(self, conn: Connection, other: Connection) -> None:
        """Two enqueue at once: the second waits for the first, whose job ended in the same transaction."""
        first = new_job_id()
        timers.insert(conn, first, ledger.Sample(), unique_key="one")
        with conn.transaction():
            assert timers.cancel(conn, "one")
            got: list[object] = []
            second = threading.Thread(
                target=lambda: got.append(timers.insert(other, new_job_id(), ledger.Sample(), unique_key="one"))
            )
            second.start()
        second.join(10)
        assert got
        assert got[0] is not None
