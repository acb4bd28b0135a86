"""What a customer sees of the jobs of an order."""

from datetime import UTC, datetime, timedelta

import pytest

from skincare.identifiers import OrderNumber
from skincare.jobs.catalog import PAYLOADS
from skincare.notifications.models import NotificationStatus
from skincare.orders.activity import Activity, ActivityStatus, Notification, OrderDetail, OrderJob, detail_of
from skincare.orders.models import Order, OrderStatus

NOON = datetime(2026, 1, 15, 12, tzinfo=UTC)
LATER = NOON + timedelta(minutes=1)
STATES = {
    "pending": "waiting",
    "queued": "waiting",
    "retry_waiting": "waiting",
    "processing": "working",
    "completed": "done",
    "dead_letter": "failed",
    "cancelled": "cancelled",
}
LIVE = {"pending", "queued", "retry_waiting", "processing"}


def mail(state: str, due_in_s: float | None = None) -> OrderJob:
    return OrderJob("send_confirmation_email", state, NOON, due_in_s)


def hidden(state: str) -> OrderJob:
    return OrderJob("a_job_of_another_release", state, NOON, None)


def reported(status: NotificationStatus) -> Notification:
    return Notification("order_confirmation", status, LATER)


def detail(
    *jobs: OrderJob, status: OrderStatus = OrderStatus.PENDING, reported: Notification | None = None
) -> OrderDetail:
    order = Order(OrderNumber("SKN-00000-00001"), status, 1, NOON, None, ())
    return detail_of(order, jobs, [reported] if reported else [])


def seen(status: str, at: datetime = NOON) -> tuple[Activity, ...]:
    return (Activity("confirmation_email", ActivityStatus(status), at),)


class TestAJob:
    @pytest.mark.parametrize(("state", "status"), STATES.items())
    def test_in_each_state_has_a_status_in_the_customers_words(self, state: str, status: str) -> None:
        assert detail(mail(state)).activity == seen(status)

    @pytest.mark.parametrize("state", STATES)
    @pytest.mark.parametrize(
        ("recorded", "status"), [(NotificationStatus.SENT, "done"), (NotificationStatus.UNDELIVERABLE, "undeliverable")]
    )
    def test_is_over_for_the_customer_once_its_end_is_recorded(
        self, state: str, recorded: NotificationStatus, status: str
    ) -> None:
        assert detail(mail(state), reported=reported(recorded)).activity == seen(status, LATER)

    @pytest.mark.parametrize("status", [OrderStatus.CANCELLED, OrderStatus.EXPIRED, OrderStatus.REFUNDED])
    def test_that_ended_without_a_mail_for_an_order_that_ended_was_cancelled(self, status: OrderStatus) -> None:
        assert detail(mail("completed"), status=status).activity == seen("cancelled")
        assert detail(mail("completed"), status=status, reported=reported(NotificationStatus.SENT)).activity == seen(
            "done", LATER
        )

    def test_that_thanks_for_a_payment_is_told_apart_from_the_confirmation(self) -> None:
        thanks = OrderJob("send_payment_received_email", "completed", NOON, None)
        paid = Notification("payment_received", NotificationStatus.SENT, LATER)
        assert detail(mail("queued"), thanks, status=OrderStatus.PAID, reported=paid).activity == (
            *seen("waiting"),
            Activity("payment_received_email", ActivityStatus.DONE, LATER),
        )
        refunded = detail(thanks, status=OrderStatus.REFUNDED).activity
        assert refunded == (Activity("payment_received_email", ActivityStatus.CANCELLED, NOON),)

    def test_of_a_type_that_no_customer_is_shown_is_left_out(self) -> None:
        assert detail(hidden("dead_letter"), mail("queued")).activity == seen("waiting")


class TestTheNextLook:
    @pytest.mark.parametrize("state", STATES)
    def test_is_due_while_a_job_is_live_shown_or_not(self, state: str) -> None:
        expected = 1 if state in LIVE else None
        assert detail(mail(state)).retry_after_s == expected
        assert detail(mail("completed"), hidden(state)).retry_after_s == expected

    @pytest.mark.parametrize(("due_in_s", "expected"), [(-5, 1), (0.2, 1), (1.2, 2), (29.5, 30), (3600, 30)])
    def test_waits_for_the_next_attempt_within_reason(self, due_in_s: float, expected: int) -> None:
        assert detail(mail("retry_waiting", due_in_s)).retry_after_s == expected

    def test_is_due_when_the_first_of_several_jobs_is(self) -> None:
        assert detail(mail("retry_waiting", 20), mail("retry_waiting", 10)).retry_after_s == 10

    def test_is_pointless_for_an_order_without_jobs(self) -> None:
        assert (detail().activity, detail().retry_after_s) == ((), None)


class TestTheNamesThatCustomersSee:
    def test_are_never_those_of_the_job_types_and_tell_jobs_apart(self) -> None:
        shown = [payload.shown_as for payload in PAYLOADS if payload.shown_as]
        assert len(set(shown)) == len(shown)
        assert {payload.job_type for payload in PAYLOADS}.isdisjoint(shown)
