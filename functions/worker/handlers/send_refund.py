"""Handles `send_refund`."""

from skincare.app import App
from skincare.jobs.catalog import SendRefund
from skincare.payments.refunds import service


def handle(payload: SendRefund, app: App) -> None:
    """Ask a payment gateway to give money back."""
    service.send_refund(payload.refund_key, database=app.database, gateways=app.gateways)
