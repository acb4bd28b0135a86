"""Requests that settle what the shop decided about money by itself, or take such a decision back."""

from typing import Literal
from uuid import UUID

from oncall.request import ChangeRequest, Reason, Request, RowId


class SetAsideEvent(ChangeRequest):
    """Give a payment event up that can never be applied; its jobs are cancelled. A paid one needs `even_paid`."""

    operation: Literal["set_aside_event"] = "set_aside_event"
    event_id: UUID
    even_paid: bool = False
    reason: Reason


class TakeUpEvent(ChangeRequest):
    """Take back that an event was set aside, by a person or because its time was over: it is tried again."""

    operation: Literal["take_up_event"] = "take_up_event"
    event_id: UUID
    reason: Reason


class SettleFinding(ChangeRequest):
    """Note that somebody has dealt with what the reconciliation found."""

    operation: Literal["settle_finding"] = "settle_finding"
    finding_id: RowId
    reason: Reason


class ReopenFinding(ChangeRequest):
    """Take back that a finding was dealt with."""

    operation: Literal["reopen_finding"] = "reopen_finding"
    finding_id: RowId
    reason: Reason


MONEY_REQUESTS: tuple[type[Request], ...] = (SetAsideEvent, TakeUpEvent, SettleFinding, ReopenFinding)
