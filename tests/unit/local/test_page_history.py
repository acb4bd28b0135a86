from datetime import UTC, datetime, timedelta
from typing import Any

from local.page.history import history_of
from local.page.repository import OrderRow

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)
MAIL = "send_confirmation_email"


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def make_attempt(finished: float, outcome: str, error: str | None = None) -> dict[str, Any]:
    return {
        "started_at": at(finished - 1).isoformat(),
        "finished_at": at(finished).isoformat(),
        "outcome": outcome,
        "error_class": "MailRefused" if error else None,
        "error_message": error,
    }


def make_job(state: str, *attempts: dict[str, Any], **times: datetime) -> dict[str, Any]:
    names = ("retry_at", "finished_at", "last_failed_at")
    ends = {name: times[name].isoformat() if name in times else None for name in names}
    error = {"error_class": "WorkerCrashed", "error_message": "time after time"} if "last_failed_at" in times else {}
    return {
        "job_type": MAIL,
        "state": state,
        "created_at": NOON.isoformat(),
        "attempts": list(attempts),
        "error_class": None,
        "error_message": None,
        **ends,
        **error,
    }


def make_notification(seconds: float, status: str, reason: str | None = None) -> dict[str, Any]:
    return {
        "notification_type": "order_confirmation",
        "status": status,
        "reason": reason,
        "created_at": at(seconds).isoformat(),
    }


def steps(
    *jobs: dict[str, Any], reported: list[dict[str, Any]] | None = None, cancelled: datetime | None = None
) -> list[Any]:
    """Return what happened as (seconds since the order, event, detail)."""
    order = OrderRow(
        "SKN-00000-00001", "pending", "buyer@example.com", "id", 1000, NOON, cancelled, [], list(jobs), reported or []
    )
    return [((step.at - NOON).total_seconds(), step.event, step.detail) for step in history_of(order)]


class TestTheHistoryOfAnOrder:
    def test_it_begins_with_the_order_and_its_job(self) -> None:
        assert steps(make_job("pending")) == [(0, "order_placed", None), (0, "job_queued", None)]

    def test_it_tells_when_the_order_was_paid(self) -> None:
        order = OrderRow("SKN-00000-00001", "paid", "buyer@example.com", "id", 1000, NOON, None, [], [], [], at(5))
        assert [(step.event, step.at) for step in history_of(order)] == [("order_placed", NOON), ("order_paid", at(5))]

    def test_a_mail_that_was_sent_is_told_before_its_job_is_done(self) -> None:
        job = make_job("completed", make_attempt(3, "completed"), finished_at=at(3))
        assert steps(job, reported=[make_notification(2, "sent")])[2:] == [
            (2, "mail_sent", None),
            (3, "job_completed", None),
        ]

    def test_an_address_that_takes_no_mail_is_told_with_its_reason(self) -> None:
        job = make_job("completed", make_attempt(3, "completed"))
        assert (2, "mail_undeliverable", "bounced") in steps(
            job, reported=[make_notification(2, "undeliverable", "bounced")]
        )

    def test_every_failure_is_told_with_its_error_and_the_next_try_lies_ahead(self) -> None:
        job = make_job(
            "retry_waiting", make_attempt(2, "crashed", "gone"), make_attempt(9, "retry", "busy"), retry_at=at(30)
        )
        assert steps(job)[2:] == [
            (2, "attempt_crashed", "MailRefused: gone"),
            (9, "attempt_failed", "MailRefused: busy"),
            (30, "retry_planned", None),
        ]

    def test_a_time_for_a_retry_that_is_over_is_no_plan(self) -> None:
        assert "retry_planned" not in [event for _, event, _ in steps(make_job("processing", retry_at=at(30)))]

    def test_a_job_that_was_given_up_ends_as_a_dead_letter(self) -> None:
        job = make_job("dead_letter", make_attempt(5, "dead_letter", "no such user"), last_failed_at=at(5))
        assert steps(job)[2:] == [(5, "job_dead", "MailRefused: no such user")]

    def test_a_job_that_crashed_once_too_often_ends_as_a_dead_letter_too(self) -> None:
        job = make_job("dead_letter", make_attempt(5, "crashed", "gone"), last_failed_at=at(6))
        assert steps(job)[2:] == [
            (5, "attempt_crashed", "MailRefused: gone"),
            (6, "job_dead", "WorkerCrashed: time after time"),
        ]

    def test_a_cancellation_stands_where_it_happened(self) -> None:
        job = make_job("completed", make_attempt(9, "completed"))
        assert [event for _, event, _ in steps(job, cancelled=at(4))] == [
            "order_placed",
            "job_queued",
            "order_cancelled",
            "job_completed",
        ]

    def test_a_job_that_was_called_off_says_so(self) -> None:
        assert steps(make_job("cancelled", finished_at=at(7)))[2:] == [(7, "job_cancelled", None)]
