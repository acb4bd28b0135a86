"""Handles `expire_order`."""

from skincare.app import App
from skincare.identifiers import OrderNumber
from skincare.jobs.catalog import ExpireOrder
from skincare.payments.expiry import service


def handle(payload: ExpireOrder, app: App) -> None:
    """Close an order that nobody paid in time."""
    service.expire_order(
        OrderNumber(payload.order_number), database=app.database, gateways=app.gateways, publisher=app.publisher
    )
