"""The files of invoices, made again: the local S3 forgets them when it ends, and the database does not."""

from local.repository import orders_with_an_invoice_file
from skincare.app import App
from skincare.invoices import repository
from skincare.invoices.service import keep_file, seller_of


def restore_invoices(app: App) -> int:
    """Keep every file anew that was made before; return how many. They are the same, byte for byte."""
    with app.database.connection() as conn:
        invoices = [repository.load(conn, number) for number in orders_with_an_invoice_file(conn)]
    for invoice in invoices:
        assert invoice is not None  # noqa: S101  it was found a moment ago
        keep_file(invoice, files=app.files, seller=seller_of(app.settings))
    return len(invoices)
