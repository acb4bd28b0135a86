"""What happened for an order after it was placed, as its customer may see it: no errors, identifiers or attempts."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from skincare.jobs.catalog import (
    SHOWN_AS,
    SendConfirmationEmail,
    SendOrderCancelledEmail,
    SendOrderExpiredEmail,
    SendPaymentReceivedEmail,
    SendRefundEmail,
)
from skincare.jobs.models import JobState
from skincare.notifications.models import Notice, NotificationStatus, NotificationType
from skincare.orders.models import Order, OrderStatus

_SHORTEST_WAIT_S = 1
_LONGEST_WAIT_S = 30

_NOTIFICATION_OF = {
    SendConfirmationEmail.job_type: NotificationType.ORDER_CONFIRMATION,
    SendPaymentReceivedEmail.job_type: NotificationType.PAYMENT_RECEIVED,
    SendOrderCancelledEmail.job_type: NotificationType.ORDER_CANCELLED,
    SendOrderExpiredEmail.job_type: NotificationType.ORDER_EXPIRED,
    SendRefundEmail.job_type: NotificationType.REFUND,
}
"""The notification that a job type sends: what it recorded says more than the state of its job."""

# Their mails are pointless once the order has ended so.
_ABOUT_LIVE_ORDERS = {SendConfirmationEmail.job_type, SendPaymentReceivedEmail.job_type}
_ENDED_WITHOUT_MAIL = {OrderStatus.CANCELLED, OrderStatus.EXPIRED, OrderStatus.REFUNDED}


class ActivityStatus(StrEnum):
    WAITING = "waiting"
    WORKING = "working"
    DONE = "done"
    FAILED = "failed"
    """A person has to look at it."""
    CANCELLED = "cancelled"
    """It was no longer wanted."""
    UNDELIVERABLE = "undeliverable"
    """The customer's address does not take mail."""


_STATUS: Mapping[str, ActivityStatus] = {
    JobState.PENDING: ActivityStatus.WAITING,
    JobState.QUEUED: ActivityStatus.WAITING,
    JobState.RETRY_WAITING: ActivityStatus.WAITING,
    JobState.PROCESSING: ActivityStatus.WORKING,
    JobState.COMPLETED: ActivityStatus.DONE,
    JobState.DEAD_LETTER: ActivityStatus.FAILED,
    JobState.CANCELLED: ActivityStatus.CANCELLED,
}
_LIVE = {ActivityStatus.WAITING, ActivityStatus.WORKING}

_STATUS_OF_NOTIFICATION = {
    NotificationStatus.SENT: ActivityStatus.DONE,
    NotificationStatus.UNDELIVERABLE: ActivityStatus.UNDELIVERABLE,
}


@dataclass(frozen=True)
class OrderJob:
    """A job of an order as the ledger has it; `since` is when its state began, `due_in_s` when it is tried again."""

    job_type: str
    state: str
    since: datetime
    due_in_s: float | None
    refund_no: int | None = None
    """Which refund of the order it is about."""

    @property
    def notification(self) -> str:
        """What is recorded once its mail was sent; empty for a job that sends none."""
        kind = _NOTIFICATION_OF.get(self.job_type)
        return "" if kind is None else Notice(kind, self.refund_no).recorded


@dataclass(frozen=True)
class Notification:
    """That a notification was sent, or could not be."""

    type: str
    status: NotificationStatus
    at: datetime


@dataclass(frozen=True)
class Activity:
    """One thing that is done for an order; `at` is when its status began."""

    what: str
    status: ActivityStatus
    at: datetime


@dataclass(frozen=True)
class OrderDetail(Order):
    """An order with what happened for it, oldest first.

    `retry_after_s` is when another look may show something new, None once nothing goes on.
    """

    activity: tuple[Activity, ...]
    retry_after_s: int | None


def detail_of(order: Order, jobs: Sequence[OrderJob], notifications: Sequence[Notification]) -> OrderDetail:
    """Translate an order's jobs, oldest first. Those that no customer is shown still ask for another look."""
    recorded = {notification.type: notification for notification in notifications}
    shown = tuple(
        _activity(order, SHOWN_AS[job.job_type], job, recorded.get(job.notification))
        for job in jobs
        if job.job_type in SHOWN_AS
    )
    waits = [_wait(job) for job in jobs if _STATUS[job.state] in _LIVE]
    return OrderDetail(**vars(order), activity=shown, retry_after_s=min(waits, default=None))


def _activity(order: Order, what: str, job: OrderJob, recorded: Notification | None) -> Activity:
    if recorded is not None:
        return Activity(what, _STATUS_OF_NOTIFICATION[recorded.status], recorded.at)
    status = _STATUS[job.state]
    if status is ActivityStatus.DONE and job.job_type in _ABOUT_LIVE_ORDERS and order.status in _ENDED_WITHOUT_MAIL:
        status = ActivityStatus.CANCELLED
    return Activity(what, status, job.since)


def _wait(job: OrderJob) -> int:
    return min(_LONGEST_WAIT_S, max(_SHORTEST_WAIT_S, math.ceil(job.due_in_s or 0)))
