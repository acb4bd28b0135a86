"""Invoices, and what is needed to write one."""

from dataclasses import dataclass, field
from datetime import datetime

from skincare.identifiers import OrderNumber, Sku
from skincare.locales import Locale


@dataclass(frozen=True)
class Seller:
    """Who sells, as the invoice names it. `tax_percent` is included in every price; 0 leaves the tax line out."""

    name: str
    address: str
    """Its lines."""
    tax_id: str
    tax_percent: int

    def tax_in(self, total_rupiah: int) -> int:
        """Return the tax that a total includes, rounded half up to whole rupiah."""
        divisor = 100 + self.tax_percent
        return (2 * total_rupiah * self.tax_percent + divisor) // (2 * divisor)


@dataclass(frozen=True)
class InvoiceLine:
    """One product of an order at its frozen price."""

    sku: Sku
    name: str
    quantity: int
    unit_price_rupiah: int

    @property
    def total_rupiah(self) -> int:
        return self.quantity * self.unit_price_rupiah


@dataclass(frozen=True)
class Invoice:
    """An order's invoice with all that its file shows. Times carry their zone."""

    order_id: int
    number: str
    """INV/2026/000001: of the year in which it was issued, without gaps."""
    version: int
    issued_at: datetime
    """When its number was taken: its date."""
    order_number: OrderNumber
    paid_at: datetime
    """When the payment was made, as the gateway tells it: at or before `issued_at`."""
    locale: Locale
    total_rupiah: int
    lines: tuple[InvoiceLine, ...]
    email: str = field(repr=False)
    recipient_name: str | None = field(repr=False)
    shipping_address: str | None = field(repr=False)
    is_made: bool
    """Its file is there."""
    is_erased: bool = False
    """Its customer was erased: nobody knows any more who was billed."""

    @property
    def filename(self) -> str:
        return filename_of(self.number)

    @property
    def object_key(self) -> str:
        """Where its file is kept: never the same for two orders or two versions."""
        stem = self.filename.removesuffix(".pdf")
        return f"invoices/{self.order_number}/{stem}-v{self.version}.pdf"


def filename_of(number: str) -> str:
    """Return what a file of this invoice is called: INV-2026-000001.pdf."""
    return f"{number.replace('/', '-')}.pdf"


@dataclass(frozen=True)
class Document:
    """A file ready to be kept. `unknown_glyphs` characters of it are drawn as an empty box."""

    content: bytes = field(repr=False)
    pages: int
    unknown_glyphs: int


@dataclass(frozen=True)
class InvoiceFile:
    """What the customer sees of an invoice: its number, and where to fetch the file once it is made."""

    invoice_number: str
    link: str | None = field(repr=False)

    @property
    def status(self) -> str:
        return "in_progress" if self.link is None else "ready"
