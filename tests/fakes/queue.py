"""A queue in memory with the rules of an SQS standard queue, for tests.

It does what SQS may do and usually does not: messages that come twice, come back after they were deleted,
calls that act and lose their answer. One contract suite holds it and the real adapter together.
"""

import math
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from skincare.adapters.message_limits import MAX_ENTRIES, refusal_of
from skincare.jobs.ports import EnqueueFailure, OutgoingMessage, QueueUnavailable, ReceivedMessage
from tests.fakes.message_store import LONGEST_VISIBILITY, MessageStore, StoredMessage

Call = Literal["enqueue", "receive", "ack", "nack"]

_LONGEST_WAIT = timedelta(seconds=20)


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
        self._visibility = visibility
        self._waits = now is None
        self._now = time.time if now is None else now
        self._changed = threading.Condition()
        self._faults: dict[Call, list[_Fault]] = {}
        self._store = MessageStore(
            retention=retention,
            max_receive_count=max_receive_count,
            dead_letter=dead_letters.adopt if dead_letters else None,
            now=self._now,
        )
        self.down = False
        """While true, every call fails as if the service could not be reached."""

    # --- the port

    def enqueue(self, messages: Sequence[OutgoingMessage]) -> list[EnqueueFailure]:
        """Send; see the port."""
        with self._changed:
            fault = self._next_fault("enqueue")
            failures = []
            for index, message in enumerate(messages):
                hit = fault if fault is not None and fault.hits(index) else None
                if code := refusal_of(message):
                    failures.append(EnqueueFailure(index, code, sender_fault=True))
                    continue
                if hit is not None:
                    failures.append(EnqueueFailure(index, hit.code, hit.sender_fault))
                if hit is None or hit.acted:
                    self._store.put(message)
            self._changed.notify_all()
            return failures

    def receive(self, *, limit: int, wait: timedelta, visibility: timedelta | None = None) -> list[ReceivedMessage]:
        """Take messages; see the port."""
        visibility = self._visibility if visibility is None else visibility
        if not 1 <= limit <= MAX_ENTRIES:
            raise ValueError(f"limit {limit} is not within 1 and {MAX_ENTRIES}")
        if not timedelta(0) <= wait <= _LONGEST_WAIT:
            raise ValueError(f"wait {wait} is not within 0 s and 20 s")
        if not timedelta(0) <= visibility <= LONGEST_VISIBILITY:
            raise ValueError(f"visibility {visibility} is not within 0 s and 12 h")
        hidden_s = math.ceil(visibility.total_seconds())
        with self._changed:
            if fault := self._next_fault("receive"):
                if fault.acted:
                    self._store.take(limit, hidden_s)
                raise QueueUnavailable(f"queue unavailable: receive failed ({fault.code})")
            deadline = self._now() + wait.total_seconds()
            while True:
                taken = self._store.take(limit, hidden_s)
                left_s = deadline - self._now()
                if taken or left_s <= 0 or not self._waits:
                    return taken
                wakes = [stored.visible_at - self._now() for stored in self._store.messages()]
                self._changed.wait(max(min([left_s, *wakes]), 0.001))

    def ack(self, messages: Sequence[ReceivedMessage]) -> list[ReceivedMessage]:
        """Delete; see the port."""
        return self._change("ack", messages, lambda index: self._store.delete(messages[index].receipt_handle))

    def nack(self, delays: Sequence[tuple[ReceivedMessage, timedelta]]) -> list[ReceivedMessage]:
        """Hide; see the port."""
        messages = [message for message, _ in delays]
        return self._change(
            "nack", messages, lambda index: self._store.hide(messages[index].receipt_handle, delays[index][1])
        )

    # --- what a test sees

    def all(self) -> list[StoredMessage]:
        """Return every message that was sent and neither deleted, moved, expired nor purged, oldest first."""
        with self._changed:
            return self._store.messages()

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
            self._store.duplicate(message_id)

    def redeliver(self, message_id: str) -> None:
        """Let a message be received again now, although it is in flight or was deleted."""
        with self._changed:
            self._store.bring_back(message_id)
            self._changed.notify_all()

    def purge(self) -> None:
        """Lose every message, in flight or not."""
        with self._changed:
            self._store.clear()

    def adopt(self, stored: StoredMessage) -> None:
        """Take over a message from the queue that this one is the dead-letter queue of."""
        with self._changed:
            self._store.adopt(stored)
            self._changed.notify_all()

    def _change(
        self, call: Call, messages: Sequence[ReceivedMessage], change: Callable[[int], bool]
    ) -> list[ReceivedMessage]:
        with self._changed:
            fault = self._next_fault(call)
            refused = []
            for index, message in enumerate(messages):
                hit = fault if fault is not None and fault.hits(index) else None
                changed = change(index) if hit is None or hit.acted else False
                if hit is not None or not changed:
                    refused.append(message)
            self._changed.notify_all()
            return refused

    def _next_fault(self, call: Call) -> _Fault | None:
        if self.down:
            return _Fault(None, "Unavailable", sender_fault=False, acted=False)
        faults = self._faults.get(call)
        return faults.pop(0) if faults else None
