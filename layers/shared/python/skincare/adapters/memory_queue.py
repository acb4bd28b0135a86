"""A queue in memory with the rules of an SQS standard queue, for tests.

It does what SQS may do and usually does not: messages that come twice, come back after they were deleted,
calls that act and lose their answer. One contract suite holds it and the real adapter together.
"""

import math
import threading
import time
import uuid
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal

from skincare.adapters.message_limits import refusal_of
from skincare.jobs.ports import EnqueueFailure, OutgoingMessage, QueueUnavailable, ReceivedMessage

Call = Literal["enqueue", "receive", "ack", "nack"]

_LONGEST_VISIBILITY_S = 12 * 3600


@dataclass(frozen=True)
class StoredMessage:
    """What the queue knows about a message; times are the seconds of its clock."""

    message_id: str
    message: OutgoingMessage
    sent_at: float
    receive_count: int = 0
    received_at: float = 0.0
    visible_at: float = 0.0
    receipt_handle: str | None = None
    """Of the newest receive: the only handle that deletes."""

    @property
    def body(self) -> str:
        return self.message.body


@dataclass(frozen=True)
class _Fault:
    entries: Collection[int] | None
    code: str
    sender_fault: bool
    acted: bool

    def hits(self, index: int) -> bool:
        return self.entries is None or index in self.entries


class MemoryQueue:
    """One queue. Safe to use from many threads.

    A message that was received `max_receive_count` times moves to `dead_letters` when the next receive
    comes across it, and not before; it keeps its id, its receive count and the time it was sent.

    With a clock of the caller's (`now`, in seconds) a receive never waits, for only the caller can move the
    clock; without one it waits on the wall clock as SQS's long poll does.
    """

    def __init__(
        self,
        *,
        visibility: timedelta = timedelta(seconds=30),
        retention: timedelta = timedelta(days=4),
        dead_letters: "MemoryQueue | None" = None,
        max_receive_count: int = 100,
        now: Callable[[], float] | None = None,
    ) -> None:
        self._visibility_s = visibility.total_seconds()
        self._retention_s = retention.total_seconds()
        self._dead_letters = dead_letters
        self._max_receive_count = max_receive_count
        self._waits = now is None
        self._now = time.time if now is None else now
        self._changed = threading.Condition()
        self._messages: dict[str, StoredMessage] = {}
        self._deleted: dict[str, StoredMessage] = {}
        self._owner_of_handle: dict[str, str] = {}
        self._faults: dict[Call, list[_Fault]] = {}
        self._twice: set[str] = set()
        self.down = False
        """While true, every call fails as if the service could not be reached."""

    # --- the port

    def enqueue(self, messages: Sequence[OutgoingMessage]) -> list[EnqueueFailure]:
        with self._changed:
            fault = self._next_fault("enqueue")
            failures = []
            for index, message in enumerate(messages):
                hit = fault is not None and fault.hits(index)
                if code := refusal_of(message):
                    failures.append(EnqueueFailure(index, code, sender_fault=True))
                    continue
                if fault is not None and hit:
                    failures.append(EnqueueFailure(index, fault.code, fault.sender_fault))
                if fault is None or not hit or fault.acted:
                    self._store(message)
            self._changed.notify_all()
            return failures

    def receive(self, *, limit: int, wait: timedelta, visibility: timedelta | None = None) -> list[ReceivedMessage]:
        if not 1 <= limit <= 10:
            raise ValueError(f"limit {limit} is not within 1 and 10")
        if not timedelta(0) <= wait <= timedelta(seconds=20):
            raise ValueError(f"wait {wait} is not within 0 s and 20 s")
        if visibility is not None and not timedelta(0) <= visibility <= timedelta(seconds=_LONGEST_VISIBILITY_S):
            raise ValueError(f"visibility {visibility} is not within 0 s and 12 h")
        hidden_s = self._visibility_s if visibility is None else math.ceil(visibility.total_seconds())
        with self._changed:
            if fault := self._next_fault("receive"):
                if fault.acted:
                    self._take(limit, hidden_s)
                raise QueueUnavailable(f"queue unavailable: receive failed ({fault.code})")
            deadline = self._now() + wait.total_seconds()
            while True:
                taken = self._take(limit, hidden_s)
                left_s = deadline - self._now()
                if taken or left_s <= 0 or not self._waits:
                    return taken
                wakes = [m.visible_at - self._now() for m in self._messages.values()]
                self._changed.wait(max(min([left_s, *wakes]), 0.001))

    def ack(self, messages: Sequence[ReceivedMessage]) -> list[ReceivedMessage]:
        return self._change("ack", messages, lambda index: self._delete(messages[index].receipt_handle))

    def nack(self, delays: Sequence[tuple[ReceivedMessage, timedelta]]) -> list[ReceivedMessage]:
        return self._change(
            "nack",
            [message for message, _ in delays],
            lambda index: self._hide(delays[index][0].receipt_handle, delays[index][1]),
        )

    # --- what a test sees

    def all(self) -> list[StoredMessage]:
        """Return every message that was sent and neither deleted, moved, expired nor purged, oldest first."""
        with self._changed:
            self._expire()
            return list(self._messages.values())

    def visible(self) -> list[StoredMessage]:
        """Return the messages that a receive could take now."""
        now = self._now()
        return [message for message in self.all() if message.visible_at <= now]

    def in_flight(self) -> list[StoredMessage]:
        """Return the messages that are hidden until their visibility runs out."""
        now = self._now()
        return [message for message in self.all() if message.visible_at > now]

    # --- what a test makes happen

    def fail_next(
        self,
        call: Call,
        *,
        entries: Collection[int] | None = None,
        code: str = "Unavailable",
        sender_fault: bool = False,
        acted: bool = False,
        times: int = 1,
    ) -> None:
        """Let the next calls of that kind fail: as a whole, or only the entries with these indexes.

        `acted`: the queue does as asked all the same, and only the answer is lost.
        """
        with self._changed:
            fault = _Fault(entries, code, sender_fault, acted)
            self._faults.setdefault(call, []).extend([fault] * times)

    def deliver_twice(self, message_id: str) -> None:
        """Let the next receive that takes this message return it twice, each with its own handle."""
        with self._changed:
            self._twice.add(message_id)

    def redeliver(self, message_id: str) -> None:
        """Let a message be received again now, although it is in flight or was deleted."""
        with self._changed:
            stored = self._messages.get(message_id) or self._deleted.pop(message_id)
            self._messages[message_id] = replace(stored, visible_at=self._now())
            self._changed.notify_all()

    def purge(self) -> None:
        """Lose every message, in flight or not."""
        with self._changed:
            self._messages.clear()

    # --- the rules; all of these run under the lock

    def _store(self, message: OutgoingMessage) -> None:
        message_id = str(uuid.uuid4())
        self._messages[message_id] = StoredMessage(message_id, message, sent_at=self._now())

    def _take(self, limit: int, hidden_s: float) -> list[ReceivedMessage]:
        self._expire()
        now = self._now()
        taken: list[ReceivedMessage] = []
        for stored in list(self._messages.values()):
            if stored.visible_at > now:
                continue
            if self._dead_letters is not None and stored.receive_count >= self._max_receive_count:
                self._dead_letters.adopt(self._messages.pop(stored.message_id))
                continue
            copies = 2 if stored.message_id in self._twice else 1
            for _ in range(min(copies, limit - len(taken))):
                taken.append(self._receive_one(stored.message_id, now + hidden_s))
            self._twice.discard(stored.message_id)
            if len(taken) == limit:
                break
        return taken

    def _receive_one(self, message_id: str, visible_at: float) -> ReceivedMessage:
        stored = self._messages[message_id]
        count = stored.receive_count + 1
        handle = f"{message_id}/receive-{len(self._owner_of_handle) + 1}"
        self._owner_of_handle[handle] = message_id
        self._messages[message_id] = replace(
            stored, receive_count=count, received_at=self._now(), visible_at=visible_at, receipt_handle=handle
        )
        return ReceivedMessage(message_id, handle, stored.body, count, dict(stored.message.attributes))

    def adopt(self, stored: StoredMessage) -> None:
        """Take over a message from the queue that this one is the dead-letter queue of."""
        with self._changed:
            self._messages[stored.message_id] = replace(stored, visible_at=self._now(), receipt_handle=None)
            self._changed.notify_all()

    def _change(
        self, call: Call, messages: Sequence[ReceivedMessage], change: Callable[[int], bool]
    ) -> list[ReceivedMessage]:
        with self._changed:
            fault = self._next_fault(call)
            refused = []
            for index, message in enumerate(messages):
                hit = fault is not None and fault.hits(index)
                changed = change(index) if fault is None or not hit or fault.acted else False
                if hit or not changed:
                    refused.append(message)
            self._changed.notify_all()
            return refused

    def _delete(self, handle: str) -> bool:
        message_id = self._owner_of_handle.get(handle)
        if message_id is None:
            return False
        stored = self._messages.get(message_id)
        if stored is not None and stored.receipt_handle == handle:
            self._deleted[message_id] = self._messages.pop(message_id)
        # An older handle, or a message that is gone: SQS reports success and does nothing.
        return True

    def _hide(self, handle: str, delay: timedelta) -> bool:
        now = self._now()
        seconds = math.ceil(min(max(delay.total_seconds(), 0), _LONGEST_VISIBILITY_S))
        stored = self._messages.get(self._owner_of_handle.get(handle, ""))
        if stored is None or stored.receipt_handle != handle or stored.visible_at <= now:
            return False
        if now + seconds > stored.received_at + _LONGEST_VISIBILITY_S:
            return False
        self._messages[stored.message_id] = replace(stored, visible_at=now + seconds)
        return True

    def _expire(self) -> None:
        oldest = self._now() - self._retention_s
        expired = [m.message_id for m in self._messages.values() if m.sent_at <= oldest]
        for message_id in expired:
            del self._messages[message_id]

    def _next_fault(self, call: Call) -> _Fault | None:
        if self.down:
            return _Fault(None, "Unavailable", sender_fault=False, acted=False)
        faults = self._faults.get(call)
        return faults.pop(0) if faults else None
