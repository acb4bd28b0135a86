"""What an invoice says, in the languages of the shop's customers."""

from dataclasses import dataclass
from datetime import datetime

from skincare.locales import MONTHS, Locale
from skincare.moments import WIB


@dataclass(frozen=True)
class Words:
    """The labels of one language. `{…}` are filled in."""

    title: str
    number: str
    credit_title: str
    credit_number: str
    invoice: str
    invoice_date: str
    credit_part: str
    credit_total: str
    date: str
    order: str
    status: str
    paid: str
    paid_on: str
    tax_id: str
    billed_to: str
    erased: str
    item: str
    quantity: str
    price: str
    amount: str
    total: str
    tax_included: str
    note: str
    page: str
    months: tuple[str, ...]

    def day(self, moment: datetime) -> str:
        """Return the shop's day of a moment."""
        day = moment.astimezone(WIB)
        return f"{day.day} {self.months[day.month - 1]} {day.year}"


WORDS = {
    Locale.ID: Words(
        title="FAKTUR",
        credit_title="NOTA KREDIT",
        credit_number="Nomor nota",
        invoice="Nomor faktur",
        invoice_date="Tanggal faktur",
        credit_part="Pengembalian sebagian atas faktur {number}",
        credit_total="Total dikreditkan",
        number="Nomor faktur",
        date="Tanggal",
        order="Nomor pesanan",
        status="Status",
        paid="LUNAS",
        paid_on="Dibayar pada",
        tax_id="NPWP",
        billed_to="Ditagihkan kepada",
        erased="Data pelanggan telah dihapus atas permintaannya",
        item="Produk",
        quantity="Jumlah",
        price="Harga satuan",
        amount="Subtotal",
        total="Total dibayar",
        tax_included="Termasuk PPN {percent}%",
        note="Faktur ini dibuat secara elektronik dan sah tanpa tanda tangan.",
        page="Halaman {page} dari {pages}",
        months=MONTHS[Locale.ID],
    ),
    Locale.EN: Words(
        title="INVOICE",
        credit_title="CREDIT NOTE",
        credit_number="Credit note",
        invoice="Invoice number",
        invoice_date="Invoice date",
        credit_part="Partial refund of invoice {number}",
        credit_total="Total credited",
        number="Invoice number",
        date="Date",
        order="Order number",
        status="Status",
        paid="PAID",
        paid_on="Paid on",
        tax_id="Tax ID",
        billed_to="Billed to",
        erased="The customer's data was erased on request",
        item="Product",
        quantity="Quantity",
        price="Unit price",
        amount="Amount",
        total="Total paid",
        tax_included="Includes {percent}% VAT",
        note="This invoice was made electronically and is valid without a signature.",
        page="Page {page} of {pages}",
        months=MONTHS[Locale.EN],
    ),
}
