"""Both queues keep the contract, and in any sequence of calls behave alike."""

import json
import threading
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from skincare.adapters.aws import AwsSession
from skincare.adapters.sqs import SqsQueue
from skincare.config import AwsKeys
from skincare.jobs.ports import OutgoingMessage, Queue, ReceivedMessage
from tests.contract.queue_contract import (
    DEAD_LETTER_RETENTION,
    MAX_RECEIVE_COUNT,
    RETENTION,
    VISIBILITY,
    Bench,
    QueueContract,
    take,
)
from tests.fakes.queue import MemoryQueue
from tests.support.aws import LONG_TIMEOUTS, ShiftedClock, create_queue, queue_arn
from tests.support.randomness import Times


def seconds(duration: timedelta) -> str:
    return str(int(duration.total_seconds()))


def memory_queues(clock: ShiftedClock) -> tuple[MemoryQueue, MemoryQueue]:
    dead_letters = MemoryQueue(visibility=VISIBILITY, retention=DEAD_LETTER_RETENTION, now=clock)
    source = MemoryQueue(
        visibility=VISIBILITY,
        retention=RETENTION,
        dead_letters=dead_letters,
        max_receive_count=MAX_RECEIVE_COUNT,
        now=clock,
    )
    return source, dead_letters


def sqs_queues(aws: AwsSession) -> tuple[SqsQueue, SqsQueue]:
    dead_letter_url = create_queue(
        aws, VisibilityTimeout=seconds(VISIBILITY), MessageRetentionPeriod=seconds(DEAD_LETTER_RETENTION)
    )
    redrive = {"deadLetterTargetArn": queue_arn(aws, dead_letter_url), "maxReceiveCount": MAX_RECEIVE_COUNT}
    source_url = create_queue(
        aws,
        VisibilityTimeout=seconds(VISIBILITY),
        MessageRetentionPeriod=seconds(RETENTION),
        RedrivePolicy=json.dumps(redrive),
    )
    return SqsQueue(source_url, aws=aws, timeouts=LONG_TIMEOUTS), SqsQueue(
        dead_letter_url, aws=aws, timeouts=LONG_TIMEOUTS
    )


class TestMemoryQueue(QueueContract):
    @pytest.fixture
    def bench(self) -> Bench:
        clock = ShiftedClock()
        unreachable = MemoryQueue(now=clock)
        unreachable.down = True
        return Bench(*memory_queues(clock), unreachable, clock)


class TestSqsQueue(QueueContract):
    @pytest.fixture
    def bench(self, aws: AwsSession) -> Iterator[Bench]:
        clock = ShiftedClock()
        # Port 9 (discard) has no listener: the connection is refused at once.
        gone = AwsSession("http://127.0.0.1:9", keys=AwsKeys("testing", "testing"), region="ap-southeast-3")
        nowhere = SqsQueue("http://127.0.0.1:9/000000000000/gone", aws=gone)
        with clock.driving_moto():
            yield Bench(*sqs_queues(aws), nowhere, clock)


class TestSqsQueueOfAPerson(QueueContract):
    """With credentials that only the SDK finds."""

    @pytest.fixture
    def bench(self, aws_endpoint: str) -> Iterator[Bench]:
        clock = ShiftedClock()
        nowhere = SqsQueue("http://127.0.0.1:9/000000000000/gone", aws=AwsSession("http://127.0.0.1:9"))
        with clock.driving_moto():
            yield Bench(*sqs_queues(AwsSession(aws_endpoint)), nowhere, clock)


class TestLongPolls:
    @pytest.fixture(params=["memory", "sqs"])
    def queue(self, request: pytest.FixtureRequest, aws: AwsSession) -> Queue:
        if request.param == "memory":
            return MemoryQueue()
        return SqsQueue(create_queue(aws), aws=aws, timeouts=LONG_TIMEOUTS)

    def test_a_message_sent_meanwhile_ends_the_wait(self, queue: Queue) -> None:
        received: list[ReceivedMessage] = []
        waiter = threading.Thread(
            target=lambda: received.extend(queue.receive(limit=10, wait=timedelta(seconds=20))), daemon=True
        )
        waiter.start()
        queue.enqueue([OutgoingMessage("a")])
        waiter.join(timeout=10)
        assert [message.body for message in received] == ["a"]

    def test_an_empty_queue_is_given_up_after_the_wait(self, queue: Queue) -> None:
        started = time.monotonic()
        assert queue.receive(limit=10, wait=timedelta(seconds=1)) == []
        assert 0.9 < time.monotonic() - started < 5


class QueuePairMachine(RuleBasedStateMachine):
    """Does the same to both queues and expects the same from them.

    Time moves in steps that no sum of the delays equals, so that nobody is asked about the very moment.
    Handles that are not the newest of their message are left out: moto deletes and hides by them.
    """

    aws: AwsSession

    @initialize()
    def create(self) -> None:
        self.clock = ShiftedClock()
        self.moto_follows = self.clock.driving_moto()
        self.moto_follows.__enter__()
        self.memory = memory_queues(self.clock)
        self.pairs: list[tuple[Queue, Queue]] = [self.memory, sqs_queues(self.aws)]
        self.newest: list[dict[str, ReceivedMessage]] = [{}, {}]
        self.sent = 0

    def teardown(self) -> None:
        if hasattr(self, "moto_follows"):
            self.moto_follows.__exit__(None, None, None)

    @rule(count=st.integers(1, 4))
    def send(self, count: int) -> None:
        bodies = [f"body {self.sent + n}" for n in range(count)]
        self.sent += count
        for source, _ in self.pairs:
            assert source.enqueue([OutgoingMessage(body) for body in bodies]) == []

    @rule(steps=st.integers(0, 5), dead=st.booleans())
    def pass_time_and_receive_all(self, steps: int, dead: bool) -> None:
        self.clock.advance(timedelta(seconds=7 * steps))
        seen = []
        for pair, newest in zip(self.pairs, self.newest, strict=True):
            taken: list[ReceivedMessage] = []
            while batch := take(pair[1] if dead else pair[0]):
                taken += batch
            newest.update({message.body: message for message in taken})
            seen.append(sorted((message.body, message.receive_count) for message in taken))
        assert seen[0] == seen[1]

    @rule(data=st.data())
    def ack_some(self, data: st.DataObject) -> None:
        bodies = self._some_in_flight(data)
        answers = []
        for pair, newest in zip(self.pairs, self.newest, strict=True):
            answers.append([message.body for message in pair[0].ack([newest[body] for body in bodies])])
            for body in bodies:
                del newest[body]
        assert answers[0] == answers[1] == []

    @rule(data=st.data(), delay=st.sampled_from([0, 10, 20, 60]))
    def nack_some(self, data: st.DataObject, delay: int) -> None:
        bodies = self._some_in_flight(data)
        for pair, newest in zip(self.pairs, self.newest, strict=True):
            assert pair[0].nack([(newest[body], timedelta(seconds=delay)) for body in bodies]) == []

    def _some_in_flight(self, data: st.DataObject) -> list[str]:
        bodies = sorted(stored.body for stored in self.memory[0].in_flight())
        return data.draw(st.lists(st.sampled_from(bodies), min_size=1, unique=True)) if bodies else []


class TestAnySequenceOfCalls:
    def test_has_the_same_effect_on_both_queues(self, aws: AwsSession, times: Times) -> None:
        machine = type("Machine", (QueuePairMachine,), {"aws": aws})
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=times(short=20, long=200),
                stateful_step_count=30,
                deadline=None,
                # Shrinking a failure over HTTP would take minutes.
                phases=[Phase.generate],
                suppress_health_check=[HealthCheck.too_slow],
            ),
        )
