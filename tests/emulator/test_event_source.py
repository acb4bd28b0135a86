import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from emulator.functions.function import Function, FunctionStopped, InvocationFailed
from emulator.log.logbook import LogBook
from emulator.queues.event_source import EventSource
from tests.support.local_system import pool_of, sample, wait_for
from tests.support.moto import ShiftedClock

if TYPE_CHECKING:
    from types_boto3_sqs import SQSClient
    from types_boto3_sqs.type_defs import MessageAttributeValueTypeDef

FUNCTION_TIMEOUT = timedelta(seconds=2)
VISIBILITY = 6 * FUNCTION_TIMEOUT


class FakeFunction:
    """Answers what `decide` makes of the bodies of a batch; keeps the events; counts the batches at work."""

    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.failing: set[str] = set()
        self.answer: bytes | InvocationFailed | None = None
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.at_work = 0
        self.most_at_work = 0
        self._lock = threading.Lock()

    def invoke(self, payload: bytes, *, timeout: timedelta, trace_id: str | None = None) -> bytes:
        event = json.loads(payload)
        with self._lock:
            self.events.append(event)
            self.at_work += 1
            self.most_at_work = max(self.most_at_work, self.at_work)
        self.may_answer.wait(30)
        with self._lock:
            self.at_work -= 1
        if isinstance(self.answer, InvocationFailed):
            raise self.answer
        failures = [
            {"itemIdentifier": record["messageId"]} for record in event["Records"] if record["body"] in self.failing
        ]
        return self.answer or json.dumps({"batchItemFailures": failures}).encode()

    @property
    def bodies(self) -> list[str]:
        return [record["body"] for event in list(self.events) for record in event["Records"]]


class QueueUnderTest:
    """A queue of its own for one test, and what a person sees of it."""

    def __init__(self, sqs: "SQSClient") -> None:
        self.sqs = sqs
        visibility = str(int(VISIBILITY.total_seconds()))
        created = sqs.create_queue(QueueName=f"queue-{uuid.uuid4()}", Attributes={"VisibilityTimeout": visibility})
        self.url = created["QueueUrl"]
        attributes = sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=["QueueArn"])["Attributes"]
        self.arn = attributes["QueueArn"]

    def hide_for(self, visibility: timedelta) -> None:
        seconds = str(int(visibility.total_seconds()))
        self.sqs.set_queue_attributes(QueueUrl=self.url, Attributes={"VisibilityTimeout": seconds})

    def send(self, *bodies: str) -> None:
        for body in bodies:
            self.sqs.send_message(QueueUrl=self.url, MessageBody=body)

    @property
    def messages(self) -> int:
        """All messages of the queue, visible or in flight."""
        answer = self.sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=["All"])["Attributes"]
        return int(answer["ApproximateNumberOfMessages"]) + int(answer["ApproximateNumberOfMessagesNotVisible"])


@pytest.fixture
def queue(sqs: "SQSClient") -> QueueUnderTest:
    return QueueUnderTest(sqs)


@pytest.fixture
def clock() -> Iterator[ShiftedClock]:
    clock = ShiftedClock()
    with clock.driving_moto():
        yield clock


@contextmanager
def consuming(
    queue: QueueUnderTest,
    function: Function,
    folder: Path,
    *,
    concurrency: int = 1,
    batch_size: int = 10,
    batch_window: timedelta = timedelta(0),
) -> Iterator[EventSource]:
    log = LogBook(folder, None)
    source = EventSource(
        queue.sqs,
        function,
        queue_url=queue.url,
        queue_arn=queue.arn,
        function_timeout=FUNCTION_TIMEOUT,
        batch_size=batch_size,
        batch_window=batch_window,
        concurrency=concurrency,
        log=log,
        longest_poll_s=1,
    )
    source.start()
    try:
        yield source
    finally:
        source.stop()
        log.close()


class TestABatch:
    def test_the_function_gets_messages_as_lambda_hands_them_over(self, queue: QueueUnderTest, tmp_path: Path) -> None:
        attribute: MessageAttributeValueTypeDef = {"StringValue": "trace-1", "DataType": "String"}
        sent = queue.sqs.send_message(QueueUrl=queue.url, MessageBody="hello", MessageAttributes={"trace": attribute})
        function = FakeFunction()
        with consuming(queue, function, tmp_path):
            wait_for(lambda: function.events, "the batch")
        [record] = function.events[0].pop("Records")
        assert function.events == [{}]
        attributes = record.pop("attributes")
        assert attributes["ApproximateReceiveCount"] == "1"
        assert {"SentTimestamp", "SenderId", "ApproximateFirstReceiveTimestamp"} <= attributes.keys()
        assert all(isinstance(value, str) for value in attributes.values())
        assert record.pop("receiptHandle")
        assert record == {
            "messageId": sent["MessageId"],
            "body": "hello",
            "messageAttributes": {
                "trace": {
                    "stringValue": "trace-1",
                    "stringListValues": [],
                    "binaryListValues": [],
                    "dataType": "String",
                }
            },
            "md5OfBody": sent["MD5OfMessageBody"],
            "md5OfMessageAttributes": sent["MD5OfMessageAttributes"],
            "eventSource": "aws:sqs",
            "eventSourceARN": queue.arn,
            "awsRegion": "ap-southeast-3",
        }

    def test_only_the_messages_that_were_not_reported_are_deleted(
        self, queue: QueueUnderTest, tmp_path: Path, clock: ShiftedClock
    ) -> None:
        queue.send("good", "bad", "fine")
        function = FakeFunction()
        function.failing = {"bad"}
        with consuming(queue, function, tmp_path):
            wait_for(lambda: queue.messages == 1, "two deletions")
            assert sorted(function.bodies) == ["bad", "fine", "good"]
            function.failing = set()
            clock.advance(VISIBILITY)
            wait_for(lambda: queue.messages == 0, "the last deletion")
        assert function.bodies[3:] == ["bad"]
        assert function.events[-1]["Records"][0]["attributes"]["ApproximateReceiveCount"] == "2"

    @pytest.mark.parametrize(
        "answer",
        [
            InvocationFailed("ValueError", "raised"),
            InvocationFailed("Sandbox.Timedout", "too slow"),
            b'{"batchItemFailures": [{"itemIdentifier": ""}]}',
            b'{"batchItemFailures": [{"itemIdentifier": "not-in-the-batch"}]}',
        ],
        ids=["raised", "timed out", "empty identifier", "unknown identifier"],
    )
    def test_a_batch_that_failed_as_a_whole_comes_back_after_the_visibility_timeout(
        self, queue: QueueUnderTest, tmp_path: Path, clock: ShiftedClock, answer: bytes | InvocationFailed
    ) -> None:
        queue.send("one", "two")
        function = FakeFunction()
        function.answer = answer
        with consuming(queue, function, tmp_path):
            wait_for(lambda: sorted(function.bodies) == ["one", "two"] and function.at_work == 0, "the batch")
            assert queue.messages == 2
            function.answer = None
            clock.advance(VISIBILITY)
            wait_for(lambda: queue.messages == 0, "the deletions")
        assert sorted(function.bodies) == ["one", "one", "two", "two"]

    def test_one_that_no_function_got_because_we_stop_is_visible_again_at_once(
        self, queue: QueueUnderTest, tmp_path: Path
    ) -> None:
        queue.send("unheard")
        function = FakeFunction()
        function.answer = FunctionStopped()
        with consuming(queue, function, tmp_path):
            wait_for(lambda: function.bodies[:2] == ["unheard", "unheard"], "the second delivery")

    def test_it_has_at_most_as_many_messages_as_the_limit_says(self, queue: QueueUnderTest, tmp_path: Path) -> None:
        queue.send(*(str(number) for number in range(7)))
        function = FakeFunction()
        with consuming(queue, function, tmp_path, batch_size=3):
            wait_for(lambda: queue.messages == 0, "the deletions")
        assert sorted(function.bodies) == [str(number) for number in range(7)]
        assert max(len(event["Records"]) for event in function.events) == 3

    def test_within_the_window_it_waits_for_more(self, queue: QueueUnderTest, tmp_path: Path) -> None:
        window = timedelta(seconds=20)
        queue.hide_for(VISIBILITY + window)
        queue.send("first")
        function = FakeFunction()
        with consuming(queue, function, tmp_path, batch_size=2, batch_window=window) as source:
            wait_for(lambda: _in_flight(queue) == 1, "the first message")
            assert function.events == []
            queue.send("second")
            wait_for(lambda: queue.messages == 0, "the deletions")
            assert source.polling.is_set()
        assert [len(event["Records"]) for event in function.events] == [2]

    def test_a_container_that_dies_in_the_middle_leaves_the_messages_to_come_back(
        self, queue: QueueUnderTest, tmp_path: Path, clock: ShiftedClock
    ) -> None:
        queue.send("crash", "neighbour")
        with pool_of(sample("samples.batch"), tmp_path) as pool, consuming(queue, pool, tmp_path):
            log = tmp_path / f"{queue.url.rpartition('/')[2]}.log"
            wait_for(lambda: log.exists() and "Runtime.ExitError" in log.read_text(), "the crash")
            assert queue.messages == 2
            clock.advance(VISIBILITY)
            wait_for(lambda: log.read_text().count("batch.failed") == 2, "the second crash")


class TestTheMapping:
    def test_no_more_batches_are_at_work_than_its_concurrency_and_none_is_received_too_early(
        self, queue: QueueUnderTest, tmp_path: Path
    ) -> None:
        queue.send(*(str(number) for number in range(6)))
        function = FakeFunction()
        function.may_answer.clear()
        with consuming(queue, function, tmp_path, concurrency=2, batch_size=1) as source:
            wait_for(lambda: function.at_work == 2 and source._free._value == 0, "two batches at work")
            assert _in_flight(queue) == 2
            function.may_answer.set()
            wait_for(lambda: queue.messages == 0, "the deletions")
        assert function.most_at_work == 2

    def test_a_queue_that_hides_messages_for_less_than_six_timeouts_is_refused(
        self, sqs: "SQSClient", tmp_path: Path
    ) -> None:
        queue = QueueUnderTest(sqs)
        queue.hide_for(VISIBILITY - timedelta(seconds=1))
        with pytest.raises(ValueError, match="six function timeouts"), consuming(queue, FakeFunction(), tmp_path):
            pass

    def test_after_stopping_it_takes_nothing_more(self, queue: QueueUnderTest, tmp_path: Path) -> None:
        function = FakeFunction()
        with consuming(queue, function, tmp_path) as source:
            source.stop()
            assert not source.polling.is_set()
            assert source._thread is not None
            source._thread.join(timeout=30)
            assert not source._thread.is_alive()
        queue.send("late")
        [message] = queue.sqs.receive_message(QueueUrl=queue.url, WaitTimeSeconds=20)["Messages"]
        assert (message["Body"], function.events) == ("late", [])


def _in_flight(queue: QueueUnderTest) -> int:
    answer = queue.sqs.get_queue_attributes(QueueUrl=queue.url, AttributeNames=["All"])
    return int(answer["Attributes"]["ApproximateNumberOfMessagesNotVisible"])
