"""Handles `send_confirmation_email`."""

from skincare.app import App
from skincare.identifiers import OrderNumber
from skincare.jobs.catalog import SendConfirmationEmail
from skincare.notifications.service import send_order_confirmation


def handle(payload: SendConfirmationEmail, app: App) -> None:
    """Tell the customer that the order was placed."""
    send_order_confirmation(
        OrderNumber(payload.order_number),
        database=app.database,
        email=app.email,
        shop_url=app.settings.shop_url,
    )
