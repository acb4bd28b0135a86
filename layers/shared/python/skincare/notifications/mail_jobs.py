"""Which job sends which mail: `SENDS` is read where a mail is to be sent again."""

from collections.abc import Callable, Mapping

from skincare.identifiers import OrderNumber
from skincare.jobs.catalog import JobPayload, SendConfirmationEmail, SendPaymentReceivedEmail
from skincare.notifications.models import NotificationType

SENDS: Mapping[NotificationType, Callable[[OrderNumber], JobPayload]] = {
    NotificationType.ORDER_CONFIRMATION: lambda number: SendConfirmationEmail(order_number=number),
    NotificationType.PAYMENT_RECEIVED: lambda number: SendPaymentReceivedEmail(order_number=number),
}


def job_of(recorded: str, order_number: OrderNumber) -> JobPayload | None:
    """Return the job that sends what is recorded as told; None where this release does not know it."""
    try:
        return SENDS[NotificationType(recorded)](order_number)
    except (ValueError, KeyError):
        return None
