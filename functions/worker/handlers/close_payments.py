"""Handles `close_payments`."""

from skincare.app import App
from skincare.identifiers import OrderNumber
from skincare.jobs.catalog import ClosePayments
from skincare.payments.closing import service


def handle(payload: ClosePayments, app: App) -> None:
    """Close what is still open at the gateways of an order that takes no more money."""
    service.close_payments(
        OrderNumber(payload.order_number), database=app.database, gateways=app.gateways, publisher=app.publisher
    )
