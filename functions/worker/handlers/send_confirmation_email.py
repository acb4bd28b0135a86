"""Handles `send_confirmation_email`."""

from skincare.app import App
from skincare.identifiers import OrderNumber
from skincare.jobs.catalog import SendConfirmationEmail
from skincare.notifications.models import NotificationType
from skincare.notifications.service import letterhead_of, notify_customer


def handle(payload: SendConfirmationEmail, app: App) -> None:
    """Tell the customer that the order was placed."""
    notify_customer(
        NotificationType.ORDER_CONFIRMATION,
        OrderNumber(payload.order_number),
        database=app.database,
        email=app.email,
        shop_url=app.settings.shop_url,
        letterhead=letterhead_of(app.settings),
    )
