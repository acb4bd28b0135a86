"""Handles `send_refund_email`."""

from skincare.app import App
from skincare.identifiers import OrderNumber
from skincare.jobs.catalog import SendRefundEmail
from skincare.notifications.models import NotificationType
from skincare.notifications.service import letterhead_of, notify_customer


def handle(payload: SendRefundEmail, app: App) -> None:
    """Tell the customer that money went back."""
    notify_customer(
        NotificationType.REFUND,
        OrderNumber(payload.order_number),
        database=app.database,
        email=app.email,
        shop_url=app.settings.shop_url,
        letterhead=letterhead_of(app.settings),
        refund_no=payload.refund_no,
    )
