"""Handles `generate_invoice_pdf`."""

from skincare.app import App
from skincare.identifiers import OrderNumber
from skincare.invoices.models import Seller
from skincare.invoices.service import make_invoice
from skincare.jobs.catalog import GenerateInvoicePdf


def handle(payload: GenerateInvoicePdf, app: App) -> None:
    """Make the file of an order's invoice."""
    settings = app.settings
    make_invoice(
        OrderNumber(payload.order_number),
        database=app.database,
        files=app.files,
        seller=Seller(
            name=settings.seller_name,
            address=settings.seller_address,
            tax_id=settings.seller_tax_id,
            tax_percent=settings.tax_percent,
        ),
    )
