"""moto still needs our lock, and gets it."""

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from moto.sqs.exceptions import ReceiptHandleIsInvalid
from moto.sqs.models import Message, Queue, SQSBackend

from emulator.aws import lock as aws_lock

ACCOUNT, REGION = "000000000000", "ap-southeast-3"


class InterruptedList(list[Message]):
    """A list of messages whose every complete walk is followed by an interruption, before the walker goes on."""

    interrupt: Callable[[], None]

    def __iter__(self) -> Iterator[Message]:
        yield from super().__iter__()
        self.interrupt()


class Sender:
    """Sends from a thread of its own, once, if the queue's lock is free."""

    def __init__(self, queue: Queue) -> None:
        self.queue = queue
        self.sent = False
        self.had_to_wait = False

    def try_to_send(self) -> None:
        if not self.sent and not self.had_to_wait:
            thread = threading.Thread(target=self._send_if_free)
            thread.start()
            thread.join(timeout=5)

    def _send_if_free(self) -> None:
        if not self.queue._messages_lock.acquire(blocking=False):
            self.had_to_wait = True
            return
        try:
            self.queue.add_message(message("late"))
            self.sent = True
        finally:
            self.queue._messages_lock.release()


def message(body: str) -> Message:
    new = Message(body, body)
    new.mark_sent()
    return new


@pytest.fixture
def backend() -> SQSBackend:
    aws_lock.install()
    backend = SQSBackend(REGION, ACCOUNT)
    backend.create_queue("jobs")
    return backend


@pytest.fixture
def queue(backend: SQSBackend) -> Queue:
    return backend.get_queue("jobs")


@pytest.fixture
def handle(backend: SQSBackend, queue: Queue) -> str:
    """A receipt handle of a message beside which another one waits."""
    queue.add_message(message("taken"))
    queue.add_message(message("waiting"))
    (taken,) = backend.receive_message("jobs", 1, 0, 30)
    assert taken.receipt_handle is not None
    return taken.receipt_handle


def interrupt_walks_of(queue: Queue) -> Sender:
    sender = Sender(queue)
    walked = InterruptedList(queue._messages)
    walked.interrupt = sender.try_to_send
    queue._messages = walked
    return sender


def bodies_in(queue: Queue) -> list[str]:
    return [stored.body for stored in list.__iter__(queue._messages)]


class TestMotoAlone:
    def test_still_loses_a_message_that_is_sent_during_a_delete(self, queue: Queue, handle: str) -> None:
        unlocked: Callable[[Queue, str], None] = getattr(Queue.delete_message, "__wrapped__")  # noqa: B009  untyped
        sender = interrupt_walks_of(queue)
        unlocked(queue, handle)
        assert sender.sent, "moto holds its lock while it deletes: emulator/aws/lock.py can go"
        assert bodies_in(queue) == ["waiting"], "moto keeps what is sent meanwhile: emulator/aws/lock.py can go"


class TestMotoWithTheLock:
    @pytest.mark.parametrize(
        "operation",
        [
            pytest.param(lambda backend, handle: backend.delete_message("jobs", handle), id="delete"),
            pytest.param(
                lambda backend, handle: backend.delete_message_batch("jobs", [{"Id": "0", "ReceiptHandle": handle}]),
                id="delete batch",
            ),
            pytest.param(lambda backend, handle: backend.receive_message("jobs", 1, 0, 30), id="receive"),
            pytest.param(
                lambda backend, handle: backend.change_message_visibility(
                    queue_name="jobs", receipt_handle="a-stranger", visibility_timeout=5
                ),
                id="hide",
            ),
        ],
    )
    def test_a_sender_waits_for_the_end_of_each_operation(
        self, backend: SQSBackend, queue: Queue, handle: str, operation: Callable[[Any, str], object]
    ) -> None:
        sender = interrupt_walks_of(queue)
        # The stranger's handle is refused when the walk is over.
        with contextlib.suppress(ReceiptHandleIsInvalid):
            operation(backend, handle)
        assert sender.had_to_wait

    def test_a_purge_waits_for_the_end_of_another_operation(self, backend: SQSBackend, queue: Queue) -> None:
        queue.add_message(message("waiting"))
        purge = threading.Thread(target=backend.purge_queue, args=["jobs"])
        with queue._messages_lock:
            purge.start()
            purge.join(timeout=0.2)
            assert bodies_in(queue) == ["waiting"]
        purge.join(timeout=5)
        assert bodies_in(queue) == []

    def test_installing_again_changes_nothing(self) -> None:
        aws_lock.install()
        before = (Queue.delete_message, SQSBackend.receive_message)
        aws_lock.install()
        assert (Queue.delete_message, SQSBackend.receive_message) == before
