"""The files of invoices and credit notes that the local S3 lacks, made again: of a system that is older than its memory
for files, or was killed between the row and the file.
"""

import threading
from collections.abc import Callable
from functools import partial

from local.repository import credit_note_files, invoice_files
from skincare.app import App
from skincare.identifiers import OrderNumber
from skincare.invoices import repository
from skincare.invoices.credit_notes import repository as credit_notes
from skincare.invoices.credit_notes import service as credit_note_service
from skincare.invoices.service import keep_file, seller_of

_TELL_EACH = 100


def restore_invoices(
    app: App,
    *,
    is_kept: Callable[[str], bool],
    stopping: threading.Event | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> int:
    """Make the files that `is_kept` does not find by their keys, the newest first; return how many.

    They are the same, byte for byte. Each takes some fifty milliseconds, so nobody should wait for it; `say` is told
    how far it is.
    """
    with app.database.connection() as conn:
        missing = [partial(_keep_invoice, app, number) for number, key in invoice_files(conn) if not is_kept(key)]
        missing += [
            partial(_keep_credit_note, app, order_number, number)
            for order_number, number, key in credit_note_files(conn)
            if not is_kept(key)
        ]
    if missing:
        say(f"Invoices of earlier runs to be made again, in the background: {len(missing)}.")
    made = 0
    for keep in missing:
        if stopping and stopping.is_set():
            break
        made += keep()
        if made % _TELL_EACH == 0 or made == len(missing):
            say(f"Invoices made again: {made} of {len(missing)}.")
    return made


def _keep_invoice(app: App, order_number: OrderNumber) -> bool:
    with app.database.connection() as conn:
        invoice = repository.load(conn, order_number)
    if invoice is None:
        return False
    keep_file(invoice, files=app.files, seller=seller_of(app.settings))
    return True


def _keep_credit_note(app: App, order_number: OrderNumber, number: str) -> bool:
    with app.database.connection() as conn:
        note = credit_notes.load(conn, order_number, number)
    if note is None:
        return False
    credit_note_service.keep_file(note, files=app.files, seller=seller_of(app.settings))
    return True
