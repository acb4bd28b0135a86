"""What each job type carries: one payload class per type.

The type's name is a contract with messages that are already queued: it is never renamed. A payload
holds identifiers as strings, never a snapshot; unknown fields are ignored, because an older worker must
survive a newer API during a deploy.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from skincare.deployment.providers import Provider
from skincare.deployment.queues import QueueName
from skincare.identifiers import CREDIT_NOTE_PATTERN, ORDER_NUMBER_PATTERN, REFUND_KEY_PATTERN, UUID_PATTERN

OrderNumberText = Annotated[str, Field(pattern=ORDER_NUMBER_PATTERN)]
"""As we write it: what people type is read before it becomes a payload."""


@dataclass(frozen=True)
class RunAgain:
    """Whether a job may be run once more by a person who does not know what its attempts did, and why."""

    safe: bool
    why: str


class JobPayload(BaseModel):
    """The base of every payload.

    `providers` are the services of others that its handler calls. `budget` is how long the job is retried before a
    person is needed. `run_again` is what the on-call engineer is shown before a redrive; each type says it for itself.
    `shown_as` is what its order's customer sees it as, a contract with clients; None hides it. A periodic job has
    `daily_at`, a time of day (UTC): the relay sees to it that there is one for each day.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    job_type: ClassVar[str]
    queue: ClassVar[QueueName]
    providers: ClassVar[frozenset[Provider]]
    budget: ClassVar[timedelta] = timedelta(hours=1)
    run_again: ClassVar[RunAgain] = RunAgain(safe=False, why="nobody has said what a second run does")
    shown_as: ClassVar[str | None] = None
    daily_at: ClassVar[timedelta | None] = None


class SendConfirmationEmail(JobPayload):
    """Tell the customer that the order was placed."""

    job_type: ClassVar[str] = "send_confirmation_email"
    queue: ClassVar[QueueName] = QueueName.NOTIFICATIONS
    providers: ClassVar[frozenset[Provider]] = frozenset({Provider.SES})
    budget: ClassVar[timedelta] = timedelta(hours=24)
    run_again: ClassVar[RunAgain] = RunAgain(
        safe=True, why="sends nothing where the mail is recorded as sent or the order has ended"
    )
    shown_as: ClassVar[str | None] = "confirmation_email"

    order_number: OrderNumberText


class ProcessPayment(JobPayload):
    """Apply a payment event."""

    job_type: ClassVar[str] = "process_payment"
    queue: ClassVar[QueueName] = QueueName.PAYMENTS
    providers: ClassVar[frozenset[Provider]] = frozenset({Provider.PAYMENT_GATEWAYS})
    budget: ClassVar[timedelta] = timedelta(hours=72)
    run_again: ClassVar[RunAgain] = RunAgain(
        safe=True, why="an event is applied once; applied before, it changes nothing"
    )

    event_id: Annotated[str, Field(pattern=UUID_PATTERN)]


class SendPaymentReceivedEmail(JobPayload):
    """Tell the customer that the order is paid."""

    job_type: ClassVar[str] = "send_payment_received_email"
    queue: ClassVar[QueueName] = QueueName.NOTIFICATIONS
    providers: ClassVar[frozenset[Provider]] = frozenset({Provider.SES})
    budget: ClassVar[timedelta] = timedelta(hours=24)
    run_again: ClassVar[RunAgain] = RunAgain(
        safe=True, why="sends nothing where the mail is recorded as sent or the order has ended"
    )
    shown_as: ClassVar[str | None] = "payment_received_email"

    order_number: OrderNumberText


class SendOrderCancelledEmail(JobPayload):
    """Tell the customer that the order was cancelled."""

    job_type: ClassVar[str] = "send_order_cancelled_email"
    queue: ClassVar[QueueName] = QueueName.NOTIFICATIONS
    providers: ClassVar[frozenset[Provider]] = frozenset({Provider.SES})
    budget: ClassVar[timedelta] = timedelta(hours=24)
    run_again: ClassVar[RunAgain] = RunAgain(safe=True, why="sends nothing where the mail is recorded as sent")
    shown_as: ClassVar[str | None] = "cancellation_email"

    order_number: OrderNumberText


class SendOrderExpiredEmail(JobPayload):
    """Tell the customer that the order was not paid in time."""

    job_type: ClassVar[str] = "send_order_expired_email"
    queue: ClassVar[QueueName] = QueueName.NOTIFICATIONS
    providers: ClassVar[frozenset[Provider]] = frozenset({Provider.SES})
    budget: ClassVar[timedelta] = timedelta(hours=24)
    run_again: ClassVar[RunAgain] = RunAgain(safe=True, why="sends nothing where the mail is recorded as sent")
    shown_as: ClassVar[str | None] = "expiry_email"

    order_number: OrderNumberText


class SendRefundEmail(JobPayload):
    """Tell the customer that money went back; `refund_no` counts the refunds of the order."""

    job_type: ClassVar[str] = "send_refund_email"
    queue: ClassVar[QueueName] = QueueName.NOTIFICATIONS
    providers: ClassVar[frozenset[Provider]] = frozenset({Provider.SES})
    budget: ClassVar[timedelta] = timedelta(hours=24)
    run_again: ClassVar[RunAgain] = RunAgain(
        safe=True, why="sends nothing where the mail about this refund is recorded as sent"
    )
    shown_as: ClassVar[str | None] = "refund_email"

    order_number: OrderNumberText
    refund_no: Annotated[int, Field(ge=1, lt=2**31)]


class GenerateInvoicePdf(JobPayload):
    """Make the file of an order's invoice."""

    job_type: ClassVar[str] = "generate_invoice_pdf"
    queue: ClassVar[QueueName] = QueueName.DOCUMENTS
    providers: ClassVar[frozenset[Provider]] = frozenset({Provider.INVOICE_BUCKET})
    budget: ClassVar[timedelta] = timedelta(hours=24)
    run_again: ClassVar[RunAgain] = RunAgain(
        safe=True, why="the file is written once, and the same order makes the same bytes"
    )
    shown_as: ClassVar[str | None] = "invoice"

    order_number: OrderNumberText


class GenerateCreditNotePdf(JobPayload):
    """Make the file of a credit note, which `credit_note` names by its number."""

    job_type: ClassVar[str] = "generate_credit_note_pdf"
    queue: ClassVar[QueueName] = QueueName.DOCUMENTS
    providers: ClassVar[frozenset[Provider]] = frozenset({Provider.INVOICE_BUCKET})
    budget: ClassVar[timedelta] = timedelta(hours=24)
    run_again: ClassVar[RunAgain] = RunAgain(
        safe=True, why="the file is written once, and the same credit note makes the same bytes"
    )
    shown_as: ClassVar[str | None] = "credit_note"

    order_number: OrderNumberText
    credit_note: Annotated[str, Field(pattern=CREDIT_NOTE_PATTERN)]


class ExpireOrder(JobPayload):
    """Close an order that nobody paid in time; a timer, one per order."""

    job_type: ClassVar[str] = "expire_order"
    queue: ClassVar[QueueName] = QueueName.PAYMENTS
    providers: ClassVar[frozenset[Provider]] = frozenset({Provider.PAYMENT_GATEWAYS})
    budget: ClassVar[timedelta] = timedelta(hours=72)
    run_again: ClassVar[RunAgain] = RunAgain(
        safe=True, why="asks the gateway again, and expires only an order that is still pending"
    )

    order_number: OrderNumberText

    @property
    def unique_key(self) -> str:
        """As the functions `place_order` and `cancel_order` write it."""
        return f"{self.job_type}:{self.order_number}"


class ClosePayments(JobPayload):
    """Let nobody pay an order any more that takes no more money."""

    job_type: ClassVar[str] = "close_payments"
    queue: ClassVar[QueueName] = QueueName.PAYMENTS
    providers: ClassVar[frozenset[Provider]] = frozenset({Provider.PAYMENT_GATEWAYS})
    budget: ClassVar[timedelta] = timedelta(hours=72)
    run_again: ClassVar[RunAgain] = RunAgain(
        safe=True, why="closes what is still open at the gateway, and nothing of an order that is pending"
    )

    order_number: OrderNumberText


class SendRefund(JobPayload):
    """Ask a payment gateway to give money back."""

    job_type: ClassVar[str] = "send_refund"
    queue: ClassVar[QueueName] = QueueName.PAYMENTS
    providers: ClassVar[frozenset[Provider]] = frozenset({Provider.PAYMENT_GATEWAYS})
    budget: ClassVar[timedelta] = timedelta(hours=72)
    run_again: ClassVar[RunAgain] = RunAgain(
        safe=True,
        why="the gateway takes the refund's key once; sent before, it sends nothing, refused before, it asks again",
    )

    refund_key: Annotated[str, Field(pattern=REFUND_KEY_PATTERN)]

    @property
    def unique_key(self) -> str:
        return f"{self.job_type}:{self.refund_key}"


class ReconcilePayments(JobPayload):
    """Compare orders, payments and what gateways say; repair what is safe and report the rest."""

    job_type: ClassVar[str] = "reconcile_payments"
    queue: ClassVar[QueueName] = QueueName.PAYMENTS
    providers: ClassVar[frozenset[Provider]] = frozenset({Provider.PAYMENT_GATEWAYS})
    budget: ClassVar[timedelta] = timedelta(hours=6)
    run_again: ClassVar[RunAgain] = RunAgain(
        safe=True, why="looks everything through again, and enqueues only what is missing"
    )
    daily_at: ClassVar[timedelta | None] = timedelta(hours=20)
    """Three in the morning in Jakarta."""


class ExportCustomer(JobPayload):
    """Write what is known about a customer into a file; the request, by its number, names the account."""

    job_type: ClassVar[str] = "export_customer"
    queue: ClassVar[QueueName] = QueueName.DOCUMENTS
    budget: ClassVar[timedelta] = timedelta(hours=24)
    run_again: ClassVar[RunAgain] = RunAgain(safe=True, why="a request that has its file gets no other")
    providers: ClassVar[frozenset[Provider]] = frozenset({Provider.INVOICE_BUCKET})

    customer_request: Annotated[int, Field(ge=1, lt=2**63)]

    @property
    def unique_key(self) -> str:
        return f"{self.job_type}:{self.customer_request}"


class EraseCustomer(JobPayload):
    """Erase a customer, or look again later; of a request's jobs only that of its newest `look` acts."""

    job_type: ClassVar[str] = "erase_customer"
    queue: ClassVar[QueueName] = QueueName.DOCUMENTS
    budget: ClassVar[timedelta] = timedelta(hours=24)
    run_again: ClassVar[RunAgain] = RunAgain(safe=True, why="what is erased stays so, and what is open is waited for")
    providers: ClassVar[frozenset[Provider]] = frozenset()

    customer_request: Annotated[int, Field(ge=1, lt=2**63)]
    look: Annotated[int, Field(ge=1, lt=2**31)]

    @property
    def unique_key(self) -> str:
        return f"{self.job_type}:{self.customer_request}:{self.look}"


PAYLOADS: tuple[type[JobPayload], ...] = tuple(JobPayload.__subclasses__())
"""Every job type there is: the classes above."""

PERIODIC_JOBS = tuple(payload() for payload in PAYLOADS if payload.daily_at is not None)
"""The jobs that the relay schedules for every day."""

BUDGETS = {payload.job_type: payload.budget for payload in PAYLOADS}

TYPES_OF = {
    provider: frozenset(payload.job_type for payload in PAYLOADS if provider in payload.providers)
    for provider in Provider
}
"""The job types that call each provider."""

SHOWN_AS = {payload.job_type: payload.shown_as for payload in PAYLOADS if payload.shown_as is not None}
"""What customers see of the jobs of their orders, by job type."""

RUN_AGAIN = {payload.job_type: payload.run_again for payload in PAYLOADS}

UNKNOWN_TYPE = RunAgain(safe=False, why="this release does not know the job type")
