"""Telling customers about their orders: look, send, then mark.

A crash, an outage or a lost reply between sending and marking may send one mail more. Marking first could
lose one, and nothing may.
"""

from skincare.config import Settings
from skincare.database.connection import Database
from skincare.identifiers import OrderNumber
from skincare.notifications import repository
from skincare.notifications.models import (
    Letterhead,
    Notice,
    NotificationContext,
    NotificationOutcome,
    NotificationStatus,
    NotificationType,
)
from skincare.notifications.order_mail import order_mail
from skincare.notifications.ports import EmailSender, EmailSendingStopped, EmailUndeliverable
from skincare.observability import logger

# In any other state the mail would only confuse: "we have received your order" about one that ended, or
# "we have received your payment" where none counts or it was given back. Money that went back did so whatever
# became of its order.
_SENT_WHILE = {
    NotificationType.ORDER_CONFIRMATION: frozenset({"pending", "paid", "partially_refunded"}),
    NotificationType.PAYMENT_RECEIVED: frozenset({"paid", "partially_refunded"}),
    NotificationType.ORDER_CANCELLED: frozenset({"cancelled"}),
    NotificationType.ORDER_EXPIRED: frozenset({"expired"}),
}


def letterhead_of(settings: Settings) -> Letterhead:
    """Return who writes."""
    return Letterhead(
        name=settings.seller_name,
        address=settings.seller_address,
        email=settings.seller_email,
        phone=settings.seller_phone,
        reply_to=settings.mail_reply_to,
    )


def notify_customer(
    kind: NotificationType,
    order_number: OrderNumber,
    *,
    database: Database,
    email: EmailSender,
    shop_url: str,
    letterhead: Letterhead | None = None,
    refund_no: int | None = None,
) -> NotificationOutcome:
    """Mail the customer what happened to the order, unless that is done, pointless or impossible.

    Two statements and one mail; no connection is held while the provider is waited for. Raises
    `EmailThrottled`, `EmailProviderUnavailable` and `EmailSendingStopped`: nothing was marked, the
    job is to be tried again. So it is when marking fails after the mail went out.
    """
    notice = Notice(kind, refund_no)
    with database.connection() as conn:
        order = repository.load_context(conn, order_number, notice)
    if order is None:
        logger.warning("email.order_gone", order_number=order_number, kind=notice.recorded)
        return NotificationOutcome.ORDER_GONE
    if (reason_not_to := _reason_not_to_send(notice, order)) is not None:
        logger.info("email.not_sent", order_number=order_number, kind=notice.recorded, outcome=reason_not_to)
        return reason_not_to
    if order.suppressed:
        return _give_up(database, notice, order, reason="the recipient is suppressed")
    try:
        message_id = email.send(order_mail(kind, order, shop_url=shop_url, letterhead=letterhead or Letterhead()))
    except EmailUndeliverable as error:
        return _give_up(database, notice, order, reason=str(error))
    except EmailSendingStopped as error:
        logger.error("email.sending_stopped", order_number=order_number, kind=notice.recorded, reason=str(error))
        raise
    recorded = _record(database, notice, order, NotificationStatus.SENT, provider_message_id=message_id)
    event = "email.sent" if recorded else "email.sent_again"
    logger.info(event, order_number=order_number, kind=notice.recorded, provider_message_id=message_id)
    return NotificationOutcome.SENT


def _reason_not_to_send(notice: Notice, order: NotificationContext) -> NotificationOutcome | None:
    match order.recorded:
        case NotificationStatus.SENT:
            return NotificationOutcome.ALREADY_SENT
        case NotificationStatus.UNDELIVERABLE:
            return NotificationOutcome.UNDELIVERABLE
        case None if order.erased:
            return NotificationOutcome.CUSTOMER_ERASED
        case None if notice.kind is NotificationType.REFUND:
            return NotificationOutcome.REFUND_GONE if order.refund is None else None
        case None:
            return None if order.status in _SENT_WHILE[notice.kind] else NotificationOutcome.ORDER_CANCELLED


def _give_up(database: Database, notice: Notice, order: NotificationContext, *, reason: str) -> NotificationOutcome:
    _record(database, notice, order, NotificationStatus.UNDELIVERABLE, reason=reason)
    logger.warning("email.undeliverable", order_number=order.order_number, kind=notice.recorded, reason=reason)
    return NotificationOutcome.UNDELIVERABLE


def _record(
    database: Database,
    notice: Notice,
    order: NotificationContext,
    status: NotificationStatus,
    *,
    provider_message_id: str | None = None,
    reason: str | None = None,
) -> bool:
    with database.connection() as conn:
        return repository.record_notification(
            conn,
            order.id,
            notice,
            status,
            provider_message_id=provider_message_id,
            reason=reason,
        )
