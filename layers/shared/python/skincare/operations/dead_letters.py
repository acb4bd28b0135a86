"""What the on-call engineer is told about dead jobs and messages that belong to none; see `operations.models`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from skincare.jobs.models import Acknowledgement, QuarantinedMessage


@dataclass(frozen=True)
class DeadGroup:
    """Dead jobs of one type that died of the same class of error."""

    job_type: str
    error_class: str
    count: int
    oldest_failed_at: datetime
    newest_failed_at: datetime
    orders: int
    """How many orders are affected."""
    order_numbers: Sequence[str]
    """Some of them."""
    safe: bool = False
    """Whether running them again does no harm; `why` says why."""
    why: str = ""
    acknowledged: int = 0
    """How many of them somebody has acknowledged."""


@dataclass(frozen=True)
class AcknowledgedGroup:
    """Dead jobs of one type and class of error that one person acknowledged for one reason."""

    job_type: str
    error_class: str
    count: int
    by: str
    reason: str
    since: datetime
    until: datetime
    """When the first of them counts again."""


@dataclass(frozen=True)
class DeadList:
    """Everything that waits for a person because of a dead-letter queue."""

    groups: tuple[DeadGroup, ...]
    quarantined: tuple[QuarantinedMessage, ...]
    acknowledged: tuple[AcknowledgedGroup, ...] = ()


@dataclass(frozen=True)
class DeadJob:
    """One dead job. `dead_letter_no` says which of its dead letters was looked at."""

    id: str
    job_type: str
    queue: str
    state: str
    dead_letter_no: int
    error_class: str
    error_message: str
    attempts: int
    crashes: int
    first_failed_at: datetime
    last_failed_at: datetime
    order_number: str | None
    request_id: str | None
    release: str | None
    safe: bool = False
    past_use: str | None = None
    """Why a run would find nothing left to do."""
    acknowledgement: Acknowledgement | None = None


@dataclass(frozen=True)
class DeadPage:
    """Dead jobs in the order of their ids; the next page begins after the last one. `more` may be wrong once."""

    jobs: tuple[DeadJob, ...]
    more: bool
