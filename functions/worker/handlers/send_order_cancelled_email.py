"""Handles `send_order_cancelled_email`."""

from skincare.app import App
from skincare.identifiers import OrderNumber
from skincare.jobs.catalog import SendOrderCancelledEmail
from skincare.notifications.models import NotificationType
from skincare.notifications.service import letterhead_of, notify_customer


def handle(payload: SendOrderCancelledEmail, app: App) -> None:
    """Tell the customer that the order was cancelled."""
    notify_customer(
        NotificationType.ORDER_CANCELLED,
        OrderNumber(payload.order_number),
        database=app.database,
        email=app.email,
        shop_url=app.settings.shop_url,
        letterhead=letterhead_of(app.settings),
    )
