"""The files of invoices and credit notes, made again: the local S3 forgets them when it ends, the database does not."""

from local.repository import credit_notes_with_a_file, orders_with_an_invoice_file
from skincare.app import App
from skincare.invoices import repository
from skincare.invoices.credit_notes import repository as credit_notes
from skincare.invoices.credit_notes import service as credit_note_service
from skincare.invoices.service import keep_file, seller_of


def restore_invoices(app: App) -> int:
    """Keep every file anew that was made before; return how many. They are the same, byte for byte."""
    with app.database.connection() as conn:
        invoices = [repository.load(conn, number) for number in orders_with_an_invoice_file(conn)]
        notes = [credit_notes.load(conn, *which) for which in credit_notes_with_a_file(conn)]
    seller = seller_of(app.settings)
    for invoice in invoices:
        assert invoice is not None  # noqa: S101  it was found a moment ago
        keep_file(invoice, files=app.files, seller=seller)
    for note in notes:
        assert note is not None  # noqa: S101  likewise
        credit_note_service.keep_file(note, files=app.files, seller=seller)
    return len(invoices) + len(notes)
