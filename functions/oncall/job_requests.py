"""Requests about jobs by conditions, and about ids that were not typed whole."""

from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field

from oncall.request import MOST_JOBS, ChangeRequest, JobIds, Name, OrderNumberText, Reason, Request
from skincare.operations.models import IdMatches, JobPage


class Which(StrEnum):
    """The states that are meant: `waiting` for a retry or for SQS, `unfinished` or `cancelled`."""

    WAITING = "waiting"
    UNFINISHED = "unfinished"
    CANCELLED = "cancelled"


class FindJobs(Request):
    """A page of jobs that fit every condition; the next one begins `after` the last id of this one."""

    answer: ClassVar[type[Any]] = JobPage
    operation: Literal["find_jobs"] = "find_jobs"
    which: Which
    job_ids: JobIds | None = None
    job_type: Name | None = None
    error_class: Name | None = None
    queue: Name | None = None
    order_number: OrderNumberText | None = None
    before: AwareDatetime | None = None
    """That failed last before this time, or were enqueued before it and never failed."""
    after: UUID | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_JOBS)] = MOST_JOBS


class Kind(StrEnum):
    """What an id is of."""

    JOB = "job"
    PAYMENT_EVENT = "payment_event"


class FindIds(Request):
    """Whole ids by how they begin: hexadecimal digits without hyphens."""

    answer: ClassVar[type[Any]] = IdMatches
    operation: Literal["find_ids"] = "find_ids"
    kind: Kind
    beginnings: Annotated[
        list[Annotated[str, Field(pattern=r"^[0-9a-f]{4,32}$")]], Field(min_length=1, max_length=MOST_JOBS)
    ]


class Revive(ChangeRequest):
    """Bring cancelled jobs back."""

    operation: Literal["revive"] = "revive"
    job_ids: JobIds
    reason: Reason


JOB_REQUESTS: tuple[type[Request], ...] = (FindJobs, FindIds, Revive)
