"""What jobs need from the outside: a queue. Adapters match by shape."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from skincare.deployment.queues import QueueName
from skincare.errors import TransientError


class QueueUnavailable(TransientError):
    """The queue service did not answer, or refused, a call; the message holds its error code only."""


MOST_ATTRIBUTES = 10


@dataclass(frozen=True)
class OutgoingMessage:
    """A body (1 character to 1 MiB of XML-legal text) and up to ten string attributes."""

    body: str = field(repr=False)
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ReceivedMessage:
    """A message as a consumer gets it. `receive_count` is 1 or more; an absent or odd attribute counts as 1.

    Another receive of the same message has the same `message_id` and another `receipt_handle`.
    """

    message_id: str
    receipt_handle: str
    body: str = field(repr=False)
    receive_count: int = 1
    attributes: Mapping[str, str] = field(default_factory=dict)
    binary_attributes: Mapping[str, str] = field(default_factory=dict)
    """Those that are bytes, in base64. None of ours is; a foreign message's may be."""


@dataclass(frozen=True)
class EnqueueFailure:
    """An entry that was not taken, or of which nobody knows. `sender_fault`: the same again will fail again."""

    index: int
    code: str
    sender_fault: bool


class Queue(Protocol):
    """One SQS standard queue: at least once, in no order.

    `enqueue`, `ack` and `nack` answer for each message and never raise because the service failed: a
    message whose call got no answer is among those they return, and may have been acted upon all the same.
    """

    def enqueue(self, messages: Sequence[OutgoingMessage]) -> list[EnqueueFailure]:
        """Send any number of messages; return the refused ones by their index. An empty list means all are in.

        Entries of a call whose outcome is unknown are returned with code "Unavailable" and without
        sender fault.
        """
        ...

    def receive(self, *, limit: int, wait: timedelta, visibility: timedelta | None = None) -> list[ReceivedMessage]:
        """Take up to `limit` (1 to 10) messages, waiting up to `wait` (at most 20 s) for the first one.

        They stay hidden for `visibility` (at most 12 h; None: what the queue is set to). Raises
        `QueueUnavailable`, and `ValueError` for a number outside these bounds.
        """
        ...

    def ack(self, messages: Sequence[ReceivedMessage]) -> list[ReceivedMessage]:
        """Delete; return those whose deletion was refused.

        A message that was received again since is not deleted, and nobody says so.
        """
        ...

    def nack(self, delays: Sequence[tuple[ReceivedMessage, timedelta]]) -> list[ReceivedMessage]:
        """Make each visible again after its delay; return those that were refused.

        Delays are rounded up to whole seconds and kept within 0 s and 12 h. SQS refuses a delay that ends
        more than 12 h after the receive; such a message comes back when its visibility runs out.
        """
        ...


@dataclass(frozen=True)
class QueuePair:
    """A source queue and the dead-letter queue behind it."""

    source: Queue
    dead_letters: Queue


Queues = Mapping[QueueName, QueuePair]
