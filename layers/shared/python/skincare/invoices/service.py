"""Making an invoice's file and handing it out: look, render, keep unless kept, then mark.

Every step may be repeated: the file is the same bytes each time, the store keeps the first of them, and the
row is marked once.
"""

from datetime import timedelta

from skincare.config import Settings, require
from skincare.database.connection import Connection, Database
from skincare.identifiers import OrderNumber, UserId
from skincare.invoices import repository
from skincare.invoices.errors import InvoiceUnknown
from skincare.invoices.models import Document, Invoice, InvoiceFile, Seller, filename_of
from skincare.invoices.ports import ObjectStore
from skincare.observability import logger

_CONTENT_TYPE = "application/pdf"

# Long enough to click, too short to pass on.
LINK_LASTS = timedelta(minutes=5)


def make_invoice(order_number: OrderNumber, *, database: Database, files: ObjectStore, seller: Seller) -> None:
    """Make the file of a paid order's invoice and keep it, unless that is done.

    An order that was paid without a number gets one. No connection is held while rendering or uploading. Raises
    `ObjectStoreUnavailable`: nothing was marked.
    """
    with database.connection() as conn:
        invoice = repository.load(conn, order_number)
        if invoice is None:
            invoice = _issue_late(conn, order_number)
    if invoice is None:
        logger.warning("invoice.order_gone", order_number=order_number)
        return
    if invoice.is_made:
        logger.info("invoice.made_before", order_number=order_number, invoice=invoice.number)
        return
    keep_file(invoice, files=files, seller=seller)
    with database.connection() as conn:
        repository.record_made(conn, invoice)
    logger.info("invoice.made", order_number=order_number, invoice=invoice.number)


def _issue_late(conn: Connection, order_number: OrderNumber) -> Invoice | None:
    """Give an order its missing number and return the invoice; None where it was never paid."""
    with conn.transaction():
        number = repository.take_missing_number(conn, order_number)
    if number is not None:
        logger.warning("invoice.issued_late", order_number=order_number, invoice=number)
    return repository.load(conn, order_number)


def keep_file(invoice: Invoice, *, files: ObjectStore, seller: Seller) -> None:
    """Draw an invoice and keep its file, unless it is kept; raises `ObjectStoreUnavailable`."""
    # Imported here: only the containers that make documents pay for the library.
    from skincare.invoices import pdf

    keep_document(pdf.render(invoice, seller), invoice.object_key, files=files, order_number=invoice.order_number)


def keep_document(document: Document, key: str, *, files: ObjectStore, order_number: OrderNumber) -> None:
    """Keep a drawn document unless its key is taken; raises `ObjectStoreUnavailable`."""
    if document.unknown_glyphs:
        logger.warning("invoice.glyphs_unknown", order_number=order_number, glyphs=document.unknown_glyphs)
    if not files.put_if_absent(key, document.content, content_type=_CONTENT_TYPE):
        logger.info("invoice.kept_before", order_number=order_number, key=key)


def seller_of(settings: Settings) -> Seller:
    """Return who sells; raises `ConfigurationError` naming the variable that does not tell."""
    return Seller(
        name=require(settings.seller_name, "SELLER_NAME"),
        address=require(settings.seller_address, "SELLER_ADDRESS"),
        tax_id=require(settings.seller_tax_id, "SELLER_TAX_ID"),
        tax_percent=settings.tax_percent,
    )


def find_invoice(user_id: UserId, order_number: OrderNumber, *, database: Database, files: ObjectStore) -> InvoiceFile:
    """Return the caller's invoice with a link that lasts for `LINK_LASTS`, or without one while it is made.

    Raises `InvoiceUnknown`, also for somebody else's order, and `ObjectStoreUnavailable`.
    """
    with database.connection() as conn:
        found = repository.find(conn, user_id, order_number)
    if found is None:
        raise InvoiceUnknown
    number, key = found
    if key is None:
        return InvoiceFile(number, None)
    return InvoiceFile(number, files.link(key, filename=filename_of(number), expires_in=LINK_LASTS))
