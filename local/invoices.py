"""The files of invoices that the local S3 lacks, made again: of a system that is older than its memory for files, or
was killed between the row and the file.
"""

import threading
from collections.abc import Callable

from local.repository import invoice_files
from skincare.app import App
from skincare.invoices import repository
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
        missing = [number for number, key in invoice_files(conn) if not is_kept(key)]
    if missing:
        say(f"Invoices of earlier runs to be made again, in the background: {len(missing)}.")
    made = 0
    for number in missing:
        if stopping and stopping.is_set():
            break
        with app.database.connection() as conn:
            invoice = repository.load(conn, number)
        if invoice is not None:
            keep_file(invoice, files=app.files, seller=seller_of(app.settings))
            made += 1
        if made % _TELL_EACH == 0 or made == len(missing):
            say(f"Invoices made again: {made} of {len(missing)}.")
    return made
