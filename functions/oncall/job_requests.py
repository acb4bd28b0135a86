"""Requests about jobs of any state, about ids that were not typed whole, and about an order."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field

from oncall.request import MOST_JOBS, ChangeRequest, JobIds, Name, OrderNumberText, Query, Reason, in_order
from skincare.identifiers import JobId, OrderNumber
from skincare.operations.conditions import JobConditions
from skincare.operations.models import Change, IdMatches, JobPage, Jobs, JobTimeline, OrderTimeline, OutboxState

if TYPE_CHECKING:
    from skincare.operations.changes import Changes
    from skincare.operations.queries import Queries


class ListJobs(Query):
    """The newest jobs, all or those of a queue or in a state."""

    answer: ClassVar[type[Any]] = Jobs
    operation: Literal["list_jobs"] = "list_jobs"
    queue: Name | None = None
    state: Name | None = None
    limit: Annotated[int, Field(ge=1, le=1000)] = 100

    def run(self, queries: "Queries") -> Jobs:
        return queries.list_jobs(queue=self.queue, state=self.state, limit=self.limit)


class Which(StrEnum):
    """The states that are meant: `waiting` for a retry or for SQS, `unfinished` or `cancelled`."""

    WAITING = "waiting"
    UNFINISHED = "unfinished"
    CANCELLED = "cancelled"


class FindJobs(Query):
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

    def run(self, queries: "Queries") -> JobPage:
        wanted = JobConditions(
            self.which,
            None if self.job_ids is None else in_order(self.job_ids),
            self.job_type,
            self.error_class,
            self.queue,
            self.order_number,
            self.before,
        )
        return queries.find_jobs(wanted, after=self.after, limit=self.limit)


class Kind(StrEnum):
    """What an id is of."""

    JOB = "job"
    PAYMENT_EVENT = "payment_event"


class FindIds(Query):
    """Whole ids by how they begin: hexadecimal digits without hyphens."""

    answer: ClassVar[type[Any]] = IdMatches
    operation: Literal["find_ids"] = "find_ids"
    kind: Kind
    beginnings: Annotated[
        list[Annotated[str, Field(pattern=r"^[0-9a-f]{4,32}$")]], Field(min_length=1, max_length=MOST_JOBS)
    ]

    def run(self, queries: "Queries") -> IdMatches:
        return queries.find_ids(self.kind, self.beginnings)


class LookAtJobs(Query):
    """Some jobs by their ids, and the newest of an order."""

    answer: ClassVar[type[Any]] = Jobs
    operation: Literal["look_at_jobs"] = "look_at_jobs"
    job_ids: Annotated[list[UUID], Field(max_length=MOST_JOBS, default_factory=list)]
    order_number: OrderNumberText | None = None

    def run(self, queries: "Queries") -> Jobs:
        return queries.look_at_jobs(in_order(self.job_ids), order_number=self.order_number, limit=MOST_JOBS)


class ShowJob(Query):
    """Everything about one job."""

    answer: ClassVar[type[Any]] = JobTimeline
    operation: Literal["show_job"] = "show_job"
    job_id: UUID

    def run(self, queries: "Queries") -> JobTimeline | None:
        return queries.job_timeline(JobId(self.job_id))


class ShowOrder(Query):
    """What happened to an order."""

    answer: ClassVar[type[Any]] = OrderTimeline
    operation: Literal["show_order"] = "show_order"
    order_number: OrderNumberText

    def run(self, queries: "Queries") -> OrderTimeline | None:
        return queries.order_timeline(OrderNumber(self.order_number))


class ShowOutbox(Query):
    """How far the outbox is behind."""

    answer: ClassVar[type[Any]] = OutboxState
    operation: Literal["show_outbox"] = "show_outbox"

    def run(self, queries: "Queries") -> OutboxState:
        return queries.outbox_state()


class Cancel(ChangeRequest):
    """Cancel jobs that are not finished; payment events as with `Discard`."""

    operation: Literal["cancel"] = "cancel"
    job_ids: JobIds
    even_paid: bool = False
    reason: Reason

    def run(self, changes: "Changes") -> Change:
        return changes.cancel(in_order(self.job_ids), even_paid=self.even_paid)


class Revive(ChangeRequest):
    """Bring cancelled jobs back."""

    operation: Literal["revive"] = "revive"
    job_ids: JobIds
    reason: Reason

    def run(self, changes: "Changes") -> Change:
        return changes.revive(in_order(self.job_ids))


class RetryNow(ChangeRequest):
    """End the wait of jobs for their next attempt."""

    operation: Literal["retry_now"] = "retry_now"
    job_ids: JobIds

    def run(self, changes: "Changes") -> Change:
        return changes.retry_now(in_order(self.job_ids))
