"""A received batch: which jobs it asks for, and what becomes of each message."""

from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from skincare.identifiers import JobId
from skincare.jobs import envelope
from skincare.jobs.envelope import EnvelopeUndecodable
from skincare.jobs.ports import ReceivedMessage


@dataclass
class Batch:
    """Messages on their way to being acked (deleted) or released (delivered again after a delay).

    Copies of one job share its fate. `copies` holds those that are not decided about yet.
    """

    acked: list[ReceivedMessage] = field(default_factory=list)
    released: list[tuple[ReceivedMessage, timedelta]] = field(default_factory=list)
    copies: dict[JobId, list[ReceivedMessage]] = field(default_factory=lambda: defaultdict(list))
    """The messages of each job that the batch asks for."""
    wanted: dict[JobId, int | None] = field(default_factory=dict)
    """The highest dead-letter number that a job's messages carry."""
    unreadable: list[tuple[ReceivedMessage, str]] = field(default_factory=list)
    """Messages that are no envelope, or of a type that this release does not know, with the reason."""
    failed: int = 0
    """How many of the released messages come again because something failed."""

    @staticmethod
    def decode(messages: Sequence[ReceivedMessage], *, known: Collection[str]) -> "Batch":
        """Read each message by itself: one that cannot be read says nothing about its neighbours."""
        batch = Batch()
        for message in messages:
            try:
                read = envelope.decode(message.body)
            except EnvelopeUndecodable as error:
                batch.unreadable.append((message, str(error)))
                continue
            if read.job_type not in known:
                batch.unreadable.append((message, "this release does not know the job type"))
                continue
            batch.copies[read.job_id].append(message)
            numbers = [batch.wanted.get(read.job_id), read.dead_letter_no]
            batch.wanted[read.job_id] = max((number for number in numbers if number is not None), default=None)
        return batch

    def ack(self, job_id: JobId) -> None:
        """Every copy of the job is done with."""
        self.acked += self.copies.pop(job_id, [])

    def release(self, job_id: JobId, delay: timedelta) -> None:
        """Every copy of the job is delivered again after the delay: it was not its turn."""
        self.released += [(message, delay) for message in self.copies.pop(job_id, [])]

    def fail(self, job_id: JobId, delay: timedelta) -> None:
        """Every copy of the job is delivered again after the delay: something failed."""
        self.fail_each(job_id, lambda _: delay)

    def fail_each(self, job_id: JobId, delay: Callable[[ReceivedMessage], timedelta]) -> None:
        """Every copy of the job is delivered again after a delay of its own: something failed."""
        for message in self.copies.pop(job_id, []):
            self.fail_message(message, delay(message))

    def fail_message(self, message: ReceivedMessage, delay: timedelta) -> None:
        """A message that belongs to no copies is delivered again after the delay: something failed."""
        self.released.append((message, delay))
        self.failed += 1
