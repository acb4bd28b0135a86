"""An invoice or a credit note as a PDF: the same bytes for the same one, whenever and wherever it is made."""

import io
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from reportlab.lib.colors import Color, HexColor
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from skincare.invoices.credit_notes.models import CreditNote
from skincare.invoices.lettering import Typeface
from skincare.invoices.models import Document, Invoice, InvoiceLine, Seller
from skincare.invoices.words import WORDS, Words
from skincare.money import rupiah
from skincare.text import lines as lines_of

_WIDTH, _HEIGHT = A4
_MARGIN = 48.0
_RIGHT = _WIDTH - _MARGIN
_TOP, _BOTTOM = _HEIGHT - 54, 78.0

_INK, _GREEN, _GREY, _WHITE = HexColor("#26302b"), HexColor("#1f6b52"), HexColor("#5b655f"), HexColor("#ffffff")
_RULE, _TINT = HexColor("#dcd6cb"), HexColor("#eef5f1")

# The columns: where the number ends, the name begins, and quantity, price and amount end.
_NO, _NAME, _QUANTITY, _PRICE, _AMOUNT = _MARGIN + 22, _MARGIN + 34, 358.0, 452.0, _RIGHT - 8
_NAME_WIDTH, _SELLER_WIDTH = 250.0, 280.0
_CLOSING = 300.0
_HEAD_HEIGHT, _RUNNING_HEIGHT, _CLOSING_HEIGHT = 24.0, 26.0, 74.0
_LONGEST_ADDRESS = 8

# reportlab's fonts keep what they know of each document under way, and are shared.
_DRAWING = threading.Lock()


@dataclass(frozen=True)
class _Row:
    """A line of the order, broken to its column."""

    line: InvoiceLine
    number: int
    name: Sequence[str]

    @property
    def height(self) -> float:
        return 13.0 * len(self.name) + 23


@dataclass(frozen=True)
class _Pen:
    """How text is written: size in points."""

    size: float
    colour: Color = _INK
    bold: bool = False


_TITLE = _Pen(22, _GREEN, bold=True)
_SELLER = _Pen(15, bold=True)
_RECIPIENT = _Pen(10.5, bold=True)
_PLAIN, _QUIET, _SMALL = _Pen(9.5), _Pen(9, _GREY), _Pen(7.5, _GREY)
_FACT, _PAID = _Pen(9, bold=True), _Pen(9, _GREEN, bold=True)
_HEAD, _RUNNING_HEAD = _Pen(9, _WHITE, bold=True), _Pen(9.5, _GREEN, bold=True)
_TOTAL, _SUM = _Pen(11, bold=True), _Pen(12, _GREEN, bold=True)


@dataclass(frozen=True)
class _Paper:
    """What tells one kind of document from another."""

    title: str
    number: str
    dated: datetime
    facts: Sequence[tuple[str, str, _Pen]]
    lines: Sequence[InvoiceLine]
    total: str
    total_rupiah: int


def render(invoice: Invoice, seller: Seller) -> Document:
    """Draw an invoice. No text makes it fail: what the fonts lack becomes a box and is counted."""
    words = WORDS[invoice.locale]
    paper = _Paper(
        title=words.title,
        number=invoice.number,
        dated=invoice.issued_at,
        facts=[
            (words.number, invoice.number, _FACT),
            (words.date, words.day(invoice.issued_at), _FACT),
            (words.order, invoice.order_number, _FACT),
            (words.status, words.paid, _PAID),
            (words.paid_on, words.day(invoice.paid_at), _FACT),
        ],
        lines=invoice.lines,
        total=words.total,
        total_rupiah=invoice.total_rupiah,
    )
    with _DRAWING:
        return _Drawing(invoice, seller, paper).document()


def render_credit_note(note: CreditNote, seller: Seller) -> Document:
    """Draw a credit note, as `render` does an invoice."""
    invoice, words = note.invoice, WORDS[note.invoice.locale]
    paper = _Paper(
        title=words.credit_title,
        number=note.number,
        dated=note.issued_at,
        facts=[
            (words.credit_number, note.number, _FACT),
            (words.date, words.day(note.issued_at), _FACT),
            (words.invoice, invoice.number, _FACT),
            (words.invoice_date, words.day(invoice.issued_at), _FACT),
            (words.order, invoice.order_number, _FACT),
        ],
        lines=note.lines(words.credit_part.format(number=invoice.number)),
        total=words.credit_total,
        total_rupiah=note.amount_rupiah,
    )
    with _DRAWING:
        return _Drawing(invoice, seller, paper).document()


class _Drawing:
    """One document under way; `y` is how far its page is filled, in points from the bottom."""

    def __init__(self, invoice: Invoice, seller: Seller, paper: _Paper) -> None:
        self._invoice = invoice
        self._paper = paper
        self._seller = seller
        self._words: Words = WORDS[invoice.locale]
        self._regular, self._bold = Typeface("DejaVuSans"), Typeface("DejaVuSans-Bold")
        self._buffer = io.BytesIO()
        # Invariant: no clock and no random identifier in the file. Named, because the usual font is not embedded.
        self._canvas = Canvas(
            self._buffer,
            pagesize=A4,
            invariant=1,
            lang=str(invoice.locale),
            initialFontName=self._regular.name,  # type: ignore[arg-type]  # the stubs take it for a number
        )
        self._canvas.setDateFormatter(lambda *_: paper.dated.astimezone(UTC).strftime("D:%Y%m%d%H%M%SZ"))
        self._y = _TOP

    def document(self) -> Document:
        canvas, invoice, paper = self._canvas, self._invoice, self._paper
        canvas.setTitle(f"{paper.title} {paper.number}")
        canvas.setSubject(invoice.order_number)
        canvas.setAuthor(self._seller.name)
        canvas.setCreator(self._seller.name)
        self._letterhead()
        self._recipient()
        rows = [
            _Row(line, number, self._broken(line.name, _PLAIN, _NAME_WIDTH))
            for number, line in enumerate(paper.lines, start=1)
        ]
        pages = self._pages(rows)
        for page, rows_of_page in enumerate(pages, start=1):
            if page > 1:
                self._running_head()
            self._table(rows_of_page)
            if page == len(pages):
                self._closing()
            self._foot(page, len(pages))
            canvas.showPage()
        canvas.save()
        unknown = self._regular.unknown + self._bold.unknown
        return Document(self._buffer.getvalue(), pages=len(pages), unknown_glyphs=unknown)

    def _pages(self, rows: Sequence[_Row]) -> list[list[_Row]]:
        """Spread rows over pages so that none is cut and the total has its place on the last one."""
        pages: list[list[_Row]] = [[]]
        free = self._y - _BOTTOM - _HEAD_HEIGHT
        whole = _TOP - _RUNNING_HEIGHT - _BOTTOM - _HEAD_HEIGHT
        for row in rows:
            if row.height > free:
                pages.append([])
                free = whole
            pages[-1].append(row)
            free -= row.height
        if free < _CLOSING_HEIGHT:
            # The total does not stand on a page alone.
            pages.append([pages[-1].pop()])
        return pages

    def _letterhead(self) -> None:
        words, paper, seller = self._words, self._paper, self._seller
        self._write(_RIGHT, _TOP - 16, paper.title, _TITLE, right=True)
        y = _TOP - 12
        for line in self._broken(seller.name, _SELLER, _SELLER_WIDTH):
            y = self._write(_MARGIN, y, line, _SELLER) - 2
        y -= 2
        for text in (*lines_of(seller.address), f"{words.tax_id} {seller.tax_id}" if seller.tax_id else ""):
            for line in self._broken(text, _QUIET, _SELLER_WIDTH):
                y = self._write(_MARGIN, y, line, _QUIET)
        at = _TOP - 42
        for label, value, pen in paper.facts:
            self._write(_RIGHT - 122, at, label, _QUIET, right=True)
            at = self._write(_RIGHT, at, value, pen, right=True) - 2
        self._y = min(y, at) - 6
        self._rule(self._y, _GREEN, 1.2)
        self._y -= 24

    def _recipient(self) -> None:
        invoice, width = self._invoice, _RIGHT - _MARGIN
        y = self._write(_MARGIN, self._y, self._words.billed_to, _QUIET) - 3
        # A name may have nothing that can be drawn: an invoice is billed to somebody all the same.
        name = self._broken(invoice.recipient_name or "", _RECIPIENT, width)
        nobody = self._words.erased if invoice.is_erased else invoice.email
        for line in name or self._broken(nobody, _RECIPIENT, width):
            y = self._write(_MARGIN, y, line, _RECIPIENT)
        address = lines_of(invoice.shipping_address or "")
        if len(address) > _LONGEST_ADDRESS:
            address = [", ".join(address)]
        for text in address:
            for line in self._broken(text, _PLAIN, width):
                y = self._write(_MARGIN, y, line, _PLAIN)
        self._y = y - 10

    def _running_head(self) -> None:
        """Say on a later page what it belongs to."""
        invoice = self._invoice
        self._write(_MARGIN, _TOP, f"{self._paper.title} {self._paper.number}", _RUNNING_HEAD)
        self._write(_RIGHT, _TOP, invoice.order_number, _QUIET, right=True)
        self._y = _TOP - _RUNNING_HEIGHT

    def _table(self, rows: Sequence[_Row]) -> None:
        words = self._words
        self._fill(_MARGIN, self._y - _HEAD_HEIGHT + 6, _HEAD_HEIGHT, _GREEN)
        base = self._y - 10
        self._write(_NO, base, "#", _HEAD, right=True)
        self._write(_NAME, base, words.item, _HEAD)
        for column, label in ((_QUANTITY, words.quantity), (_PRICE, words.price), (_AMOUNT, words.amount)):
            self._write(column, base, label, _HEAD, right=True)
        self._y -= _HEAD_HEIGHT - 6
        for row in rows:
            self._row(row)

    def _row(self, row: _Row) -> None:
        line, locale = row.line, self._invoice.locale
        base = self._y - 16
        self._write(_NO, base, str(row.number), _QUIET, right=True)
        self._write(_QUANTITY, base, str(line.quantity), _PLAIN, right=True)
        self._write(_PRICE, base, rupiah(line.unit_price_rupiah, locale), _PLAIN, right=True)
        self._write(_AMOUNT, base, rupiah(line.total_rupiah, locale), _PLAIN, right=True)
        for text in row.name:
            self._write(_NAME, base, text, _PLAIN)
            base -= 13
        self._write(_NAME, base + 1, self._regular.known(line.sku), _SMALL)
        self._y -= row.height
        self._rule(self._y, _RULE, 0.6)

    def _closing(self) -> None:
        """Say what it all comes to."""
        words, paper, percent = self._words, self._paper, self._seller.tax_percent
        locale = self._invoice.locale
        self._fill(_CLOSING, self._y - 44, 30, _TINT)
        base = self._y - 33
        self._write(_CLOSING + 10, base, paper.total, _TOTAL)
        self._write(_AMOUNT, base, rupiah(paper.total_rupiah, locale), _SUM, right=True)
        if percent:
            tax = rupiah(self._seller.tax_in(paper.total_rupiah), locale)
            base -= 26
            self._write(_CLOSING + 10, base, words.tax_included.format(percent=percent), _QUIET)
            self._write(_AMOUNT, base, tax, _QUIET, right=True)

    def _foot(self, page: int, pages: int) -> None:
        self._rule(58, _RULE, 0.6)
        self._write(_MARGIN, 44, self._words.note, _SMALL)
        self._write(_RIGHT, 44, self._words.page.format(page=page, pages=pages), _SMALL, right=True)

    def _rule(self, y: float, colour: Color, width: float) -> None:
        self._canvas.setStrokeColor(colour)
        self._canvas.setLineWidth(width)
        self._canvas.line(_MARGIN, y, _RIGHT, y)

    def _fill(self, left: float, bottom: float, height: float, colour: Color) -> None:
        self._canvas.setFillColor(colour)
        self._canvas.rect(left, bottom, _RIGHT - left, height, stroke=0, fill=1)

    def _face(self, pen: _Pen) -> Typeface:
        return self._bold if pen.bold else self._regular

    def _broken(self, text: str, pen: _Pen, width: float) -> list[str]:
        return self._face(pen).lines(text, pen.size, width)

    def _write(self, x: float, y: float, text: str, pen: _Pen, *, right: bool = False) -> float:
        """Write one line from x on, or up to it; return where the next one goes."""
        self._canvas.setFont(self._face(pen).name, pen.size)
        self._canvas.setFillColor(pen.colour)
        (self._canvas.drawRightString if right else self._canvas.drawString)(x, y, text)
        return y - 1.35 * pen.size
