"""Handles `erase_customer`."""

from skincare.app import App
from skincare.customers.service import erase
from skincare.jobs.catalog import EraseCustomer


def handle(payload: EraseCustomer, app: App) -> None:
    """Erase a customer, or look again later."""
    erase(payload.customer_request, payload.look, database=app.database)
