"""Making a credit note's file and handing it out, step by step as for an invoice: every step may be repeated."""

from datetime import UTC

from skincare.database.connection import Database
from skincare.identifiers import OrderNumber, UserId
from skincare.invoices.credit_notes import repository
from skincare.invoices.credit_notes.models import CreditNote, CreditNoteFile
from skincare.invoices.models import Seller, filename_of
from skincare.invoices.ports import ObjectStore
from skincare.invoices.service import LINK_LASTS, keep_document
from skincare.observability import logger


def make_credit_note(
    order_number: OrderNumber, number: str, *, database: Database, files: ObjectStore, seller: Seller
) -> None:
    """Make the file of a credit note and keep it, unless that is done.

    No connection is held while rendering or uploading. Raises `ObjectStoreUnavailable`: nothing was marked.
    """
    with database.connection() as conn:
        note = repository.load(conn, order_number, number)
    if note is None:
        logger.warning("credit_note.gone", order_number=order_number, credit_note=number)
        return
    if note.is_made:
        logger.info("credit_note.made_before", order_number=order_number, credit_note=number)
        return
    keep_file(note, files=files, seller=seller)
    with database.connection() as conn:
        repository.record_made(conn, note)
    logger.info("credit_note.made", order_number=order_number, credit_note=number)


def keep_file(note: CreditNote, *, files: ObjectStore, seller: Seller) -> None:
    """Draw a credit note and keep its file, unless it is kept; raises `ObjectStoreUnavailable`."""
    from skincare.invoices import pdf

    keep_document(
        pdf.render_credit_note(note, seller), note.object_key, files=files, order_number=note.invoice.order_number
    )


def find_credit_notes(
    user_id: UserId, order_number: OrderNumber, *, database: Database, files: ObjectStore
) -> tuple[CreditNoteFile, ...] | None:
    """Return the credit notes of the caller's order, oldest first, each with a link that lasts for `LINK_LASTS`.

    None where the caller has no such order. Raises `ObjectStoreUnavailable`.
    """
    with database.connection() as conn:
        found = repository.of_order(conn, user_id, order_number)
    if found is None:
        return None
    return tuple(
        CreditNoteFile(
            number,
            amount,
            issued_at.astimezone(UTC),
            None if key is None else files.link(key, filename=filename_of(number), expires_in=LINK_LASTS),
        )
        for number, amount, issued_at, key in found
    )
