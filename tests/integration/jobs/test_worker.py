"""A batch of jobs: each ends by itself, and only what must come again is reported."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from time import monotonic

import pytest

from skincare.database.connection import Database, StaticCredentials
from skincare.errors import PermanentError, TransientError
from skincare.identifiers import new_job_id
from skincare.jobs.envelope import Envelope
from skincare.jobs.ports import ReceivedMessage
from skincare.jobs.relay import run_relay
from skincare.jobs.retry import CRASH_LIMIT, TimeLeft
from skincare.jobs.worker.lease_session import RESERVE
from skincare.jobs.worker.unprocessable import GIVE_UP_AT_RECEIVE
from tests.support import ledger
from tests.support.log import recorded_log
from tests.support.worker_bench import LIMITS, Bench, plenty
from worker.lambda_function import BatchResponse

HOUR = timedelta(hours=1)
NOTHING_FAILED: BatchResponse = {"batchItemFailures": []}


@pytest.fixture
def bench(database_url: str) -> Iterator[Bench]:
    bench = Bench(database_url)
    yield bench
    bench.close()


def fail(error: Exception) -> Callable[[], None]:
    def handler() -> None:
        raise error

    return handler


def countdown(time: timedelta) -> TimeLeft:
    """Return a clock that really runs down."""
    end = monotonic() + time.total_seconds()
    return lambda: timedelta(seconds=end - monotonic())


def _wait_for(event: threading.Event) -> None:
    event.wait(timeout=30)


def identifiers(messages: list[ReceivedMessage]) -> set[str]:
    return {message.message_id for message in messages}


class TestPartialBatch:
    def test_ten_messages_of_which_one_is_no_json(self, bench: Bench) -> None:
        for number in range(9):
            bench.add(f"job {number}")
        bench.put("{oops")
        messages = bench.receive()
        (broken,) = [message for message in messages if message.body == "{oops"]
        assert bench.work(messages) == {"batchItemFailures": [{"itemIdentifier": broken.message_id}]}
        assert sorted(bench.ran) == [f"job {number}" for number in range(9)]

    @pytest.mark.parametrize("count", [1, 10])
    def test_a_batch_in_which_everything_fails_is_reported_and_not_raised(self, bench: Bench, count: int) -> None:
        for number in range(count):
            bench.add(f"job {number}", fail(TransientError("busy")))
        messages = bench.receive()
        response = bench.work(messages)
        assert {item["itemIdentifier"] for item in response["batchItemFailures"]} == identifiers(messages)
        assert len(response["batchItemFailures"]) == count

    def test_a_warm_call_forgets_the_failures_of_the_one_before(self, bench: Bench) -> None:
        bench.add("bad", fail(TransientError("busy")))
        assert bench.work() != NOTHING_FAILED
        bench.add("good")
        assert bench.work() == NOTHING_FAILED

    def test_an_empty_batch_is_answered(self, bench: Bench) -> None:
        assert bench.work([]) == NOTHING_FAILED

    def test_a_failed_statement_of_one_job_does_not_reach_the_next(self, bench: Bench) -> None:
        def break_a_constraint() -> None:
            with bench.database.connection() as conn:
                conn.execute("INSERT INTO products (sku, name, price_rupiah, stock) VALUES ('A', 'Toner', 1, -1)")

        bench.database = Database(StaticCredentials(bench.database_url), max_connections=1)
        bench.worker = bench.new_worker(bench.database)
        bench.add("bad", break_a_constraint)
        good = bench.add("good", lambda: None)
        bench.work()
        assert bench.state(good) == "completed"
        with bench.database.connection() as conn:
            assert conn.info.transaction_status.name == "IDLE"

    def test_a_transaction_that_a_job_left_open_is_rolled_back(self, bench: Bench) -> None:
        def leave_open() -> None:
            with bench.database.connection() as conn:
                conn.execute("BEGIN")
                conn.execute("INSERT INTO suppressed_recipients (email, reason) VALUES ('a@example.com', 'test')")

        bench.add("careless", leave_open)
        bench.work()
        with bench.database.connection() as conn:
            assert conn.execute("SELECT count(*) FROM suppressed_recipients").fetchone() == (0,)


class TestOutcomes:
    def test_a_transient_failure_comes_again_after_its_backoff(self, bench: Bench) -> None:
        job = bench.add("bad", fail(TransientError("busy")))
        bench.work()
        assert bench.state(job) == "retry_waiting"
        bench.let_pass(timedelta(seconds=1))
        assert bench.receive() == []
        bench.let_pass(timedelta(seconds=3))
        bench.handlers.clear()
        assert bench.work() == NOTHING_FAILED
        assert bench.ran == ["bad", "bad"]
        assert bench.state(job) == "completed"

    def test_a_permanent_failure_is_acked_and_reaches_the_dead_letter_queue_with_its_reason(self, bench: Bench) -> None:
        class NoSuchOrder(PermanentError):
            pass

        job = bench.add("bad", fail(NoSuchOrder("order 7 is gone")))
        assert bench.work() == NOTHING_FAILED
        assert bench.state(job) == "dead_letter"
        run_relay(database=bench.database, queues=bench.queues, publisher=bench.publisher, budgets={}, time_left=plenty)
        (dead,) = bench.dead_letters.receive(limit=10, wait=timedelta(0))
        assert '"dead_letter_no":1' in dead.body
        assert dead.attributes["error_class"] == "NoSuchOrder"
        assert dead.attributes["error_message"] == "order 7 is gone"
        assert dead.attributes["attempts"] == "1"

    def test_a_spent_budget_ends_the_job(self, bench: Bench) -> None:
        job = bench.add("bad", fail(TransientError("busy")))
        with bench.database.connection() as conn:
            ledger.let_pass(conn, HOUR)
        assert bench.work() == NOTHING_FAILED
        assert bench.state(job) == "dead_letter"

    def test_a_malformed_payload_is_permanent_and_its_values_are_not_kept(self, bench: Bench) -> None:
        job = bench.add("x")
        with bench.database.connection() as conn:
            conn.execute("""UPDATE jobs SET payload = '{"name": ["buyer@example.com"]}'""")
        assert bench.work() == NOTHING_FAILED
        with bench.database.connection() as conn:
            row = ledger.row(conn, job.job_id)
        assert (row["state"], row["error_message"]) == ("dead_letter", "payload is malformed at name")

    def test_a_handler_that_asks_the_process_to_exit_fails_alone(self, bench: Bench) -> None:
        def leave() -> None:
            raise SystemExit(3)

        bad, good = bench.add("bad", leave), bench.add("good")
        bench.work()
        assert (bench.state(bad), bench.state(good)) == ("retry_waiting", "completed")


class TestCopies:
    def test_copies_in_one_batch_run_once_and_share_the_outcome(self, bench: Bench) -> None:
        bench.add("once")
        (first,) = bench.receive()
        same_message = ReceivedMessage("m-1", "other-receipt", first.body)
        same_job = ReceivedMessage("m-2", "third-receipt", first.body)
        assert bench.work([first, same_message, same_job]) == NOTHING_FAILED
        assert bench.ran == ["once"]

    def test_when_the_effect_fails_every_copy_is_reported(self, bench: Bench) -> None:
        bench.add("bad", fail(TransientError("busy")))
        (first,) = bench.receive()
        copy = ReceivedMessage("m-2", "other-receipt", first.body)
        response = bench.work([first, copy])
        assert {item["itemIdentifier"] for item in response["batchItemFailures"]} == {first.message_id, "m-2"}
        assert bench.ran == ["bad"]

    def test_a_copy_that_comes_while_the_job_runs_defers(self, bench: Bench) -> None:
        job = bench.add("slow")
        (message,) = bench.receive()
        seen: list[object] = []
        bench.handlers["slow"] = lambda: seen.append(
            bench.work([ReceivedMessage("m-2", "r", message.body)], worker=bench.new_worker(bench.database))
        )
        bench.work([message])
        assert seen == [{"batchItemFailures": [{"itemIdentifier": "m-2"}]}]
        assert bench.ran == ["slow"]
        assert bench.state(job) == "completed"

    def test_a_copy_that_comes_after_the_end_is_acked(self, bench: Bench) -> None:
        bench.add("once")
        (message,) = bench.receive()
        bench.work([message])
        assert bench.work([message]) == NOTHING_FAILED
        assert bench.ran == ["once"]


class TestUnreadable:
    BODIES = (
        '{"Event":"s3:TestEvent"}',
        "[]",
        '"x"',
        "null",
        '{"id":"j","type":"unknown","payload":{}}',
        '{"detail-type":"Scheduled Event","source":"aws.events"}',
    )

    @pytest.mark.parametrize("body", BODIES)
    def test_a_foreign_message_waits_for_a_release_that_knows_it_then_goes_where_a_person_looks(
        self, bench: Bench, body: str
    ) -> None:
        bench.put(body)
        for _ in range(GIVE_UP_AT_RECEIVE - 1):
            (message,) = bench.receive()
            assert bench.work([message]) == {"batchItemFailures": [{"itemIdentifier": message.message_id}]}
            assert bench.receive() == []
            bench.let_pass(timedelta(seconds=361))
        assert bench.dead_letters.all() == []
        assert bench.work() == NOTHING_FAILED
        (dead,) = bench.dead_letters.all()
        assert dead.body == body
        assert dead.message.attributes["error_class"] == "MessageUnreadable"

    def test_a_live_job_of_an_unknown_type_is_dead_lettered_in_the_ledger(self, bench: Bench) -> None:
        job = bench.add("x")
        with bench.database.connection() as conn:
            conn.execute("UPDATE jobs SET job_type = 'from_a_newer_release'")
        (message,) = bench.receive()
        newer = Envelope(job.job_id, "from_a_newer_release", {}).encode()
        late = ReceivedMessage(message.message_id, message.receipt_handle, newer, receive_count=GIVE_UP_AT_RECEIVE)
        assert bench.work([late]) == NOTHING_FAILED
        assert bench.state(job) == "dead_letter"
        assert bench.dead_letters.all() == []

    def test_while_the_dead_letter_queue_is_down_it_is_kept(self, bench: Bench) -> None:
        bench.dead_letters.down = True
        message = ReceivedMessage("m-1", "r", "{oops", receive_count=GIVE_UP_AT_RECEIVE)
        assert bench.work([message]) == {"batchItemFailures": [{"itemIdentifier": "m-1"}]}

    def test_a_job_that_the_ledger_does_not_have_is_never_dropped_silently(self, bench: Bench) -> None:
        bench.put(Envelope(new_job_id(), "sample", {}).encode())
        assert bench.work() == NOTHING_FAILED
        (dead,) = bench.dead_letters.all()
        assert dead.message.attributes["error_class"] == "JobUnknown"


class TestDatabaseAway:
    def test_at_the_claim_everything_comes_again_and_nothing_is_counted(self, bench: Bench) -> None:
        job = bench.add("x")
        away = Database(StaticCredentials("postgresql://app@127.0.0.1:1/none"), max_connections=1)
        messages = bench.receive()
        response = bench.work(messages, worker=bench.new_worker(away))
        assert {item["itemIdentifier"] for item in response["batchItemFailures"]} == identifiers(messages)
        assert bench.ran == []
        with bench.database.connection() as conn:
            assert ledger.row(conn, job.job_id)["attempts"] == 0

    def test_at_the_settle_it_is_asked_until_the_deadline_and_then_the_lease_runs_out(self, bench: Bench) -> None:
        left = [timedelta(seconds=40)]

        def cut_the_line() -> None:
            flaky.break_next = True

        flaky = _FlakyDatabase(bench.database_url, on_break=lambda: left.__setitem__(0, timedelta(seconds=0.5)))
        job = bench.add("x", cut_the_line)
        messages = bench.receive()
        response = bench.work(messages, time_left=lambda: left[0], worker=bench.new_worker(flaky))
        assert {item["itemIdentifier"] for item in response["batchItemFailures"]} == identifiers(messages)
        assert bench.state(job) == "processing"
        bench.let_pass(timedelta(seconds=60))
        bench.handlers.clear()
        assert bench.work() == NOTHING_FAILED
        assert bench.state(job) == "completed"
        with bench.database.connection() as conn:
            assert ledger.attempts(conn, job.job_id) == ["crashed", "completed"]

    def test_at_the_settle_it_may_come_back_in_time(self, bench: Bench) -> None:
        flaky = _FlakyDatabase(bench.database_url, on_break=lambda: None)
        job = bench.add("x", lambda: setattr(flaky, "break_next", True))
        assert bench.work(worker=bench.new_worker(flaky)) == NOTHING_FAILED
        assert flaky.broken == 1
        assert bench.state(job) == "completed"


class _FlakyDatabase(Database):
    def __init__(self, url: str, *, on_break: Callable[[], None]) -> None:
        super().__init__(StaticCredentials(url), max_connections=4)
        self.break_next = False
        self.broken = 0
        self._on_break = on_break

    def connection(self, **_: object):  # type: ignore[no-untyped-def]
        if self.break_next:
            self.break_next, self.broken = False, self.broken + 1
            self._on_break()
            raise TransientError("database unavailable")
        return super().connection()


class TestTimeRunningOut:
    def test_what_cannot_start_in_time_is_handed_back_with_its_attempt(self, bench: Bench) -> None:
        job = bench.add("x")
        messages = bench.receive()
        response = bench.work(messages, time_left=lambda: timedelta(seconds=16))
        assert {item["itemIdentifier"] for item in response["batchItemFailures"]} == identifiers(messages)
        assert bench.ran == []
        assert bench.state(job) == "queued"
        bench.let_pass(timedelta(seconds=6))
        assert bench.work() == NOTHING_FAILED

    def test_a_hung_handler_leaves_its_neighbours_settled_and_ends_the_process(self, database_url: str) -> None:
        bench = Bench(database_url, limits=replace(LIMITS, handler_limit=timedelta(seconds=0.1)))
        release = threading.Event()
        hung, good = bench.add("hung", lambda: _wait_for(release)), bench.add("good")
        bench.work(time_left=countdown(RESERVE + timedelta(seconds=0.6)))
        release.set()
        assert bench.last is not None
        assert bench.last.hung
        assert (bench.state(hung), bench.state(good)) == ("processing", "completed")
        assert len(bench.last.acked) == 1
        ((_, delay),) = bench.last.released
        with bench.database.connection() as conn:
            row = ledger.row(conn, hung.job_id)
        assert delay > row["lease_until"] - row["now"]
        bench.close()

    def test_a_job_that_finished_is_settled_within_a_second_though_a_neighbour_goes_on(self, bench: Bench) -> None:
        quick = bench.add("quick")
        settled = threading.Event()

        def wait_for_it() -> None:
            deadline = threading.Event()
            while bench.state(quick) != "completed" and not deadline.wait(0.05):
                pass
            settled.set()

        bench.add("slow", wait_for_it)
        watchdog = threading.Timer(20, bench.handlers.clear)
        watchdog.start()
        bench.work()
        watchdog.cancel()
        assert settled.is_set()


class TestPoison:
    def crash(self, bench: Bench) -> None:
        """The process dies as soon as the poison has run: nothing is settled or answered, leases run out."""
        database = _DyingDatabase(bench.database_url)
        bench.handlers["poison"] = database.die
        with pytest.raises(_ProcessDied):
            bench.work(worker=bench.new_worker(database))
        bench.let_pass(timedelta(minutes=6))

    def test_its_neighbours_are_done_and_it_is_dead_lettered_at_its_last_crash(self, bench: Bench) -> None:
        poison = bench.add("poison", lambda: None)
        neighbours = [bench.add(f"job {number}") for number in range(5)]
        for _ in range(CRASH_LIMIT):
            self.crash(bench)
        assert {bench.state(job) for job in neighbours} == {"completed"}
        bench.work()
        assert bench.state(poison) == "dead_letter"
        with bench.database.connection() as conn:
            assert {ledger.row(conn, job.job_id)["attempts"] for job in neighbours} == {1}
            assert ledger.attempts(conn, poison.job_id) == ["crashed"] * CRASH_LIMIT

    def test_a_suspect_runs_alone_after_the_others_are_settled(self, bench: Bench) -> None:
        suspect = bench.add("suspect")
        with bench.database.connection() as conn:
            ledger.claim_one(conn, suspect.job_id)
        bench.let_pass(timedelta(minutes=6))
        other = bench.add("other")
        states: list[str] = []
        bench.handlers["suspect"] = lambda: states.append(bench.state(other))
        assert bench.work() == NOTHING_FAILED
        assert states == ["completed"]
        assert bench.ran == ["other", "suspect"]

    def test_a_suspect_without_time_waits_and_nothing_is_counted(self, bench: Bench) -> None:
        suspect = bench.add("suspect")
        with bench.database.connection() as conn:
            ledger.claim_one(conn, suspect.job_id)
        bench.let_pass(timedelta(minutes=6))
        response = bench.work(time_left=lambda: timedelta(seconds=10))
        assert len(response["batchItemFailures"]) == 1
        with bench.database.connection() as conn:
            assert ledger.row(conn, suspect.job_id)["crashes"] == 0


class _ProcessDied(BaseException):
    """Nothing runs after it, as after a kill."""


class _DyingDatabase(Database):
    def __init__(self, url: str) -> None:
        super().__init__(StaticCredentials(url), max_connections=4)
        self._dead = False

    def die(self) -> None:
        self._dead = True

    def connection(self, **_: object):  # type: ignore[no-untyped-def]
        if self._dead:
            raise _ProcessDied
        return super().connection()


class TestVisibility:
    def test_a_call_that_fails_leaves_the_message_reported(self, bench: Bench) -> None:
        bench.add("bad", fail(TransientError("busy")))
        messages = bench.receive()
        bench.source.down = True
        response = bench.work(messages)
        assert len(response["batchItemFailures"]) == 1

    def test_one_refused_entry_is_counted_and_leaves_every_message_reported(self, bench: Bench) -> None:
        for number in range(3):
            bench.add(f"bad {number}", fail(TransientError("busy")))
        messages = bench.receive()
        bench.source.fail_next("nack", entries={1})
        with recorded_log() as log:
            response = bench.work(messages)
        assert {item["itemIdentifier"] for item in response["batchItemFailures"]} == identifiers(messages)
        assert [line["messages"] for line in log.lines if line["message"] == "batch.visibility_refused"] == [1]


class TestRoundTrips:
    def test_a_batch_costs_one_claim_and_one_settle(self, bench: Bench) -> None:
        for number in range(10):
            bench.add(f"job {number}")
        counting = _CountingDatabase(bench.database_url)
        bench.work(worker=bench.new_worker(counting))
        assert counting.lent == 2


class _CountingDatabase(Database):
    def __init__(self, url: str) -> None:
        super().__init__(StaticCredentials(url), max_connections=4)
        self.lent = 0

    def connection(self, **_: object):  # type: ignore[no-untyped-def]
        self.lent += 1
        return super().connection()


class TestAMessageThatIsDeadLettered:
    def test_takes_along_what_it_came_with(self, bench: Bench) -> None:
        given = {f"a{number}": "x" for number in range(9)} | {"attempts": "theirs"}
        message = ReceivedMessage(
            "m-1", "r", "{oops", GIVE_UP_AT_RECEIVE, attributes=given, binary_attributes={"blob": "AP8="}
        )
        bench.work([message])
        (letter,) = bench.dead_letters.all()
        kept = dict(letter.message.attributes)
        assert len(kept) <= 10
        assert (kept["a0"], kept["error_class"], kept["attempts"]) == (
            "x",
            "MessageUnreadable",
            str(GIVE_UP_AT_RECEIVE),
        )
