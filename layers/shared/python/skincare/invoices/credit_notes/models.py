"""Credit notes, and what is needed to write one."""

from dataclasses import dataclass, field
from datetime import datetime

from skincare.identifiers import Sku
from skincare.invoices.models import Invoice, InvoiceLine, filename_of


@dataclass(frozen=True)
class CreditNote:
    """Takes an invoice back, or a part of it. `issued_at` carries its zone."""

    number: str
    """CN/2026/000001: of the year in which it was issued, without gaps."""
    amount_rupiah: int
    issued_at: datetime
    invoice: Invoice
    is_made: bool
    """Its file is there."""

    @property
    def filename(self) -> str:
        return filename_of(self.number)

    @property
    def object_key(self) -> str:
        """Where its file is kept: beside the invoice's."""
        return f"invoices/{self.invoice.order_number}/{self.filename}"

    def lines(self, part: str) -> tuple[InvoiceLine, ...]:
        """Return the invoice's lines where all of it is taken back, otherwise one that is called `part`."""
        if self.amount_rupiah == self.invoice.total_rupiah:
            return self.invoice.lines
        return (InvoiceLine(Sku(self.invoice.number), part, 1, self.amount_rupiah),)


@dataclass(frozen=True)
class CreditNoteFile:
    """What the customer sees of a credit note; `url` leads to its file for a while, None while it is made."""

    credit_note_number: str
    amount_rupiah: int
    issued_at: datetime
    url: str | None = field(repr=False)

    @property
    def status(self) -> str:
        return "in_progress" if self.url is None else "ready"


@dataclass(frozen=True)
class CreditNotes:
    """The credit notes of an order, oldest first."""

    data: tuple[CreditNoteFile, ...]
