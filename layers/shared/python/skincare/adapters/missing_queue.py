"""A queue whose URL this function is not given: what belongs there is left to the relay, which has them all."""

from collections.abc import Sequence
from datetime import timedelta

from skincare.errors import ConfigurationError
from skincare.jobs.ports import EnqueueFailure, OutgoingMessage, ReceivedMessage


class MissingQueue:
    """Matches `skincare.jobs.ports.Queue`. `variable` would hold the URL."""

    def __init__(self, variable: str) -> None:
        self._variable = variable

    def enqueue(self, messages: Sequence[OutgoingMessage]) -> list[EnqueueFailure]:
        """Take none of the messages."""
        return [EnqueueFailure(index, "NoQueueUrl", sender_fault=False) for index in range(len(messages))]

    def receive(self, *, limit: int, wait: timedelta, visibility: timedelta | None = None) -> list[ReceivedMessage]:  # noqa: ARG002
        """Raise `ConfigurationError`."""
        raise ConfigurationError(f"the environment variable {self._variable} is not set")

    def ack(self, messages: Sequence[ReceivedMessage]) -> list[ReceivedMessage]:
        """Refuse all: none was received here."""
        return list(messages)

    def nack(self, delays: Sequence[tuple[ReceivedMessage, timedelta]]) -> list[ReceivedMessage]:
        """Refuse all: none was received here."""
        return [message for message, _ in delays]
