"""Requests about payments."""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal
from uuid import UUID

from pydantic import Field

from oncall.request import (
    ChangeRequest,
    OrderNumberText,
    Query,
    Reason,
    RefundKey,
    RefundReason,
    RowId,
    TransactionId,
)
from skincare.identifiers import OrderNumber
from skincare.operations.models import Change, PaymentsState, ReconciliationState
from skincare.payments.refunds.models import RefundRequest, RefundRow

if TYPE_CHECKING:
    from skincare.operations.changes import Changes
    from skincare.operations.queries import Queries


class ShowPayments(Query):
    """What of payments waits."""

    answer: ClassVar[type[Any]] = PaymentsState
    operation: Literal["show_payments"] = "show_payments"

    def run(self, queries: "Queries") -> PaymentsState:
        return queries.payments_state()


class ResolveAnomaly(ChangeRequest):
    """Note that somebody has dealt with money that does not fit."""

    operation: Literal["resolve_anomaly"] = "resolve_anomaly"
    anomaly_id: RowId
    reason: Reason

    def run(self, changes: "Changes") -> Change:
        return changes.resolve_anomaly(self.anomaly_id)


class ReviewEvent(ChangeRequest):
    """Note that somebody has looked at a payment event that could not be read."""

    operation: Literal["review_event"] = "review_event"
    event_id: UUID
    reason: Reason

    def run(self, changes: "Changes") -> Change:
        return changes.review_event(self.event_id)


class SetAsideEvent(ChangeRequest):
    """Give a payment event up that can never be applied; its jobs are cancelled. A paid one needs `even_paid`."""

    operation: Literal["set_aside_event"] = "set_aside_event"
    event_id: UUID
    even_paid: bool = False
    reason: Reason

    def run(self, changes: "Changes") -> Change:
        return changes.set_aside_event(self.event_id, even_paid=self.even_paid)


class TakeUpEvent(ChangeRequest):
    """Take back that an event was set aside, by a person or because its time was over: it is tried again."""

    operation: Literal["take_up_event"] = "take_up_event"
    event_id: UUID
    reason: Reason

    def run(self, changes: "Changes") -> Change:
        return changes.take_up_event(self.event_id)


class SettleFinding(ChangeRequest):
    """Note that somebody has dealt with what the reconciliation found."""

    operation: Literal["settle_finding"] = "settle_finding"
    finding_id: RowId
    reason: Reason

    def run(self, changes: "Changes") -> Change:
        return changes.settle_finding(self.finding_id)


class ReopenFinding(ChangeRequest):
    """Take back that a finding was dealt with."""

    operation: Literal["reopen_finding"] = "reopen_finding"
    finding_id: RowId
    reason: Reason

    def run(self, changes: "Changes") -> Change:
        return changes.reopen_finding(self.finding_id)


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

    def run(self, changes: "Changes") -> RefundRow:
        # Who asked is in the audit in full.
        asked_by = self.claimed_identity[-100:]
        return changes.refund(
            RefundRequest(
                OrderNumber(self.order_number),
                self.reason,
                asked_by,
                amount_rupiah=self.amount_rupiah,
                transaction_id=self.transaction_id,
                anomaly_id=self.anomaly_id,
                keep_stock=self.keep_stock,
                key=self.key,
            )
        )


class Reconcile(ChangeRequest):
    """Hold orders and payments against each other and repair what is safe."""

    answer: ClassVar[type[Any]] = ReconciliationState
    operation: Literal["reconcile"] = "reconcile"

    def run(self, changes: "Changes") -> ReconciliationState:
        return changes.reconcile()
