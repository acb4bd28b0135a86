"""Handles `export_customer`."""

from skincare.app import App
from skincare.customers.service import export
from skincare.jobs.catalog import ExportCustomer


def handle(payload: ExportCustomer, app: App) -> None:
    """Write what is known about a customer into a file."""
    export(payload.customer_request, database=app.database, files=app.files)
