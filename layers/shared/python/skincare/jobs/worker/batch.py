"""A received batch: which jobs it asks for, and what can become of its messages."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from skincare.identifiers import JobId
from skincare.jobs import envelope
from skincare.jobs.envelope import EnvelopeUndecodable
from skincare.jobs.ports import ReceivedMessage
from skincare.jobs.retry import backoff_delay


@dataclass(frozen=True)
class Ack:
    """The message is done with and can be deleted."""


@dataclass(frozen=True)
class Redeliver:
    """The message is delivered again after `delay`; without one, after the backoff of its own receive count."""

    delay: timedelta | None = None
    failed: bool = True
    """Whether something failed, or it only was not the job's turn."""


@dataclass(frozen=True)
class Unprocessable:
    """No job can be run for the message; `error_class` and `reason` tell a person why."""

    error_class: str
    reason: str
    may_pass: bool
    """Whether another release may read it; then a job of its id may be alive."""


def _unreadable(reason: str) -> Unprocessable:
    return Unprocessable("MessageUnreadable", reason, may_pass=True)


Fate = Ack | Redeliver | Unprocessable
Fates = Mapping[JobId, Fate]
"""What becomes of jobs' messages. Copies of one job share its fate."""


@dataclass(frozen=True)
class Batch:
    """The messages of a batch by the job that they ask for."""

    copies: Mapping[JobId, Sequence[ReceivedMessage]]
    wanted: Mapping[JobId, int | None]
    """The highest dead-letter number that a job's messages carry."""
    unreadable: Sequence[tuple[ReceivedMessage, Unprocessable]]
    """Messages that are no envelope, or of a type that this release does not know."""

    @staticmethod
    def decode(messages: Sequence[ReceivedMessage], *, known: Collection[str]) -> "Batch":
        """Read each message by itself: one that cannot be read says nothing about its neighbours."""
        copies: defaultdict[JobId, list[ReceivedMessage]] = defaultdict(list)
        wanted: dict[JobId, int | None] = {}
        unreadable: list[tuple[ReceivedMessage, Unprocessable]] = []
        for message in messages:
            try:
                read = envelope.decode(message.body)
            except EnvelopeUndecodable as error:
                unreadable.append((message, _unreadable(str(error))))
                continue
            if read.job_type not in known:
                unreadable.append((message, _unreadable("this release does not know the job type")))
                continue
            copies[read.job_id].append(message)
            numbers = [wanted.get(read.job_id), read.dead_letter_no]
            wanted[read.job_id] = max((number for number in numbers if number is not None), default=None)
        return Batch(copies, wanted, unreadable)

    def fates(self, decided: Fates) -> Iterable[tuple[ReceivedMessage, Fate]]:
        """Return the fate of each message that the batch came with; what nobody decided about comes again."""
        yield from self.unreadable
        for job_id, messages in self.copies.items():
            for message in messages:
                yield message, decided.get(job_id, Redeliver())


@dataclass
class BatchResult:
    """What became of each message. `hung`: a handler still runs, so the process must not go on."""

    hung: bool
    acked: list[ReceivedMessage] = field(default_factory=list)
    released: list[tuple[ReceivedMessage, timedelta]] = field(default_factory=list)
    failed: int = 0
    """How many of the released messages come again because something failed."""

    def add(self, message: ReceivedMessage, fate: Ack | Redeliver) -> None:
        """Note what became of a message."""
        match fate:
            case Ack():
                self.acked.append(message)
            case Redeliver():
                delay = backoff_delay(message.receive_count) if fate.delay is None else fate.delay
                self.released.append((message, delay))
                self.failed += fate.failed
