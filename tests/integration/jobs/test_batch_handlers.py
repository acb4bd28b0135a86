"""Jobs of one type handled in one transaction: the same as one by one, or nothing at all."""

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from time import monotonic

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import Connection

from skincare.database.connection import DatabaseUnavailable
from skincare.errors import PermanentError, TransientError
from skincare.identifiers import JobId
from skincare.jobs import envelope
from skincare.jobs.models import DueJob
from skincare.jobs.registry import Handled
from skincare.jobs.repository import lease, operations
from skincare.jobs.worker.lease_session import RESERVE, LeaseSession
from tests.support import ledger
from tests.support.ledger import Sample
from tests.support.log import recorded_log
from tests.support.randomness import Times
from tests.support.worker_bench import LIMITS, Bench, plenty


class Together:
    """A bench whose samples write one row each. Of their names, what stands before the dash says how they behave."""

    def __init__(self, url: str, owner_url: str) -> None:
        self.owner = psycopg.connect(owner_url, autocommit=True)
        self.owner.execute("CREATE TABLE effects (name text PRIMARY KEY)")
        self.owner.execute("GRANT SELECT, INSERT ON effects TO app")
        self.bench = Bench(url, batch=self.handle_many)
        self.outside = psycopg.connect(url, autocommit=True)
        self.jobs: dict[str, DueJob] = {}
        self.batches: list[list[str]] = []
        self.inside: Callable[[Connection], None] = lambda _: None
        self.set_off: list[Sample] = []
        self.field = "sample"

    def close(self) -> None:
        self.bench.close()
        self.outside.close()
        self.owner.close()

    def add(self, *names: str) -> None:
        for name in names:
            self.jobs[name] = self.bench.add(name, lambda name=name: self.handle(name))  # type: ignore[misc]

    def handle(self, name: str) -> None:
        kind = name.partition("-")[0]
        if kind == "busy":
            raise TransientError("busy")
        if kind == "bad":
            raise PermanentError("order 7 is gone")
        with self.bench.database.connection() as conn:
            conn.execute("INSERT INTO effects VALUES (%s) ON CONFLICT DO NOTHING", [name])

    def handle_many(self, conn: Connection, payloads: Sequence[Sample]) -> Handled[Sample]:
        names = [payload.name for payload in payloads]
        self.batches.append(sorted(names))
        for name in names:
            match name.partition("-")[0]:
                case "stolen":
                    self.outside.execute(
                        "UPDATE jobs SET lease_token = uuidv7() WHERE id = %s", [self.jobs[name].job_id]
                    )
                case "cancelled":
                    assert operations.cancel(self.outside, [self.jobs[name].job_id])
                case "awkward" | "busy" | "bad":
                    raise TransientError("not together")
                case "swallowed":
                    with contextlib.suppress(psycopg.Error):
                        conn.execute("SELECT 1 / 0")
                    return Handled()
        left = [payload for payload in payloads if payload.name.startswith("left")]
        for name in names:
            if not name.startswith("left"):
                conn.execute("INSERT INTO effects VALUES (%s)", [name])
        self.inside(conn)
        lines = [("test.written", {self.field: name}) for name in names]
        return Handled(left, [ledger.enqueue(conn, sample) for sample in self.set_off], lines)

    def row(self, name: str) -> tuple[str, int, list[str]]:
        """State, attempts and the outcomes of the attempts of a job."""
        row = ledger.row(self.outside, self.jobs[name].job_id)
        return row["state"], row["attempts"], ledger.attempts(self.outside, self.jobs[name].job_id)

    def released(self) -> set[str]:
        """Return the jobs of the last batch whose messages come again."""
        assert self.bench.last is not None
        released = {envelope.decode(message.body).job_id for message, _ in self.bench.last.released}
        return {name for name, job in self.jobs.items() if job.job_id in released}

    def effects(self) -> set[str]:
        return {name for (name,) in self.outside.execute("SELECT name FROM effects")}

    def forget(self) -> None:
        self.owner.execute("DELETE FROM effects")
        self.owner.execute("DELETE FROM jobs")
        self.bench.source.purge()
        self.jobs.clear()
        self.batches.clear()


COMPLETED = ("completed", 1, ["completed"])


@pytest.fixture
def together(database_url: str, owner_url: str) -> Iterator[Together]:
    together = Together(database_url, owner_url)
    yield together
    together.close()


def kinds(*names: str) -> set[str]:
    return {name.partition("-")[0] for name in names}


class TestABatch:
    def test_ends_its_jobs_and_writes_their_effects_in_one_transaction(self, together: Together) -> None:
        seen = []
        together.add("a", "b", "c")
        together.inside = lambda _: seen.append((together.effects(), together.row("a")[0]))
        assert together.bench.work() == {"batchItemFailures": []}
        assert seen == [(set(), "processing")]
        assert together.batches == [["a", "b", "c"]]
        assert together.bench.ran == []
        assert together.effects() == {"a", "b", "c"}
        assert [together.row(name) for name in "abc"] == [COMPLETED] * 3

    @pytest.mark.parametrize("odd", ["busy", "bad", "awkward", "swallowed"])
    def test_in_which_one_fails_costs_its_neighbours_no_attempt(self, together: Together, odd: str) -> None:
        together.add("a", "b", f"{odd}-1")
        together.bench.work()
        assert sorted(together.bench.ran) == sorted(["a", "b", f"{odd}-1"])
        assert together.row("a") == together.row("b") == COMPLETED
        state = {"busy": "retry_waiting", "bad": "dead_letter"}.get(odd, "completed")
        assert together.row(f"{odd}-1")[:2] == (state, 1)

    @pytest.mark.parametrize("odd", ["stolen", "cancelled"])
    def test_that_lost_a_lease_runs_the_others_one_by_one_and_not_that_job(self, together: Together, odd: str) -> None:
        together.add("a", f"{odd}-1", "b")
        with recorded_log() as log:
            answer = together.bench.work()
        assert sorted(together.bench.ran) == ["a", "b"]
        assert together.effects() == {"a", "b"}
        assert together.row("a") == together.row("b") == COMPLETED
        assert len(answer["batchItemFailures"]) == 1
        assert "job.lease_lost" in [line["message"] for line in log.lines]

    def test_leaves_what_it_cannot_do_to_run_by_itself(self, together: Together) -> None:
        together.add("a", "left-1", "b")
        together.bench.work()
        assert together.bench.ran == ["left-1"]
        assert [together.row(name) for name in ("a", "left-1", "b")] == [COMPLETED] * 3
        assert together.effects() == {"a", "b", "left-1"}

    def test_may_leave_everything(self, together: Together) -> None:
        together.add("left-1", "left-2")
        together.bench.work()
        assert sorted(together.bench.ran) == ["left-1", "left-2"]

    def test_holds_copies_of_a_job_once(self, together: Together) -> None:
        together.add("a", "b")
        messages = together.bench.receive()
        together.bench.work([*messages, *[replace(each, message_id=f"{each.message_id}-2") for each in messages]])
        assert together.batches == [["a", "b"]]
        assert together.bench.last is not None
        assert len(together.bench.last.acked) == 4

    def test_is_two_jobs_or_more(self, together: Together) -> None:
        together.add("a")
        together.bench.work()
        assert together.batches == []
        assert together.bench.ran == ["a"]

    def test_with_a_malformed_payload_runs_one_by_one(self, together: Together) -> None:
        together.add("a", "b", "odd-1")
        together.outside.execute(
            "UPDATE jobs SET payload = '{\"name\": 7}' WHERE id = %s", [together.jobs["odd-1"].job_id]
        )
        together.bench.work()
        assert together.batches == []
        assert together.row("odd-1")[0] == "dead_letter"
        assert together.row("a") == together.row("b") == COMPLETED


class TestASuspect:
    def test_is_never_in_a_batch(self, together: Together) -> None:
        together.add("a", "b", "suspect-1", "suspect-2")
        for name in ("suspect-1", "suspect-2"):
            token = ledger.new_token()
            ledger.claim_one(together.outside, together.jobs[name].job_id, token=token, held=timedelta(microseconds=1))
        together.bench.work()
        assert together.batches == [["a", "b"]]
        assert together.bench.ran == ["suspect-1", "suspect-2"]
        assert together.row("suspect-1") == ("completed", 1, ["crashed", "completed"])

    def test_that_comes_later_is_not_in_one_either(self, together: Together) -> None:
        """Its crash was counted, and then it failed: it waits like any other, and it is a suspect still."""
        together.add("busy-1", "a", "b")
        job_id = together.jobs["busy-1"].job_id
        ledger.claim_one(together.outside, job_id, held=timedelta(microseconds=1))
        together.bench.work()
        assert together.row("busy-1")[0] == "retry_waiting"
        together.bench.let_pass(timedelta(minutes=10))
        together.add("c", "d")
        together.batches.clear()
        together.bench.work()
        assert together.batches == [["c", "d"]]


class TestAJobThatABatchSetOff:
    def test_is_published_after_commit(self, together: Together) -> None:
        together.set_off = [Sample(name="next")]
        together.add("a", "b")
        together.bench.work()
        together.set_off = []
        together.bench.work()
        assert together.bench.ran == ["next"]

    def test_is_not_there_when_the_batch_rolled_back(self, together: Together) -> None:
        together.set_off = [Sample(name="next")]
        together.add("a", "stolen-1")
        with recorded_log() as log:
            together.bench.work()
        assert "test.written" not in [line["message"] for line in log.lines]
        assert together.outside.execute("SELECT count(*) FROM jobs").fetchone() == (2,)


class TestTime:
    def test_that_a_failed_batch_used_up_hands_the_jobs_back(self, together: Together) -> None:
        left = [timedelta(seconds=40)]

        def take_long(_: Connection) -> None:
            left[0] = RESERVE + timedelta(seconds=1)
            raise TransientError("too long")

        together.inside = take_long
        together.add("a", "b")
        together.bench.work(time_left=lambda: left[0])
        assert together.bench.ran == []
        assert together.effects() == set()
        assert together.row("a") == together.row("b") == ("queued", 0, [])

    def test_that_is_too_short_starts_no_batch(self, together: Together) -> None:
        together.add("a", "b")
        together.bench.work(time_left=lambda: RESERVE + timedelta(seconds=1))
        assert together.batches == []
        assert together.row("a") == ("queued", 0, [])

    def test_of_a_batch_that_hangs_ends_the_process_and_is_a_crash_of_its_jobs(self, together: Together) -> None:
        together.bench.limits = replace(LIMITS, handler_limit=timedelta(seconds=0.1))
        together.bench.worker = together.bench.new_worker(together.bench.database)
        release, end = threading.Event(), monotonic() + 0.6

        def hang(_: Connection) -> None:
            release.wait(timeout=30)
            raise TransientError("the process is gone")

        together.inside = hang
        together.add("a", "b")
        together.bench.work(time_left=lambda: RESERVE + timedelta(seconds=end - monotonic()))
        assert together.bench.last is not None
        assert together.bench.last.hung
        assert len(together.bench.last.released) == 2
        assert together.effects() == set()
        assert together.row("a")[0] == "processing"
        release.set()
        together.bench.worker._threads.shutdown()


class TestTheDatabase:
    def test_that_goes_away_in_a_batch_costs_no_effect_and_no_job(self, together: Together) -> None:
        def cut(conn: Connection) -> None:
            together.outside.execute("SELECT pg_terminate_backend(%s)", [conn.info.backend_pid])
            conn.execute("SELECT 1")

        together.inside = cut
        together.add("a", "b")
        together.bench.work()
        assert sorted(together.bench.ran) == ["a", "b"]
        assert [together.row(name) for name in "ab"] == [COMPLETED] * 2

    def test_that_goes_away_between_settle_and_commit_has_written_nothing(
        self, together: Together, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settle = lease.settle

        def settle_and_cut(conn: Connection, *args: object, **options: object) -> set[JobId]:
            hit = settle(conn, *args, **options)  # type: ignore[arg-type]
            if conn.info.transaction_status.name == "INTRANS":
                together.outside.execute("SELECT pg_terminate_backend(%s)", [conn.info.backend_pid])
            return hit

        monkeypatch.setattr(lease, "settle", settle_and_cut)
        together.add("a", "b")
        together.bench.work()
        assert sorted(together.bench.ran) == ["a", "b"]
        assert [together.row(name) for name in "ab"] == [COMPLETED] * 2

    def test_whose_answer_to_commit_is_lost_lets_jobs_run_again_and_end_once(
        self, together: Together, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        transaction = LeaseSession.transaction

        @contextmanager
        def lossy(session: LeaseSession) -> Iterator[Connection]:
            with transaction(session) as conn:
                yield conn
            raise DatabaseUnavailable(TimeoutError())

        monkeypatch.setattr(LeaseSession, "transaction", lossy)
        together.add("a", "b")
        assert len(together.bench.work()["batchItemFailures"]) == 2
        assert [together.row(name) for name in "ab"] == [COMPLETED] * 2
        together.bench.let_pass(timedelta(seconds=6))
        assert together.bench.work() == {"batchItemFailures": []}
        assert together.bench.receive() == []
        assert [together.row(name) for name in "ab"] == [COMPLETED] * 2


class TestWhatIsTold:
    def test_and_cannot_be_told_takes_nothing_back(self, together: Together) -> None:
        together.field = "name"  # a logger has one of its own
        together.add("a", "b")
        assert together.bench.work() == {"batchItemFailures": []}
        assert together.row("a") == together.row("b") == COMPLETED

    def test_of_a_batch_is_a_line_with_each_of_its_jobs(self, together: Together) -> None:
        together.add(*"abc")
        with recorded_log() as log:
            together.bench.work()
        (line,) = [line for line in log.lines if line["message"] == "jobs.completed"]
        assert line["job_type"] == "sample"
        assert {job["job_id"] for job in line["jobs"]} == {str(job.job_id) for job in together.jobs.values()}
        assert "job.completed" not in [line["message"] for line in log.lines]
        assert [line["sample"] for line in log.lines if line["message"] == "test.written"] == list("abc")

    def test_of_one_that_rolled_back_names_the_reason_and_no_completion(self, together: Together) -> None:
        together.add("a", "awkward-1")
        with recorded_log() as log:
            together.bench.work()
        (line,) = [line for line in log.lines if line["message"] == "jobs.rolled_back"]
        assert (line["jobs"], line["error_class"], line["error"]) == (2, "TransientError", "not together")
        assert [line["message"] for line in log.lines].count("job.completed") == 2


KINDS = ["good", "good", "good", "left", "awkward", "swallowed", "busy", "bad", "stolen", "cancelled"]


def test_whoever_meets_in_a_batch_each_job_ends_as_if_it_were_alone(together: Together, times: Times) -> None:
    @settings(
        max_examples=times(short=30, long=1000), deadline=None, suppress_health_check=list(HealthCheck), database=None
    )
    @given(st.lists(st.sampled_from(KINDS), min_size=1, max_size=8))
    def check(drawn: list[str]) -> None:
        together.forget()
        names = [f"{kind}-{number}" for number, kind in enumerate(drawn)]
        together.add(*names)
        together.bench.work(together.bench.receive(), time_left=plenty)
        fails = kinds(*names) & {"awkward", "busy", "bad"}
        comes_again = together.released()
        for name, kind in zip(names, drawn, strict=True):
            if kind in {"stolen", "cancelled"} and len(names) > 1:
                # Where the batch failed first, nobody stole it. Whatever happened, no attempt of ours ended it then.
                assert together.row(name) in [COMPLETED, ("processing", 1, []), ("cancelled", 1, [])]
                assert fails or "swallowed" in drawn or together.row(name) != COMPLETED
            else:
                state = {"busy": "retry_waiting", "bad": "dead_letter"}.get(kind, "completed")
                assert together.row(name)[:2] == (state, 1), names
                assert len(together.row(name)[2]) == 1
                assert (name in together.effects()) == (state == "completed")
            ended_by_us = together.row(name) == COMPLETED or kind == "bad"
            assert (name in comes_again) != ended_by_us, names

    check()
