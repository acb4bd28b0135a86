"""The relay sends what is due and clears the dead-letter queues, whatever is in its way."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any, cast

import psycopg
import pytest

from skincare.adapters.sqs_message import message_from_answer
from skincare.deployment.queues import QueueName
from skincare.jobs import relay as relay_module
from skincare.jobs.envelope import Envelope
from skincare.jobs.models import DueJob
from skincare.jobs.ports import OutgoingMessage, QueuePair, ReceivedMessage
from skincare.jobs.publisher import PublishReport
from skincare.jobs.relay import TAKE_LIMIT, RelayReport, run_relay, sweep
from skincare.jobs.repository import dead_letter, lease, operations, outbox, quarantine
from skincare.jobs.retry import DeadLetter
from tests.fakes.queue import MemoryQueue
from tests.support import ledger
from tests.support.log import recorded_log
from tests.support.worker_bench import Bench, plenty

BUDGETS = {"sample": timedelta(hours=1)}
HOUR = timedelta(hours=1)
UNKNOWN = "01890000-0000-7000-8000-000000000000"
FOREIGN = [
    '{"Event":"s3:TestEvent"}',
    "[]",
    '"x"',
    "null",
    '{"id":"j","type":"unknown","payload":{}}',
    "{oops",
    f'{{"id":"{UNKNOWN}","type":"sample","payload":{{}}}}',
]


@pytest.fixture
def bench(database_url: str) -> Iterator[Bench]:
    bench = Bench(database_url)
    yield bench
    bench.close()


def relay(bench: Bench) -> RelayReport:
    return run_relay(
        database=bench.database, queues=bench.queues, publisher=bench.publisher, budgets=BUDGETS, time_left=plenty
    )


def sweep_once(bench: Bench) -> int:
    return sweep(
        bench.dead_letters,
        name=QueueName.NOTIFICATIONS,
        database=bench.database,
        budgets=BUDGETS,
        time_left=plenty,
    )


def add_due(bench: Bench, count: int) -> list[DueJob]:
    with bench.database.connection() as conn:
        jobs = [ledger.enqueue(conn, ledger.Sample(name=f"job {number}")) for number in range(count)]
        ledger.let_pass(conn, timedelta(minutes=2))
    return jobs


def dead_letter_job(bench: Bench, job: DueJob) -> None:
    with bench.database.connection() as conn:
        token = ledger.new_token()
        ledger.claim_one(conn, job.job_id, token=token)
        lease.settle(conn, {job.job_id: DeadLetter("NoSuchOrder", "order 7 is gone")}, token=token)


class TestPublishing:
    def test_goes_on_until_nothing_is_due(self, bench: Bench) -> None:
        jobs = add_due(bench, TAKE_LIMIT + 3)
        assert relay(bench).sent == len(jobs)
        assert len(bench.source.all()) == len(jobs)
        assert relay(bench).sent == 0

    def test_stops_while_the_queue_does_not_take_it_and_loses_nothing(self, bench: Bench) -> None:
        (job,) = add_due(bench, 1)
        bench.source.down = True
        report = relay(bench)
        assert (report.sent, report.unavailable) == (0, 1)
        assert bench.state(job) == "pending"
        bench.source.down = False
        bench.let_pass(timedelta(seconds=61))
        assert relay(bench).sent == 1

    def test_one_refused_entry_of_a_call_is_dead_lettered_and_its_neighbours_go(self, bench: Bench) -> None:
        jobs = add_due(bench, 3)
        bench.source.fail_next("enqueue", entries={1}, code="InvalidMessageContents", sender_fault=True)
        report = relay(bench)
        assert (report.sent, report.refused) == (2, 1)
        assert sorted(bench.state(job) for job in jobs) == ["dead_letter", "queued", "queued"]

    def test_an_entry_that_was_not_taken_this_time_goes_the_next(self, bench: Bench) -> None:
        jobs = add_due(bench, 3)
        bench.source.fail_next("enqueue", entries={1}, code="InternalError", sender_fault=False)
        assert relay(bench).unavailable == 1
        bench.let_pass(timedelta(seconds=61))
        relay(bench)
        assert {bench.state(job) for job in jobs} == {"queued"}

    def test_says_of_ten_jobs_at_a_time_which_they_are(self, bench: Bench) -> None:
        jobs = add_due(bench, 11)
        with recorded_log() as log:
            relay(bench)
        lines = [line for line in log.lines if line["message"] == "jobs.published"]
        assert sorted(len(line["jobs"]) for line in lines) == [1, 10]
        said = {job["job_id"] for line in lines for job in line["jobs"]}
        assert said == {str(job.job_id) for job in jobs}
        assert set(lines[0]["jobs"][0]) == {"job_id", "job_type", "order_number", "job_request_id"}

    def test_says_of_one_job_by_itself_which_it_is(self, bench: Bench) -> None:
        (job,) = add_due(bench, 1)
        with recorded_log() as log:
            relay(bench)
        (line,) = [line for line in log.lines if line["message"] == "job.published"]
        assert line["job_id"] == str(job.job_id)

    def test_a_dead_letter_goes_to_its_own_queue_with_its_number(self, bench: Bench) -> None:
        job = bench.add("bad")
        dead_letter_job(bench, job)
        relay(bench)
        (letter,) = bench.dead_letters.all()
        assert letter.body == Envelope(job.job_id, "sample", {"name": "bad"}, 1).encode()

    def test_a_job_too_large_for_sqs_reaches_the_dead_letter_queue_without_its_payload(self, bench: Bench) -> None:
        with bench.database.connection() as conn:
            job = ledger.enqueue(conn, ledger.Sample(name="x" * 1_100_000))
            ledger.let_pass(conn, timedelta(minutes=2))
        assert relay(bench).refused == 1
        assert bench.state(job) == "dead_letter"
        relay(bench)
        (letter,) = bench.dead_letters.all()
        assert letter.body == Envelope(job.job_id, "sample", {}, 1).encode()
        assert letter.message.attributes["error_class"] == "PublishRefused"
        bench.let_pass(timedelta(days=1))
        assert relay(bench).refused == 0

    def test_an_outage_is_one_warning_and_no_error(self, bench: Bench) -> None:
        add_due(bench, 5)
        bench.source.down = True
        with recorded_log() as log:
            relay(bench)
        lines = log.lines
        assert [line["jobs"] for line in lines if line["message"] == "publish.postponed"] == [5]
        assert [line for line in lines if line["level"] == "ERROR"] == []


class TestPublishNow:
    def test_writes_nothing_about_what_it_sent(self, bench: Bench) -> None:
        with bench.database.connection() as conn:
            job = ledger.enqueue(conn)
            before = ledger.row(conn, job.job_id)
            bench.publisher.publish_now([job])
            assert {**ledger.row(conn, job.job_id), "now": None} == {**before, "now": None}
        assert len(bench.source.all()) == 1

    def test_leaves_to_the_relay_what_the_queue_did_not_take(self, bench: Bench) -> None:
        with bench.database.connection() as conn:
            job = ledger.enqueue(conn)
        bench.source.fail_next("enqueue")
        bench.publisher.publish_now([job])
        assert relay(bench).sent == 1

    def test_marks_what_was_due_already(self, bench: Bench) -> None:
        add_due(bench, 1)
        with bench.database.connection() as conn:
            taken = outbox.take_due(conn, limit=1)
        bench.publisher.publish_now(taken, taken=True)
        assert (bench.state(taken[0]), relay(bench).sent) == ("queued", 0)

    def test_never_fails_its_caller(self, bench: Bench) -> None:
        (job,) = add_due(bench, 1)
        bench.source.down = True
        bench.publisher.publish_now([job])
        bench.database.close()
        assert bench.state(job) == "pending"


class TestSweep:
    def test_comes_across_more_dead_letters_than_one_receive_holds(self, bench: Bench) -> None:
        kept = [bench.add(f"job {number}") for number in range(25)]
        for job in kept:
            dead_letter_job(bench, job)
        relay(bench)
        waste = add_due(bench, 15)
        with bench.database.connection() as conn:
            operations.cancel(conn, [job.job_id for job in waste])
        for job in waste:
            bench.dead_letters.enqueue([OutgoingMessage(Envelope(job.job_id, "sample", {}).encode())])
        assert sweep_once(bench) == 15
        assert len(bench.dead_letters.visible()) == 25

    @pytest.mark.parametrize("body", FOREIGN)
    def test_keeps_what_belongs_to_no_job_whole_and_once_before_it_leaves_the_queue(
        self, bench: Bench, body: str
    ) -> None:
        for _ in range(2):
            bench.dead_letters.enqueue([OutgoingMessage(body, {"origin": "elsewhere"})])
            assert sweep_once(bench) == 1
        assert bench.dead_letters.all() == []
        with bench.database.connection() as conn:
            (message,) = quarantine.waiting(conn, limit=10)
            found = quarantine.content(conn, message.id)
        assert found == (message, body, {"origin": "elsewhere"}, {})
        assert message.queue == "notifications"
        assert message.reason

    def test_leaves_what_the_quarantine_does_not_take_where_it_is(self, bench: Bench, owner_url: str) -> None:
        bench.dead_letters.enqueue([OutgoingMessage("{oops")])
        with psycopg.connect(owner_url, autocommit=True) as owner:
            owner.execute("REVOKE INSERT ON quarantined_messages FROM app")
        with recorded_log() as log:
            assert sweep_once(bench) == 0
        assert [letter.body for letter in bench.dead_letters.visible()] == ["{oops"]
        assert "message.not_quarantined" in [line["message"] for line in log.lines]

    def test_what_a_person_closed_waits_again_when_it_is_met_again(self, bench: Bench) -> None:
        for _ in range(2):
            bench.dead_letters.enqueue([OutgoingMessage("{oops")])
            sweep_once(bench)
            with bench.database.connection() as conn:
                (message,) = quarantine.waiting(conn, limit=10)
                assert quarantine.close(conn, message.id)
                assert not quarantine.close(conn, message.id)
                assert quarantine.waiting(conn, limit=10) == []

    def test_what_the_worker_dead_lettered_arrives_in_the_quarantine_with_its_reason(self, bench: Bench) -> None:
        bench.put(f'{{"id":"{UNKNOWN}","type":"sample","payload":{{}}}}')
        bench.work()
        assert sweep_once(bench) == 1
        with bench.database.connection() as conn:
            (message,) = quarantine.waiting(conn, limit=10)
            found = quarantine.content(conn, message.id)
        assert found is not None
        assert found[2]["error_class"] == "JobUnknown"

    def test_a_message_that_sqs_gave_up_on_brings_its_job_back(self, bench: Bench) -> None:
        job = bench.add("x")
        (message,) = bench.receive()
        bench.source.ack([message])
        bench.dead_letters.enqueue([OutgoingMessage(message.body)])
        assert relay(bench).swept["notifications"] + relay(bench).sent >= 1
        assert bench.dead_letters.all() == []
        bench.work()
        assert bench.state(job) == "completed"

    def test_after_a_redrive_the_old_letter_goes_and_the_job_runs(self, bench: Bench) -> None:
        job = bench.add("x")
        bench.source.purge()
        dead_letter_job(bench, job)
        relay(bench)
        with bench.database.connection() as conn:
            dead_letter.redrive(conn, [job.job_id])
        relay(bench)
        bench.work()
        assert bench.state(job) == "completed"
        relay(bench)
        assert bench.dead_letters.all() == []


class TestTime:
    """A run has forty seconds, and each publishing or receiving takes a second or two of them."""

    def test_is_left_to_the_sweeps_by_a_backlog_that_never_ends(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        left = [plenty()]
        publish = bench.publisher.publish

        def endless(due: list[DueJob]) -> PublishReport:
            left[0] -= timedelta(seconds=1)
            report = publish(due)
            add_due(bench, len(due))
            return report

        monkeypatch.setattr(relay_module, "TAKE_LIMIT", 2)
        monkeypatch.setattr(bench.publisher, "publish", endless)
        add_due(bench, 2)
        bench.dead_letters.enqueue([OutgoingMessage("{oops")])
        report = run_relay(
            database=bench.database,
            queues=bench.queues,
            publisher=bench.publisher,
            budgets=BUDGETS,
            time_left=lambda: left[0],
        )
        assert report.sent > 40
        assert sum(report.swept.values()) == 1
        assert bench.dead_letters.all() == []

    def test_is_left_to_the_other_queues_by_one_with_a_thousand_dead_letters(self, bench: Bench) -> None:
        left = [plenty()]

        class Slow(MemoryQueue):
            received = 0

            def receive(self, **options: Any) -> list[ReceivedMessage]:
                left[0] -= timedelta(seconds=2)
                self.received += 1
                return super().receive(**options)

        queues = {name: QueuePair(bench.source, Slow(now=lambda: bench.time)) for name in QueueName}
        (job,) = add_due(bench, 1)
        dead_letter_job(bench, job)
        letter = OutgoingMessage(Envelope(job.job_id, job.job_type, job.payload, 1).encode())
        first, *_ = [cast(Slow, pair.dead_letters) for pair in queues.values()]
        for _ in range(100):
            first.enqueue([letter] * 10)
        run_relay(
            database=bench.database,
            queues=queues,
            publisher=bench.publisher,
            budgets=BUDGETS,
            time_left=lambda: left[0],
        )
        received = [cast(Slow, pair.dead_letters).received for pair in queues.values()]
        assert received[0] > 1
        assert 0 not in received
        assert len(first.visible()) == 1000


class TestAForeignMessage:
    def test_is_kept_whole_with_what_is_no_text(self, bench: Bench) -> None:
        found = message_from_answer(
            {
                "MessageId": "m-1",
                "ReceiptHandle": "r-1",
                "Body": "{oops",
                "MessageAttributes": {
                    "blob": {"DataType": "Binary", "BinaryValue": b"\x00\xff"},
                    "word": {"DataType": "String", "StringValue": "x"},
                    "count": {"DataType": "Number.int", "StringValue": "7"},
                },
            }
        )
        assert dict(found.attributes) == {"word": "x", "count": "7"}
        with bench.database.connection() as conn:
            number = quarantine.keep(
                conn,
                QueueName.PAYMENTS,
                found.body,
                found.attributes,
                binary=found.binary_attributes,
                reason="no JSON",
            )
            kept = quarantine.content(conn, number)
        assert kept is not None
        assert kept[1:] == ("{oops", {"word": "x", "count": "7"}, {"blob": "AP8="})

    @pytest.mark.parametrize(
        ("attributes", "binary", "is_the_same"),
        [
            ({"a": "1"}, {}, True),
            ({"a": "2"}, {}, False),
            ({"a": "1", "b": "2"}, {}, False),
            ({}, {}, False),
            ({}, {"a": "1"}, False),
            ({"a": "1"}, {"b": "AP8="}, False),
        ],
    )
    def test_is_another_one_where_an_attribute_differs(
        self, bench: Bench, attributes: dict[str, str], binary: dict[str, str], *, is_the_same: bool
    ) -> None:
        with bench.database.connection() as conn:
            first = quarantine.keep(conn, QueueName.PAYMENTS, "x", {"a": "1"}, reason="no")
            second = quarantine.keep(conn, QueueName.PAYMENTS, "x", attributes, binary=binary, reason="no")
        assert (first == second) is is_the_same
