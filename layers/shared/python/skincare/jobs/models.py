"""What the ledger says about jobs."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from skincare.deployment.queues import QueueName
from skincare.identifiers import JobId


@dataclass(frozen=True)
class Reason:
    """Why a job is dead, as its message on the dead-letter queue tells it."""

    dead_letter_no: int
    error_class: str
    error_message: str
    attempts: int
    crashes: int
    first_failed_at: datetime | None
    last_failed_at: datetime | None
    release: str | None = None
    """Of the worker that ran it last."""


@dataclass(frozen=True)
class DueJob:
    """A job that is to be put on SQS.

    `publish_at` is what its insert or take wrote: the mark must find it unchanged. With `dead_letter`
    the target is the dead-letter queue.
    """

    job_id: JobId
    job_type: str
    queue: QueueName
    payload: dict[str, Any] = field(repr=False)
    publish_at: datetime
    request_id: str | None = None
    trace_id: str | None = None
    order_number: str | None = None
    dead_letter: Reason | None = None


class JobState(StrEnum):
    """Where a job is in its life, as docs/job-lifecycle.md explains it."""

    PENDING = "pending"
    """Not claimed yet; whoever enqueued it may have put it on SQS."""
    QUEUED = "queued"
    """Put on SQS by the relay, or released by a worker that had no time for it."""
    PROCESSING = "processing"
    """Leased to a worker."""
    RETRY_WAITING = "retry_waiting"
    COMPLETED = "completed"
    DEAD_LETTER = "dead_letter"
    """A person must look at it."""
    CANCELLED = "cancelled"

    @property
    def is_waiting(self) -> bool:
        """Whether an attempt will follow and none runs."""
        return self in {JobState.PENDING, JobState.QUEUED, JobState.RETRY_WAITING}

    @property
    def is_live(self) -> bool:
        """Whether nobody has to do anything for it to go on."""
        return self.is_waiting or self is JobState.PROCESSING


class Verdict(StrEnum):
    """What a claim found."""

    RUN = "run"
    """Leased to this claim: run it and settle it."""
    BUSY = "busy"
    """Leased elsewhere; `wait` says for how long."""
    EARLY = "early"
    """Its backoff or `run_at` is not over; `wait` says for how long."""
    SUSPECT = "suspect"
    """It crashed a process before: claim it alone."""
    DEAD = "dead"
    """This claim found its last crash and dead-lettered it."""
    PAUSED = "paused"
    """A person holds it back: the ledger publishes it when the pause is over."""
    DONE = "done"
    """Nothing is left to do for this message."""
    MISSING = "missing"
    """The ledger has no such job."""


@dataclass(frozen=True)
class Claim:
    """One job's answer to a claim. The fields after `job_type` are set where the verdict is RUN."""

    job_id: JobId
    verdict: Verdict
    wait: timedelta = timedelta(0)
    crashes: int = 0
    """Crashes that earlier claims found."""
    job_type: str = ""
    """Empty where the ledger has no such job."""
    payload: dict[str, Any] = field(default_factory=dict, repr=False)
    attempts: int = 0
    age: timedelta = timedelta(0)
    """How long the job has been tried, counted from its last redrive, `run_at` or insert."""
    order_number: str | None = None
    request_id: str | None = None
    trace_id: str | None = None


class SweepVerdict(StrEnum):
    """What a sweep does with a message it found on a dead-letter queue."""

    KEEP = "keep"
    DELETE = "delete"
    FOREIGN = "foreign"
    """No job has this id; the message goes into quarantine."""


@dataclass(frozen=True)
class QuarantinedMessage:
    """A message from a dead-letter queue that belongs to no job, as people list it."""

    id: int
    queue: str
    reason: str
    size_bytes: int
    found_at: datetime
    last_found_at: datetime


@dataclass(frozen=True)
class Backlog:
    """How the ledger stands. `lateness` is that of the job that waited longest for SQS, zero where none is late."""

    lateness: timedelta
    of_unknown_queues: int
    """Due jobs of queues that this release does not know: they wait for one that does."""
    dead: int
    quarantined_messages: int
    """Messages that belong to no job and that nobody has dealt with."""
    paused: int
    """Due jobs that a pause holds."""
    forgotten_pauses: int
    """Pauses without an end that have lasted for a day."""


@dataclass(frozen=True)
class Acknowledgement:
    """That somebody knows of a dead job, and why it may wait until then."""

    by: str
    """Who, as they claimed; the audit leads to the proof."""
    reason: str
    at: datetime
    until: datetime


@dataclass(frozen=True)
class DeadCount:
    """How many jobs of a queue are dead, by whether somebody has acknowledged that."""

    queue: str
    unacknowledged: int
    acknowledged: int


@dataclass(frozen=True)
class JobRow:
    """A job as people list it. Times carry their zone.

    `type` and `job_type` are the same: the first is a contract, the second is what every other answer calls it.
    """

    id: str
    type: str
    queue: str
    state: str
    order_number: str | None
    attempts: int
    crashes: int
    dead_letter_no: int
    created_at: datetime
    run_at: datetime | None
    publish_at: datetime | None
    retry_at: datetime | None
    finished_at: datetime | None
    error_class: str | None
    error_message: str | None
    request_id: str | None
    job_type: str = ""
    """Empty where a release before this one answers."""
    paused: bool = False
    """Whether it waits and a pause holds it."""


@dataclass(frozen=True)
class PauseTarget:
    """What is paused: a 'queue', a 'type' or a 'provider' by its name, or 'all', which has none."""

    scope: str
    name: str = ""


@dataclass(frozen=True)
class Pause:
    """A pause that is on. Without `ends_at` it lasts until somebody resumes; `held` are due jobs that wait for that."""

    scope: str
    name: str
    reason: str
    paused_by: str
    paused_at: datetime
    ends_at: datetime | None
    held: int
