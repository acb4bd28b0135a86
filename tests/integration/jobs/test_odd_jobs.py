"""A row that this release does not know, or that Python cannot hold, harms nobody but itself.

An older release runs on the schema and the queue of a newer one after a rollback, and people type SQL. Whatever
PostgreSQL takes into the table of jobs, the relay, the workers, the gauges and the on-call engineer go on.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict
from datetime import timedelta
from uuid import UUID, uuid4

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import Connection
from psycopg.sql import SQL

from local.page.repository import count_jobs, newest_jobs, read_backlogs
from oncall.dead_letter_requests import FindDead, ListDead
from oncall.job_requests import ListJobs, ShowJob, ShowOutbox
from skincare.app import App
from skincare.deployment.metrics import Metric
from skincare.jobs.gauges import job_gauges
from skincare.jobs.models import DueJob
from skincare.jobs.relay import RelayReport, run_relay
from tests.support import ledger
from tests.support.oncall import ask
from tests.support.randomness import examples
from tests.support.worker_bench import Bench, plenty

LONG_NUMBER = '{"name": ' + "9" * 5000 + "}"
DEEP = '{"name": ' + "[" * 4000 + "]" * 4000 + "}"
TIMES = ["now()", "'infinity'", "'-infinity'", "'4713-01-01 00:00+00 BC'", "'12026-11-30 00:00+00'", "NULL"]
WORDS = ["''", r"E'\u202e\x07\n'", "repeat('x', 60000)", "'SKN-00000-00001'", "NULL"]
ODD = {
    "job_type": ["'push_stock'", r"E'\u202e'", "'sample'"],
    "queue": ["'stock'", "'Payments'", "' '", "'notifications'"],
    "payload": [
        "'{}'",
        f"'{LONG_NUMBER}'",
        f"'{DEEP}'",
        "'{\"name\": 1e400}'",
        '\'{"name": null, "new": {}}\'',
        '\'{"name": "x"}\'',
    ],
    "state": ["'pending'", "'queued'", "'retry_waiting'", "'dead_letter'"],
    "publish_at": ["now()", "'-infinity'", "'4713-01-01 00:00+00 BC'"],
    "created_at": [time for time in TIMES if time != "NULL"],
    "budget_from": [time for time in TIMES if time != "NULL"],
    "run_at": TIMES,
    "retry_at": TIMES,
    "first_failed_at": TIMES,
    "last_failed_at": TIMES,
    "finished_at": TIMES,
    "taken_at": TIMES,
    "order_number": WORDS,
    "request_id": WORDS,
    "error_class": WORDS,
    "error_message": WORDS,
    "release": WORDS,
    "attempts": ["0", "2147483646"],
    "crashes": ["0", "2147483646"],
    "sends": ["0", "2147483646"],
    "dead_letter_no": ["0", "2147483646"],
}
USUAL = {"job_type": "'sample'", "queue": "'notifications'", "payload": "'{}'", "publish_at": "now()"}


@pytest.fixture
def bench(database_url: str) -> Iterator[Bench]:
    bench = Bench(database_url)
    yield bench
    bench.close()


def insert(conn: Connection, **columns: str) -> UUID:
    """Insert a row whose columns hold what these SQL expressions say."""
    job_id = uuid4()
    given = {**USUAL, **columns, "id": f"'{job_id}'"}
    text = f"INSERT INTO jobs ({', '.join(given)}) VALUES ({', '.join(given.values())})"
    conn.execute(SQL(text))
    return job_id


def relay(bench: Bench) -> RelayReport:
    return run_relay(
        database=bench.database, queues=bench.queues, publisher=bench.publisher, budgets={}, time_left=plenty
    )


def due(bench: Bench, name: str) -> DueJob:
    with bench.database.connection() as conn:
        job = ledger.enqueue(conn, ledger.Sample(name=name))
        conn.execute("UPDATE jobs SET publish_at = now() WHERE id = %s", [job.job_id])
    return job


def everybody_looks(app: App, *odd: UUID) -> None:
    """Let the gauges, the local page and the on-call engineer read all there is; what they tell is JSON."""
    assert all(0 <= value < 10**10 for value in job_gauges(app.database).values())
    with app.database.connection() as conn:
        backlogs, _ = read_backlogs(conn), count_jobs(conn)
        newest_jobs(conn, per_state=10)
    json.dumps([asdict(each) for each in backlogs], allow_nan=False)
    json.dumps(asdict(ask(app, ShowOutbox())), allow_nan=False)
    assert {str(job_id) for job_id in odd} <= {job.id for job in ask(app, ListJobs()).jobs}
    ask(app, ListDead())
    ask(app, FindDead())
    for job_id in odd:
        assert ask(app, ShowJob(job_id=job_id)).job.id == str(job_id)


class TestARowOfANewerRelease:
    def test_of_an_unknown_queue_stays_due_while_the_others_are_sent(self, bench: Bench, conn: Connection) -> None:
        job_id = insert(conn, queue="'stock'", job_type="'push_stock'")
        before = conn.execute("SELECT publish_at FROM jobs WHERE id = %s", [job_id]).fetchone()
        job = due(bench, "mine")
        assert (relay(bench).sent, bench.state(job)) == (1, "queued")
        assert conn.execute("SELECT publish_at FROM jobs WHERE id = %s", [job_id]).fetchone() == before
        assert relay(bench).sent == 0

    def test_is_counted_and_makes_nothing_else_late(self, bench: Bench, conn: Connection) -> None:
        insert(conn, queue="'stock'", publish_at="now() - interval '1 hour'")
        insert(conn, queue="'stock'", publish_at="now() + interval '1 hour'")
        gauges = job_gauges(bench.database)
        assert gauges[Metric.JOBS_OF_UNKNOWN_QUEUES] == 1
        assert gauges[Metric.OUTBOX_LATENESS] == 0

    def test_more_of_them_than_one_take_holds_hide_nobody(self, bench: Bench, conn: Connection) -> None:
        conn.execute(
            "INSERT INTO jobs (id, job_type, queue, payload, publish_at)"
            " SELECT gen_random_uuid(), 'push_stock', 'stock', '{}', now() - interval '1 day'"
            " FROM generate_series(1, 1200)"
        )
        job = due(bench, "mine")
        assert relay(bench).sent == 1
        assert bench.state(job) == "queued"

    def test_of_a_queue_that_is_known_again_is_sent(self, bench: Bench, conn: Connection) -> None:
        job_id = insert(conn, queue="'stock'")
        relay(bench)
        conn.execute("UPDATE jobs SET queue = 'notifications' WHERE id = %s", [job_id])
        assert relay(bench).sent == 1


class TestAnOddRow:
    @pytest.mark.parametrize("column", ODD)
    def test_is_listed_and_stops_nobody(self, bench: Bench, app: App, conn: Connection, column: str) -> None:
        odd = [insert(conn, **{column: value}) for value in ODD[column]]
        job = due(bench, "mine")
        everybody_looks(app, *odd)
        relay(bench)
        assert bench.state(job) == "queued"
        bench.work()
        assert bench.ran.count("mine") == 1
        assert bench.state(job) == "completed"
        relay(bench)
        everybody_looks(app, *odd)

    @settings(max_examples=examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(data=st.data())
    def test_of_any_mixture_stops_nobody(
        self, bench: Bench, app: App, conn: Connection, owner_url: str, data: st.DataObject
    ) -> None:
        with psycopg.connect(owner_url) as owner:
            owner.execute("DELETE FROM jobs")
        names = data.draw(st.sets(st.sampled_from(sorted(ODD)), max_size=6))
        columns = {name: data.draw(st.sampled_from(ODD[name])) for name in sorted(names)}
        try:
            job_id = insert(conn, **columns)
        except psycopg.Error:
            return
        job = due(bench, "mixed")
        ran = bench.ran.count("mixed")
        relay(bench)
        for _ in range(3):
            bench.work()
        assert bench.ran.count("mixed") == ran + 1
        assert bench.state(job) == "completed"
        everybody_looks(app, job_id)

    def test_whose_payload_python_cannot_read_dies_and_tells_why(self, bench: Bench, conn: Connection) -> None:
        job_id = insert(conn, payload=f"'{LONG_NUMBER}'", job_type="'sample'")
        relay(bench)
        bench.work()
        row = conn.execute("SELECT state FROM jobs WHERE id = %s", [job_id]).fetchone()
        assert row is not None
        assert row[0] in {"dead_letter", "completed"}


class TestLateness:
    def test_counts_from_when_a_job_was_first_due_while_nothing_can_be_sent(self, bench: Bench) -> None:
        due(bench, "late")
        bench.source.down = True
        for _ in range(8):
            assert relay(bench).unavailable == 1
            bench.let_pass(timedelta(seconds=61))
        assert job_gauges(bench.database)[Metric.OUTBOX_LATENESS] >= 480

    def test_is_over_with_the_first_send_that_succeeds(self, bench: Bench) -> None:
        due(bench, "late")
        bench.source.down = True
        relay(bench)
        bench.let_pass(timedelta(minutes=10))
        bench.source.down = False
        assert relay(bench).sent == 1
        assert job_gauges(bench.database)[Metric.OUTBOX_LATENESS] == 0

    def test_the_engineer_sees_what_is_due_and_what_fails(self, bench: Bench, app: App) -> None:
        due(bench, "late")
        bench.source.down = True
        relay(bench)
        due(bench, "new")
        found = ask(app, ShowOutbox())
        assert (found.due, found.failing) == (2, 1)

    def test_a_job_that_was_sent_for_again_meanwhile_is_taken_at_once(self, bench: Bench) -> None:
        job = due(bench, "x")
        bench.source.down = True
        relay(bench)
        bench.source.down = False
        assert relay(bench).sent == 0
        with bench.database.connection() as conn:
            conn.execute("UPDATE jobs SET publish_at = now() WHERE id = %s", [job.job_id])
        assert relay(bench).sent == 1

    def test_one_queue_that_is_down_keeps_no_other_from_its_messages(self, bench: Bench, conn: Connection) -> None:
        conn.execute(
            "INSERT INTO jobs (id, job_type, queue, payload, publish_at)"
            " SELECT gen_random_uuid(), 'sample', 'documents', '{}', now() - interval '1 day'"
            " FROM generate_series(1, 600)"
        )
        job = due(bench, "mine")
        other = Bench(bench.database_url)
        other.source.down = True
        queues = {name: other.pair if name == "documents" else bench.pair for name in bench.queues}
        bench.publisher._queues = queues
        relay(bench)
        other.close()
        assert bench.state(job) == "queued"
