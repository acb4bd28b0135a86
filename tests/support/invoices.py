"""Invoices as tests use them: one to draw, a seller, and what a reader finds in a file."""

import io
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from psycopg import Connection
from pypdf import PdfReader

from skincare.identifiers import OrderNumber, Sku
from skincare.invoices.models import Invoice, InvoiceLine, Seller
from skincare.locales import Locale

SELLER = Seller("PT Contoh Skincare", "Jalan Contoh No. 1\nJakarta 12345", "00.000.000.0-000.000", 11)


def make_line(name: str = "Niacinamide Serum 30 ml", quantity: int = 2, price: int = 150_000) -> InvoiceLine:
    return InvoiceLine(Sku("SERUM-30"), name, quantity, price)


def make_invoice(*lines: InvoiceLine, **changes: Any) -> Invoice:
    """An invoice of one line, unless there are others; `changes` replace its fields."""
    lines = lines or (make_line(),)
    invoice = Invoice(
        order_id=7,
        number="INV/2026/000001",
        version=1,
        issued_at=datetime(2026, 11, 30, 3, 0, 5, tzinfo=UTC),
        order_number=OrderNumber("SKN-7K3QF-02MPX"),
        paid_at=datetime(2026, 11, 30, 3, 0, tzinfo=UTC),
        locale=Locale.ID,
        total_rupiah=sum(line.total_rupiah for line in lines),
        lines=lines,
        email="buyer@example.com",
        recipient_name="Ani",
        shipping_address="Jl. Melati 5\nJakarta Selatan",
        is_made=False,
    )
    return replace(invoice, **changes)


def pages_of(content: bytes) -> list[str]:
    """Return the text of each page."""
    return [page.extract_text() for page in PdfReader(io.BytesIO(content)).pages]


def text_of(content: bytes) -> str:
    return "\n".join(pages_of(content))


def numbers(conn: Connection) -> list[str]:
    """Return all invoice numbers, in their order."""
    return [number for (number,) in conn.execute("SELECT number FROM invoices ORDER BY year, serial")]
