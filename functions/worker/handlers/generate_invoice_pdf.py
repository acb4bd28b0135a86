"""Handles `generate_invoice_pdf`."""

from skincare.app import App
from skincare.identifiers import OrderNumber
from skincare.invoices.service import make_invoice, seller_of
from skincare.jobs.catalog import GenerateInvoicePdf


def handle(payload: GenerateInvoicePdf, app: App) -> None:
    """Make the file of an order's invoice."""
    make_invoice(
        OrderNumber(payload.order_number), database=app.database, files=app.files, seller=seller_of(app.settings)
    )
