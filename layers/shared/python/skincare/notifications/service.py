"""Telling customers about their orders: look, send, then mark.

A crash, an outage or a lost reply between sending and marking may send one mail more. Marking first could
lose one, and nothing may.
"""

from skincare.database.connection import Database
from skincare.identifiers import OrderNumber
from skincare.notifications import repository
from skincare.notifications.confirmation_mail import confirmation_mail
from skincare.notifications.models import (
    ConfirmationOutcome,
    NotificationStatus,
    NotificationType,
    OrderToConfirm,
)
from skincare.notifications.ports import EmailSender, EmailSendingStopped, EmailUndeliverable
from skincare.observability import logger

# An order that ended before its mail went out: "we have received your order" would only confuse.
_ENDED = frozenset({"cancelled", "expired", "refunded"})


def send_order_confirmation(
    order_number: OrderNumber, *, database: Database, email: EmailSender, shop_url: str
) -> ConfirmationOutcome:
    """Mail the customer that the order was placed, unless that is done, pointless or impossible.

    Two statements and one mail; no connection is held while the provider is waited for. Raises
    `EmailThrottled`, `EmailProviderUnavailable` and `EmailSendingStopped`: nothing was marked, the
    job is to be tried again. So it is when marking fails after the mail went out.
    """
    with database.connection() as conn:
        order = repository.load_order_to_confirm(conn, order_number)
    if order is None:
        logger.warning("email.order_gone", order_number=order_number)
        return ConfirmationOutcome.ORDER_GONE
    if (reason_not_to := _reason_not_to_send(order)) is not None:
        logger.info("email.not_sent", order_number=order_number, outcome=reason_not_to)
        return reason_not_to
    if order.suppressed:
        return _give_up(database, order, reason="the recipient is suppressed")
    try:
        message_id = email.send(confirmation_mail(order, shop_url=shop_url))
    except EmailUndeliverable as error:
        return _give_up(database, order, reason=str(error))
    except EmailSendingStopped as error:
        logger.error("email.sending_stopped", order_number=order_number, reason=str(error))
        raise
    recorded = _record(database, order, NotificationStatus.SENT, provider_message_id=message_id)
    event = "email.sent" if recorded else "email.sent_again"
    logger.info(event, order_number=order_number, provider_message_id=message_id)
    return ConfirmationOutcome.SENT


def _reason_not_to_send(order: OrderToConfirm) -> ConfirmationOutcome | None:
    match order.confirmed:
        case NotificationStatus.SENT:
            return ConfirmationOutcome.ALREADY_SENT
        case NotificationStatus.UNDELIVERABLE:
            return ConfirmationOutcome.UNDELIVERABLE
        case None:
            return ConfirmationOutcome.ORDER_CANCELLED if order.status in _ENDED else None


def _give_up(database: Database, order: OrderToConfirm, *, reason: str) -> ConfirmationOutcome:
    _record(database, order, NotificationStatus.UNDELIVERABLE, reason=reason)
    logger.warning("email.undeliverable", order_number=order.order_number, reason=reason)
    return ConfirmationOutcome.UNDELIVERABLE


def _record(
    database: Database,
    order: OrderToConfirm,
    status: NotificationStatus,
    *,
    provider_message_id: str | None = None,
    reason: str | None = None,
) -> bool:
    with database.connection() as conn:
        return repository.record_notification(
            conn,
            order.id,
            NotificationType.ORDER_CONFIRMATION,
            status,
            provider_message_id=provider_message_id,
            reason=reason,
        )
