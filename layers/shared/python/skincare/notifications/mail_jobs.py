"""Which job sends which mail: for mails that are to be sent again."""

from skincare.identifiers import OrderNumber
from skincare.jobs.catalog import (
    JobPayload,
    SendConfirmationEmail,
    SendOrderCancelledEmail,
    SendOrderExpiredEmail,
    SendPaymentReceivedEmail,
    SendRefundEmail,
)
from skincare.notifications.models import NotificationType


def job_of(recorded: str, order_number: OrderNumber) -> JobPayload | None:
    """Return the job that sends the notification recorded so; None where this release does not know it."""
    name, _, about = recorded.partition(":")
    match name:
        case NotificationType.ORDER_CONFIRMATION:
            return SendConfirmationEmail(order_number=order_number)
        case NotificationType.PAYMENT_RECEIVED:
            return SendPaymentReceivedEmail(order_number=order_number)
        case NotificationType.ORDER_CANCELLED:
            return SendOrderCancelledEmail(order_number=order_number)
        case NotificationType.ORDER_EXPIRED:
            return SendOrderExpiredEmail(order_number=order_number)
        case NotificationType.REFUND if about.isdecimal():
            return SendRefundEmail(order_number=order_number, refund_no=int(about))
        case _:
            return None
