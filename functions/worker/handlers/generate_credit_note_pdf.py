"""Handles `generate_credit_note_pdf`."""

from skincare.app import App
from skincare.identifiers import OrderNumber
from skincare.invoices.credit_notes.service import make_credit_note
from skincare.invoices.service import seller_of
from skincare.jobs.catalog import GenerateCreditNotePdf


def handle(payload: GenerateCreditNotePdf, app: App) -> None:
    """Make the file of a credit note."""
    make_credit_note(
        OrderNumber(payload.order_number),
        payload.credit_note,
        database=app.database,
        files=app.files,
        seller=seller_of(app.settings),
    )
