"""Requests about dead jobs, and about messages that belong to none."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from oncall.request import MOST_JOBS, ChangeRequest, JobIds, Name, OrderNumberText, Query, Reason, RowId, in_order
from skincare.identifiers import JobId
from skincare.operations.conditions import DeadConditions
from skincare.operations.dead_letters import DeadList, DeadPage
from skincare.operations.models import Change, QuarantinedContent

if TYPE_CHECKING:
    from skincare.operations.changes import Changes
    from skincare.operations.queries import Queries


class DeadLetterRef(BaseModel):
    """A dead job, by the number of the dead letter that the caller has looked at."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    job_id: UUID
    dead_letter_no: Annotated[int, Field(ge=1, lt=2**31)]


DeadLetterRefs = Annotated[list[DeadLetterRef], Field(min_length=1, max_length=MOST_JOBS)]


def numbers_of(refs: Sequence[DeadLetterRef]) -> Mapping[JobId, int]:
    """Return the number of the dead letter of each job."""
    return {JobId(ref.job_id): ref.dead_letter_no for ref in refs}


class ListDead(Query):
    """Dead jobs by type and error, and messages in quarantine."""

    answer: ClassVar[type[Any]] = DeadList
    operation: Literal["list_dead"] = "list_dead"

    def run(self, queries: "Queries") -> DeadList:
        return queries.list_dead()


class FindDead(Query):
    """A page of dead jobs; the next one begins `after` the last id of this one."""

    answer: ClassVar[type[Any]] = DeadPage
    operation: Literal["find_dead"] = "find_dead"
    job_ids: JobIds | None = None
    job_type: Name | None = None
    error_class: Name | None = None
    queue: Name | None = None
    order_number: OrderNumberText | None = None
    failed_before: AwareDatetime | None = None
    acknowledged: bool | None = None
    after: UUID | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_JOBS)] = MOST_JOBS

    def run(self, queries: "Queries") -> DeadPage:
        wanted = DeadConditions(
            None if self.job_ids is None else in_order(self.job_ids),
            self.job_type,
            self.error_class,
            self.order_number,
            self.failed_before,
            self.queue,
            self.acknowledged,
        )
        return queries.find_dead(wanted, after=self.after, limit=self.limit)


class Redrive(ChangeRequest):
    """Bring dead jobs back."""

    operation: Literal["redrive"] = "redrive"
    deaths: DeadLetterRefs
    force: bool = False
    even_crashed: bool = False

    def run(self, changes: "Changes") -> Change:
        return changes.redrive(numbers_of(self.deaths), force=self.force, even_crashed=self.even_crashed)


class Discard(ChangeRequest):
    """Cancel dead jobs; payment events go with theirs, those that say *paid* with `even_paid` only."""

    operation: Literal["discard"] = "discard"
    deaths: DeadLetterRefs
    even_paid: bool = False
    reason: Reason

    def run(self, changes: "Changes") -> Change:
        return changes.discard(numbers_of(self.deaths), even_paid=self.even_paid)


class Acknowledge(ChangeRequest):
    """Note that somebody knows of dead jobs; they do not count for the alarm until the time is over."""

    operation: Literal["acknowledge"] = "acknowledge"
    deaths: DeadLetterRefs
    lasts_s: Annotated[int, Field(ge=60, le=90 * 86_400)]
    reason: Reason

    def run(self, changes: "Changes") -> Change:
        return changes.acknowledge(numbers_of(self.deaths), lasts=timedelta(seconds=self.lasts_s))


class Unacknowledge(ChangeRequest):
    """Take acknowledgements back."""

    operation: Literal["unacknowledge"] = "unacknowledge"
    deaths: DeadLetterRefs

    def run(self, changes: "Changes") -> Change:
        return changes.unacknowledge(numbers_of(self.deaths))


class ShowQuarantined(Query):
    """A quarantined message whole."""

    answer: ClassVar[type[Any]] = QuarantinedContent
    operation: Literal["show_quarantined"] = "show_quarantined"
    message_id: RowId

    def run(self, queries: "Queries") -> QuarantinedContent | None:
        return queries.quarantined(self.message_id)


class CloseQuarantined(ChangeRequest):
    """Note that somebody has dealt with a quarantined message."""

    operation: Literal["close_quarantined"] = "close_quarantined"
    message_id: RowId
    reason: Reason

    def run(self, changes: "Changes") -> Change:
        return changes.close_quarantined(self.message_id)
