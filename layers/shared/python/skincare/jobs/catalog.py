"""What each job type carries: one payload class per type.

The type's name is a contract with messages that are already queued: it is never renamed. A payload
holds identifiers as strings, never a snapshot; unknown fields are ignored, because an older worker must
survive a newer API during a deploy.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from skincare.jobs.queues import QueueName


@dataclass(frozen=True)
class RunAgain:
    """Whether a job may be run once more by a person who does not know what its attempts did, and why."""

    safe: bool
    why: str


class JobPayload(BaseModel):
    """The base of every payload.

    `budget` is how long the job is retried before a person is needed. `run_again` is what the on-call engineer is
    told before a redrive; each type says it for itself. `shown_as` is what its order's customer sees it as, a
    contract with clients; None hides it.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    job_type: ClassVar[str]
    queue: ClassVar[QueueName]
    budget: ClassVar[timedelta] = timedelta(hours=1)
    run_again: ClassVar[RunAgain] = RunAgain(safe=False, why="nobody has said what a second run does")
    shown_as: ClassVar[str | None] = None


class SendConfirmationEmail(JobPayload):
    """Tell the customer that the order was placed."""

    job_type: ClassVar[str] = "send_confirmation_email"
    queue: ClassVar[QueueName] = QueueName.NOTIFICATIONS
    budget: ClassVar[timedelta] = timedelta(hours=24)
    run_again: ClassVar[RunAgain] = RunAgain(
        safe=True, why="sends nothing where the mail is recorded as sent or the order has ended"
    )
    shown_as: ClassVar[str | None] = "confirmation_email"

    order_number: str = Field(min_length=1, max_length=64)


class ProcessPayment(JobPayload):
    """Apply what a payment gateway told us."""

    job_type: ClassVar[str] = "process_payment"
    queue: ClassVar[QueueName] = QueueName.PAYMENTS
    budget: ClassVar[timedelta] = timedelta(hours=72)
    run_again: ClassVar[RunAgain] = RunAgain(
        safe=True, why="an event is applied once; applied before, it changes nothing"
    )

    event_id: Annotated[str, Field(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]


PAYLOADS: tuple[type[JobPayload], ...] = (SendConfirmationEmail, ProcessPayment)
"""Every job type there is."""

BUDGETS = {payload.job_type: payload.budget for payload in PAYLOADS}

SHOWN_AS = {payload.job_type: payload.shown_as for payload in PAYLOADS if payload.shown_as is not None}
"""What customers see of the jobs of their orders, by job type."""

RUN_AGAIN = {payload.job_type: payload.run_again for payload in PAYLOADS}

UNKNOWN_TYPE = RunAgain(safe=False, why="this release does not know the job type")
