"""What the on-call function can be asked: one class per operation, read strictly."""

import json
from typing import Annotated, Any, ClassVar, Literal
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from oncall.mail_requests import LiftSuppressions, ListSuppressed, ResendMails
from oncall.request import MOST_JOBS, ChangeRequest, JobIds, Name, OrderNumberText, Reason, Request, RowId
from skincare.errors import SkincareError
from skincare.operations.models import (
    DeadList,
    DeadPage,
    Jobs,
    JobStory,
    OrderStory,
    OutboxState,
    PaymentsState,
    QuarantinedContent,
    ReconciliationState,
)
from skincare.payments.refunds.models import RefundRow


class Death(BaseModel):
    """A dead job, in the death that the caller has looked at."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    job_id: UUID
    dead_letter_no: Annotated[int, Field(ge=1, lt=2**31)]


Deaths = Annotated[list[Death], Field(min_length=1, max_length=MOST_JOBS)]


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
    order_number: OrderNumberText | None = None
    failed_before: AwareDatetime | None = None
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

    answer: ClassVar[type[Any]] = JobStory
    operation: Literal["show_job"] = "show_job"
    job_id: UUID


class ShowOrder(Request):
    """What happened to an order."""

    answer: ClassVar[type[Any]] = OrderStory
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
    deaths: Deaths
    force: bool = False


class Discard(ChangeRequest):
    """Cancel dead jobs."""

    operation: Literal["discard"] = "discard"
    deaths: Deaths
    reason: Reason


class Cancel(ChangeRequest):
    """Cancel jobs that are not finished."""

    operation: Literal["cancel"] = "cancel"
    job_ids: JobIds
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
    key: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9-]{0,63}$")]
    reason: Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]*\S[^\x00-\x1f\x7f]*$")]
    amount_rupiah: Annotated[int, Field(ge=1, lt=2**63)] | None = None
    transaction_id: Annotated[str, Field(min_length=1, max_length=128)] | None = None
    anomaly_id: RowId | None = None
    keep_stock: bool = False


class Reconcile(ChangeRequest):
    """Hold orders and payments against each other and mend what is safe."""

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


class RequestRefused(SkincareError):
    """A request that is none of these; names fields, never their values."""

    def __init__(self, fields: dict[str, str]) -> None:
        super().__init__("the request is malformed at " + ", ".join(fields))
        self.fields = fields


def read(event: object) -> Request:
    """Read the event of an invocation. Raises `RequestRefused`."""
    if not isinstance(event, dict):
        raise RequestRefused({"request": "must be an object"})
    classes = {request.model_fields["operation"].default: request for request in REQUESTS}
    name = event.get("operation")
    if not isinstance(name, str) or name not in classes:
        raise RequestRefused({"operation": f"must be one of {', '.join(classes)}"})
    try:
        # From JSON: what is strict must still read a UUID and a time from text.
        return classes[name].model_validate_json(json.dumps(event))
    except ValidationError as error:
        raise RequestRefused(_fields(error)) from None


_WORDS = {
    "missing": "is missing",
    "extra_forbidden": "is not known to this operation",
    "too_short": "is too short",
    "too_long": f"is too long: at most {MOST_JOBS}",
    "string_too_long": "is too long",
    "string_too_short": "is empty",
    "address": "is no address that mail can be sent to",
    "one_of_two": "must name either email or ids",
}


def _fields(error: ValidationError) -> dict[str, str]:
    """Return what is wrong by field, in our own words: pydantic's quote what was sent."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    return {
        ".".join(map(str, problem["loc"])) or "request": _WORDS.get(
            problem["type"], f"is malformed ({problem['type']})"
        )
        for problem in problems
    }
