"""What happened to an order, step by step, from the rows that its jobs left."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from local.page.repository import OrderRow
from skincare.jobs.models import JobState

_ENDS_OF_ATTEMPTS = {
    "completed": "job_completed",
    "retry": "attempt_failed",
    "crashed": "attempt_crashed",
    "dead_letter": "job_dead",
}
_MAIL_STEPS = {"sent": "mail_sent", "undeliverable": "mail_undeliverable"}


@dataclass(frozen=True)
class Step:
    """One thing that happened, or will: a retry's time may lie ahead. `about` is the job type or notification.

    Events: order_placed, job_queued, attempt_failed, attempt_crashed, retry_planned, job_completed, job_dead,
    job_cancelled, mail_sent, mail_undeliverable, order_paid, order_cancelled.
    """

    at: datetime
    event: str
    about: str | None = None
    detail: str | None = None
    """Why, where something failed."""


def history_of(order: OrderRow) -> list[Step]:
    """Return the steps of an order, oldest first."""
    steps = [Step(_utc(order.created_at), "order_placed")]
    if order.cancelled_at:
        steps.append(Step(_utc(order.cancelled_at), "order_cancelled"))
    if order.paid_at:
        steps.append(Step(_utc(order.paid_at), "order_paid"))
    for job in order.jobs:
        steps += _steps_of(job)
    for notification in order.notifications:
        event = _MAIL_STEPS[notification["status"]]
        steps.append(
            Step(_moment(notification["created_at"]), event, notification["notification_type"], notification["reason"])
        )
    return sorted(steps, key=lambda step: step.at)


def _steps_of(job: dict[str, Any]) -> Iterator[Step]:
    about = job["job_type"]
    yield Step(_moment(job["created_at"]), "job_queued", about)
    for attempt in job["attempts"]:
        yield Step(_moment(attempt["finished_at"]), _ENDS_OF_ATTEMPTS[attempt["outcome"]], about, _error(attempt))
    if job["state"] == JobState.DEAD_LETTER and job["last_failed_at"] and not _died_of_an_attempt(job):
        yield Step(_moment(job["last_failed_at"]), "job_dead", about, _error(job))
    if job["state"] == JobState.RETRY_WAITING and job["retry_at"]:
        yield Step(_moment(job["retry_at"]), "retry_planned", about)
    if job["state"] == JobState.CANCELLED and job["finished_at"]:
        yield Step(_moment(job["finished_at"]), "job_cancelled", about)


def _died_of_an_attempt(job: dict[str, Any]) -> bool:
    """Tell whether its last attempt says that it died: crashes and a refusal by SQS end no attempt."""
    return bool(job["attempts"]) and job["attempts"][-1]["outcome"] == "dead_letter"


def _error(row: dict[str, Any]) -> str | None:
    return f"{row['error_class']}: {row['error_message']}" if row["error_class"] else None


def _moment(text: str) -> datetime:
    return _utc(datetime.fromisoformat(text))


def _utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)
