"""What the on-call function can be asked: one class per operation, read strictly."""

import json
import re
from typing import Annotated, Any, ClassVar, Literal
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from oncall.mail_requests import LiftSuppressions, ListSuppressed, ResendMails
from oncall.refusals import RequestRefused, broken_rules
from oncall.request import (
    MOST_JOBS,
    ChangeRequest,
    JobIds,
    Name,
    OrderNumberText,
    Reason,
    RefundKey,
    RefundReason,
    Request,
    RowId,
    TransactionId,
)
from skincare.operations.dead_letters import DeadList, DeadPage
from skincare.operations.models import (
    Jobs,
    JobTimeline,
    OrderTimeline,
    OutboxState,
    PaymentsState,
    QuarantinedContent,
    ReconciliationState,
)
from skincare.payments.refunds.models import RefundRow

_HALF = re.compile("[\ud800-\udfff]")


class DeadLetterRef(BaseModel):
    """A dead job, by the number of the dead letter that the caller has looked at."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    job_id: UUID
    dead_letter_no: Annotated[int, Field(ge=1, lt=2**31)]


DeadLetterRefs = Annotated[list[DeadLetterRef], Field(min_length=1, max_length=MOST_JOBS)]


class ListDead(Request):
    """Dead jobs by type and error, and messages in quarantine."""

    answer: ClassVar[type[Any]] = DeadList
    operation: Literal["list_dead"] = "list_dead"


class FindDead(Request):
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


class ListJobs(Request):
    """The newest jobs, all or those of a queue or in a state."""

    answer: ClassVar[type[Any]] = Jobs
    operation: Literal["list_jobs"] = "list_jobs"
    queue: Name | None = None
    state: Name | None = None
    limit: Annotated[int, Field(ge=1, le=1000)] = 100


class LookAtJobs(Request):
    """Some jobs by their ids, and the newest of an order."""

    answer: ClassVar[type[Any]] = Jobs
    operation: Literal["look_at_jobs"] = "look_at_jobs"
    job_ids: Annotated[list[UUID], Field(max_length=MOST_JOBS, default_factory=list)]
    order_number: OrderNumberText | None = None


class ShowJob(Request):
    """Everything about one job."""

    answer: ClassVar[type[Any]] = JobTimeline
    operation: Literal["show_job"] = "show_job"
    job_id: UUID


class ShowOrder(Request):
    """What happened to an order."""

    answer: ClassVar[type[Any]] = OrderTimeline
    operation: Literal["show_order"] = "show_order"
    order_number: OrderNumberText


class ShowOutbox(Request):
    """How far the outbox is behind."""

    answer: ClassVar[type[Any]] = OutboxState
    operation: Literal["show_outbox"] = "show_outbox"


class ShowPayments(Request):
    """What of payments waits."""

    answer: ClassVar[type[Any]] = PaymentsState
    operation: Literal["show_payments"] = "show_payments"


class ShowQuarantined(Request):
    """A quarantined message whole."""

    answer: ClassVar[type[Any]] = QuarantinedContent
    operation: Literal["show_quarantined"] = "show_quarantined"
    message_id: RowId


class Redrive(ChangeRequest):
    """Bring dead jobs back."""

    operation: Literal["redrive"] = "redrive"
    deaths: DeadLetterRefs
    force: bool = False
    even_crashed: bool = False


class Discard(ChangeRequest):
    """Cancel dead jobs; payment events go with theirs, those that say *paid* with `even_paid` only."""

    operation: Literal["discard"] = "discard"
    deaths: DeadLetterRefs
    even_paid: bool = False
    reason: Reason


class Acknowledge(ChangeRequest):
    """Note that somebody knows of dead jobs; they do not count for the alarm until the time is over."""

    operation: Literal["acknowledge"] = "acknowledge"
    deaths: DeadLetterRefs
    lasts_s: Annotated[int, Field(ge=60, le=90 * 86_400)]
    reason: Reason


class Unacknowledge(ChangeRequest):
    """Take acknowledgements back."""

    operation: Literal["unacknowledge"] = "unacknowledge"
    deaths: DeadLetterRefs


class Cancel(ChangeRequest):
    """Cancel jobs that are not finished; payment events as with `Discard`."""

    operation: Literal["cancel"] = "cancel"
    job_ids: JobIds
    even_paid: bool = False
    reason: Reason


class RetryNow(ChangeRequest):
    """End the wait of jobs for their next attempt."""

    operation: Literal["retry_now"] = "retry_now"
    job_ids: JobIds


class ResolveAnomaly(ChangeRequest):
    """Note that somebody has dealt with money that does not fit."""

    operation: Literal["resolve_anomaly"] = "resolve_anomaly"
    anomaly_id: RowId
    reason: Reason


class ReviewEvent(ChangeRequest):
    """Note that somebody has looked at a payment event that could not be read."""

    operation: Literal["review_event"] = "review_event"
    event_id: UUID
    reason: Reason


class Refund(ChangeRequest):
    """Give money of an order back; the same key again is the same refund."""

    answer: ClassVar[type[Any]] = RefundRow
    operation: Literal["refund"] = "refund"
    order_number: OrderNumberText
    key: RefundKey
    reason: RefundReason
    amount_rupiah: Annotated[int, Field(ge=1, lt=2**63)] | None = None
    transaction_id: TransactionId | None = None
    anomaly_id: RowId | None = None
    keep_stock: bool = False


class Reconcile(ChangeRequest):
    """Hold orders and payments against each other and repair what is safe."""

    answer: ClassVar[type[Any]] = ReconciliationState
    operation: Literal["reconcile"] = "reconcile"


class CloseQuarantined(ChangeRequest):
    """Note that somebody has dealt with a quarantined message."""

    operation: Literal["close_quarantined"] = "close_quarantined"
    message_id: RowId
    reason: Reason


REQUESTS: tuple[type[Request], ...] = (
    ListDead,
    FindDead,
    ListJobs,
    LookAtJobs,
    ShowJob,
    ShowOrder,
    ShowOutbox,
    ShowPayments,
    ShowQuarantined,
    ListSuppressed,
    Redrive,
    Discard,
    Acknowledge,
    Unacknowledge,
    Cancel,
    RetryNow,
    ResolveAnomaly,
    ReviewEvent,
    LiftSuppressions,
    ResendMails,
    Refund,
    Reconcile,
    CloseQuarantined,
)


def read(event: object, known: tuple[type[Request], ...] = REQUESTS) -> Request:
    """Read the event of an invocation as one of the known requests. Raises `RequestRefused`."""
    if not isinstance(event, dict):
        raise RequestRefused({"request": "must be an object"})
    classes = {request.model_fields["operation"].default: request for request in known}
    name = event.get("operation")
    if not isinstance(name, str) or name not in classes:
        raise RequestRefused({"operation": f"must be one of {', '.join(classes)}"})
    if halves := {field: "must be text without half a surrogate pair" for field in event if _has_half(event[field])}:
        raise RequestRefused(halves)
    try:
        # From JSON: what is strict must still read a UUID and a time from text.
        return classes[name].model_validate_json(json.dumps(event))
    except ValidationError as error:
        raise RequestRefused(broken_rules(error)) from None


def _has_half(value: object) -> bool:
    # A parser of JSON refuses it without saying where it is.
    return _HALF.search(json.dumps(value, ensure_ascii=False)) is not None
