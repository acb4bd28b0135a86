"""Handles `send_order_expired_email`."""

from skincare.app import App
from skincare.identifiers import OrderNumber
from skincare.jobs.catalog import SendOrderExpiredEmail
from skincare.notifications.models import NotificationType
from skincare.notifications.service import letterhead_of, notify_customer


def handle(payload: SendOrderExpiredEmail, app: App) -> None:
    """Tell the customer that the order was not paid in time."""
    notify_customer(
        NotificationType.ORDER_EXPIRED,
        OrderNumber(payload.order_number),
        database=app.database,
        email=app.email,
        shop_url=app.settings.shop_url,
        letterhead=letterhead_of(app.settings),
    )
