"""Which jobs are meant: all conditions hold at once, and None is no condition."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from skincare.identifiers import JobId


@dataclass(frozen=True)
class DeadConditions:
    """Conditions for dead jobs."""

    job_ids: Sequence[JobId] | None = None
    job_type: str | None = None
    error_class: str | None = None
    order_number: str | None = None
    failed_before: datetime | None = None
    queue: str | None = None
    acknowledged: bool | None = None


@dataclass(frozen=True)
class JobConditions:
    """Conditions for jobs in one of the `repository.found_jobs.STATES`, which is `which`."""

    which: str
    job_ids: Sequence[JobId] | None = None
    job_type: str | None = None
    error_class: str | None = None
    queue: str | None = None
    order_number: str | None = None
    before: datetime | None = None
