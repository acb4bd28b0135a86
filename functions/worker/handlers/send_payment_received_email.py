"""Handles `send_payment_received_email`."""

from skincare.app import App
from skincare.identifiers import OrderNumber
from skincare.jobs.catalog import SendPaymentReceivedEmail
from skincare.notifications.models import NotificationType
from skincare.notifications.service import letterhead_of, notify_customer


def handle(payload: SendPaymentReceivedEmail, app: App) -> None:
    """Tell the customer that the order is paid."""
    notify_customer(
        NotificationType.PAYMENT_RECEIVED,
        OrderNumber(payload.order_number),
        database=app.database,
        email=app.email,
        shop_url=app.settings.shop_url,
        letterhead=letterhead_of(app.settings),
    )
