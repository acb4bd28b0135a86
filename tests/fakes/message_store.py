"""The messages of a queue in memory, and the rules of an SQS standard queue about them.

Sources: the SQS API reference for visibility, handles and deletion; that a message moves to the dead-letter
queue only when the next receive comes across it was seen on AWS.
"""

import math
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from skincare.jobs.ports import OutgoingMessage, ReceivedMessage

LONGEST_VISIBILITY = timedelta(hours=12)


@dataclass(frozen=True)
class StoredMessage:
    """What a queue knows about a message; times are the seconds of its clock."""

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


class MessageStore:
    """Messages in the order in which they came. Not safe for threads: its queue holds a lock.

    A message that was received `max_receive_count` times is handed to `dead_letter` instead of to the next receive.
    """

    def __init__(
        self,
        *,
        retention: timedelta,
        max_receive_count: int,
        dead_letter: Callable[[StoredMessage], None] | None,
        now: Callable[[], float],
    ) -> None:
        self._retention_s = retention.total_seconds()
        self._max_receive_count = max_receive_count
        self._dead_letter = dead_letter
        self._now = now
        self._messages: dict[str, StoredMessage] = {}
        self._deleted: dict[str, StoredMessage] = {}
        self._owner_of_handle: dict[str, str] = {}
        self._twice: set[str] = set()

    def messages(self) -> list[StoredMessage]:
        """Forget what outlived the retention; return the rest."""
        oldest = self._now() - self._retention_s
        self._messages = {key: stored for key, stored in self._messages.items() if stored.sent_at > oldest}
        return list(self._messages.values())

    def put(self, message: OutgoingMessage) -> None:
        """Take in a new message."""
        message_id = str(uuid.uuid4())
        self._messages[message_id] = StoredMessage(message_id, message, sent_at=self._now())

    def adopt(self, stored: StoredMessage) -> None:
        """Take in another queue's message as it is: its id, its receive count and the time it was sent stay."""
        self._messages[stored.message_id] = replace(stored, visible_at=self._now(), receipt_handle=None)

    def clear(self) -> None:
        """Lose everything."""
        self._messages.clear()

    def take(self, limit: int, hidden_s: float) -> list[ReceivedMessage]:
        """Receive up to `limit` visible messages and hide them for so long."""
        taken: list[ReceivedMessage] = []
        for stored in self.messages():
            if len(taken) == limit:
                break
            if stored.visible_at > self._now():
                continue
            if self._dead_letter is not None and stored.receive_count >= self._max_receive_count:
                self._dead_letter(self._messages.pop(stored.message_id))
                continue
            copies = 2 if stored.message_id in self._twice else 1
            self._twice.discard(stored.message_id)
            for _ in range(min(copies, limit - len(taken))):
                taken.append(self._receive(stored.message_id, hidden_s))
        return taken

    def delete(self, handle: str) -> bool:
        """Delete by the newest handle; False for a handle that never was.

        An older handle, and one whose message is gone: SQS reports success and does nothing.
        """
        message_id = self._owner_of_handle.get(handle)
        if message_id is None:
            return False
        stored = self._messages.get(message_id)
        if stored is not None and stored.receipt_handle == handle:
            self._deleted[message_id] = self._messages.pop(message_id)
        return True

    def hide(self, handle: str, delay: timedelta) -> bool:
        """Let a message in flight become visible after the delay; False where SQS would refuse.

        That is for a message that is gone or visible, and for an end over 12 h after the receive.
        """
        now = self._now()
        seconds = math.ceil(min(max(delay, timedelta(0)), LONGEST_VISIBILITY).total_seconds())
        stored = self._messages.get(self._owner_of_handle.get(handle, ""))
        if stored is None or stored.receipt_handle != handle or stored.visible_at <= now:
            return False
        if now + seconds > stored.received_at + LONGEST_VISIBILITY.total_seconds():
            return False
        self._messages[stored.message_id] = replace(stored, visible_at=now + seconds)
        return True

    def duplicate(self, message_id: str) -> None:
        """Let the next receive of this message return it twice."""
        self._twice.add(message_id)

    def bring_back(self, message_id: str) -> None:
        """Make a message visible now, although it is in flight or was deleted."""
        stored = self._messages.get(message_id) or self._deleted.pop(message_id)
        self._messages[message_id] = replace(stored, visible_at=self._now())

    def _receive(self, message_id: str, hidden_s: float) -> ReceivedMessage:
        stored = self._messages[message_id]
        handle = f"{message_id}/receive-{len(self._owner_of_handle) + 1}"
        self._owner_of_handle[handle] = message_id
        now, count = self._now(), stored.receive_count + 1
        self._messages[message_id] = replace(
            stored, receive_count=count, received_at=now, visible_at=now + hidden_s, receipt_handle=handle
        )
        return ReceivedMessage(message_id, handle, stored.body, count, dict(stored.message.attributes))
