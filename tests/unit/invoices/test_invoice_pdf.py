"""An invoice as a PDF, as a reader and a byte-wise comparison see it."""

import hashlib
import io
import os
import re
import subprocess
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pypdf import PdfReader

from skincare.invoices.lettering import BOX, Typeface, from_left_to_right, joined
from skincare.invoices.models import Invoice, Seller
from skincare.invoices.pdf import render
from skincare.locales import Locale
from tests.support.invoices import SELLER, make_invoice, make_line, pages_of, text_of
from tests.support.randomness import examples

# With one name of each kind: Latin with marks, a dash and a currency sign, Arabic, Chinese, an emoji.
ODD_NAMES = ["Joséō", "—", "₫", "Rp 150.000,00", "مريم", "测试", "🌸"]
LARGEST = make_invoice(
    *[make_line("W" * 200, 99, 100_000_000) for _ in range(50)],
    recipient_name="🌸" * 200,
    shipping_address="🌸\n" * 500,
)


def shown(invoice: Invoice, seller: Seller = SELLER) -> str:
    return text_of(render(invoice, seller).content)


class TestAnInvoice:
    def test_says_what_was_sold_to_whom_by_whom_and_for_how_much(self) -> None:
        text = shown(make_invoice(make_line(), make_line("Gentle Cleanser", 1, 85_000)))
        for words in (
            "FAKTUR",
            "INV/2026/000001",
            "SKN-7K3QF-02MPX",
            "30 November 2026",
            "LUNAS",
            "PT Contoh Skincare",
            "Jalan Contoh No. 1",
            "NPWP 00.000.000.0-000.000",
            "Ani",
            "Jakarta Selatan",
            "Niacinamide Serum 30 ml",
            "SERUM-30",
            "Rp300.000",
            "Rp385.000",
            "Termasuk PPN 11%",
            "Rp38.153",
            "Halaman 1 dari 1",
        ):
            assert words in text

    def test_speaks_english_to_the_others(self) -> None:
        text = shown(make_invoice(locale=Locale.EN, paid_at=datetime(2026, 12, 1, tzinfo=UTC)))
        for words in ("INVOICE", "1 December 2026", "PAID", "Tax ID", "IDR 300,000", "Includes 11% VAT", "Page 1 of 1"):
            assert words in text
        assert "Rp" not in text

    def test_has_the_day_that_it_is_for_the_shop(self) -> None:
        assert "1 Januari 2027" in shown(make_invoice(paid_at=datetime(2026, 12, 31, 17, 0, tzinfo=UTC)))

    def test_without_a_name_is_made_out_to_the_address_of_the_mail(self) -> None:
        text = shown(make_invoice(recipient_name=None, shipping_address=None))
        assert "buyer@example.com" in text

    def test_of_a_seller_without_tax_names_none(self) -> None:
        text = shown(make_invoice(), replace(SELLER, tax_id="", tax_percent=0))
        assert "NPWP" not in text
        assert "PPN" not in text

    def test_has_the_fonts_that_it_uses_in_it_and_no_others(self) -> None:
        page = PdfReader(io.BytesIO(render(make_invoice(), SELLER).content)).pages[0]
        fonts = [font.get_object() for font in page["/Resources"]["/Font"].values()]  # type: ignore[index]
        assert {font["/BaseFont"].partition("+")[2] for font in fonts} == {"DejaVuSans", "DejaVuSans-Bold"}
        assert all("/FontFile2" in font["/FontDescriptor"] for font in fonts)

    def test_is_dated_by_its_number_and_names_the_day_of_the_payment(self) -> None:
        """Paid five minutes before midnight of Jakarta's 31 December, and numbered after it."""
        paid, issued = datetime(2026, 12, 31, 16, 55, tzinfo=UTC), datetime(2026, 12, 31, 17, 1, tzinfo=UTC)
        text = shown(make_invoice(number="INV/2027/000001", paid_at=paid, issued_at=issued, locale=Locale.EN))
        for words in ("INV/2027/000001", "1 January 2027", "Paid on", "31 December 2026"):
            assert words in text

    def test_is_dated_by_its_number_in_its_properties(self) -> None:
        information = PdfReader(io.BytesIO(render(make_invoice(), SELLER).content)).metadata
        assert information is not None
        assert information.creation_date == make_invoice().issued_at


class TestTax:
    @pytest.mark.parametrize(
        ("total", "percent", "tax"),
        [(111, 11, 11), (150_000, 11, 14_865), (1, 11, 0), (3, 100, 2), (1, 100, 1), (385_000, 0, 0)],
    )
    def test_is_the_part_that_the_total_includes(self, total: int, percent: int, tax: int) -> None:
        assert replace(SELLER, tax_percent=percent).tax_in(total) == tax


class TestPages:
    @pytest.mark.parametrize("lines", [1, 5, 11])
    def test_a_usual_order_has_one(self, lines: int) -> None:
        assert render(make_invoice(*[make_line()] * lines), SELLER).pages == 1

    @pytest.mark.parametrize("number", range(9, 50, 2))
    def test_many_lines_flow_on_under_the_same_header(self, number: int) -> None:
        lines = [make_line(f"Product No. {index}.") for index in range(number)]
        document = render(make_invoice(*lines), SELLER)
        pages = pages_of(document.content)
        assert len(pages) == document.pages
        assert [index for index in range(number) if "\n".join(pages).count(f"Product No. {index}.") != 1] == []
        for count, page in enumerate(pages, start=1):
            for words in ("INV/2026/000001", "Harga satuan", "Product No.", f"Halaman {count} dari {len(pages)}"):
                assert words in page
        assert [page.count("Total dibayar") for page in pages] == [0] * (len(pages) - 1) + [1]

    def test_hold_the_largest_order_that_there_can_be(self) -> None:
        document = render(LARGEST, SELLER)
        assert text_of(document.content).replace("NPWP", "").count("W") == 50 * 200
        assert document.pages < 20


class TestTheSameInvoice:
    def test_is_the_same_bytes_in_any_process_at_any_time(self) -> None:
        script = (
            "import hashlib, sys; from tests.support.invoices import *; from skincare.invoices.pdf import render;"
            "sys.stdout.write(hashlib.sha256(render(make_invoice(), SELLER).content).hexdigest())"
        )
        found = {
            subprocess.run(
                [sys.executable, "-c", script],
                env={**os.environ, "PYTHONHASHSEED": seed, "TZ": zone},
                capture_output=True,
                text=True,
                check=True,
                timeout=60,
            ).stdout
            for seed, zone in (("1", "Asia/Jakarta"), ("2", "America/Lima"))
        }
        assert found == {hashlib.sha256(render(make_invoice(), SELLER).content).hexdigest()}

    def test_is_the_same_bytes_whatever_was_drawn_before_or_beside_it(self) -> None:
        alone = {name: render(make_invoice(make_line(name)), SELLER).content for name in ODD_NAMES}
        with ThreadPoolExecutor(4) as pool:
            beside = pool.map(lambda name: render(make_invoice(make_line(name)), SELLER).content, ODD_NAMES * 4)
            assert all(content == alone[name] for name, content in zip(ODD_NAMES * 4, beside, strict=True))

    def test_with_another_number_is_another_file(self) -> None:
        one, two = make_invoice(), make_invoice(number="INV/2026/000002")
        assert render(one, SELLER).content != render(two, SELLER).content
        assert one.object_key != two.object_key != replace(two, version=2).object_key


class TestANameThatTheFontLacks:
    @pytest.mark.parametrize("name", ODD_NAMES)
    def test_makes_a_file_all_the_same_with_the_name_or_boxes(self, name: str) -> None:
        document = render(make_invoice(make_line(f"[{name}]"), recipient_name=name, shipping_address=name), SELLER)
        expected = BOX * len(name) if name in {"测试", "🌸"} else name
        # Joined letters are found by whoever looks for the letters.
        assert f"[{expected}]" in unicodedata.normalize("NFKC", text_of(document.content))
        assert document.unknown_glyphs == (3 * len(name) if BOX in expected else 0)

    def test_composes_letters_and_their_marks(self) -> None:
        document = render(make_invoice(make_line("Nguye\u0302\u0303n Thi\u0323 A\u0301nh")), SELLER)
        assert "Nguyễn Thị Ánh" in text_of(document.content)
        assert document.unknown_glyphs == 0

    def test_has_a_box_for_each_emoji_and_none_for_its_joiners(self) -> None:
        document = render(make_invoice(make_line("[👩‍👩‍👧🌸\ufe0f]")), SELLER)
        assert f"[{BOX * 4}]" in text_of(document.content)

    @pytest.mark.parametrize(
        "unseen",
        [
            "\u00ad",
            "\u034f",
            "\u115f",
            "\u1160",
            "\u17b4",
            "\u180b",
            "\u200b",
            "\u200d",
            "\u200f",
            "\u2060",
            "\u3164",
            "\ufe0f",
            "\ufeff",
            "\uffa0",
            "\U00013441",
            "\U0001d159",
            "\U000e0100",
            "\U000e01ef",
        ],
    )
    def test_has_no_box_for_what_is_drawn_as_nothing(self, unseen: str) -> None:
        """Such as the selector of a family name's variant: the customer typed one letter, and sees one."""
        face = Typeface("DejaVuSans")
        assert face.known(f"Bu{unseen}di") == "Budi"
        assert face.unknown == 0

    def test_composes_what_a_joiner_held_apart(self) -> None:
        assert Typeface("DejaVuSans").known("A\u034f\u0301nh") == "Ánh"

    def test_cannot_break_out_of_its_line(self) -> None:
        text = shown(make_invoice(make_line("Serum\nTotal dibayar\x00\u202e Rp0")))
        assert "Serum Total dibayar Rp0" in text

    @pytest.mark.parametrize(
        "name", [None, "", "\u200b", "\u3164", "\u2800 \u115f", "\u202e", "\u0301", "\u0600", "\ufe0f"]
    )
    def test_is_billed_to_the_address_where_the_name_has_nothing_to_draw(self, name: str | None) -> None:
        """As in orders that are older than the rule for texts, and for a mark that the font knows no shape of."""
        assert re.search(r"Ditagihkan kepada\s+buyer@example\.com", shown(make_invoice(recipient_name=name)))

    def test_is_none_where_the_customer_was_erased_and_the_file_says_so(self) -> None:
        text = shown(
            make_invoice(
                recipient_name=None,
                shipping_address=None,
                email="erased@erased.invalid",
                is_erased=True,
                locale=Locale.EN,
            )
        )
        assert re.search(r"Billed to\s+The customer's data was erased on request", text)
        assert "@" not in text

    @settings(max_examples=examples(25))
    @given(st.text(max_size=200), st.text(max_size=200), st.text(max_size=1000))
    def test_never_makes_it_fail(self, name: str, product: str, address: str) -> None:
        invoice = make_invoice(make_line(product), recipient_name=name, shipping_address=address)
        assert render(invoice, SELLER).content.startswith(b"%PDF-")


class TestFromLeftToRight:
    """Each is what GNU FriBidi 1.0.8 makes of it."""

    @pytest.mark.parametrize(
        ("read", "drawn"),
        [
            ("Ani 12", "Ani 12"),
            ("אבג", "גבא"),
            ("Ani אבג דה (x)", "Ani הד גבא (x)"),
            ("אב 12 ג, Ani", "ג 12 בא, Ani"),
            ("א(ב)ג", "ג(ב)א"),
            ("א (ב ג)", "(ג ב) א"),
            ("א (x)", "א (x)"),
            ("((א) ב)", "((א) ב)"),
            ("x ((א", "x ((א"),
            ("[ב] {ג}", "[ב] {ג}"),
            ("א [ב] {ג} <ד> ה", "ה <ד> {ג} [ב] א"),
            ("א «ב» ג", "ג «ב» א"),
            ("אב 12/3 ג 45", "45 ג 12/3 בא"),
            ("א 1.234,00 ב", "ב 1.234,00 א"),
            ("א 50% 3-5 +62", "62+ 3-5 50% א"),
            ("٣٤ أ ٥٦/٧", "٥٦/٧ أ ٣٤"),
        ],
    )
    def test_turns_what_is_read_from_right_to_left(self, read: str, drawn: str) -> None:
        assert from_left_to_right(read) == drawn

    def test_puts_a_mark_before_its_letter_where_the_fonts_shape_of_it_begins(self) -> None:
        """Their marks of Latin letters reach back, and so follow."""
        assert from_left_to_right("x\u0303 \u05d0\u05b8\u05d1") == "x\u0303 \u05d1\u05b8\u05d0"
        for name in ("DejaVuSans", "DejaVuSans-Bold"):
            font = Typeface(name)
            assert font.width("\u05b8", 10) == font.width("\u064e", 10) == 0

    @given(st.text(alphabet="אבمري abc012()[]<>«»/.,:%-", max_size=30))
    def test_keeps_every_character_and_each_run_of_one_direction(self, text: str) -> None:
        """Brackets too, but for their side."""
        drawn = from_left_to_right(text)
        sides = str.maketrans(")]>»", "([<«")
        assert sorted(drawn.translate(sides)) == sorted(text.translate(sides))
        assert re.findall("[a-c]+", drawn) == re.findall("[a-c]+", text) or re.search("[אבمري]", text)


class TestJoined:
    @pytest.mark.parametrize(
        ("read", "forms"),
        [
            ("مريم", "FEE3 FEAE FEF3 FEE2"),
            ("لا", "FEFB"),
            ("علاء", "FECB FEFC FE80"),
            ("الله", "FE8D FEDF FEE0 FEEA"),
            ("مُحَمَّد", "FEE3 064F FEA4 064E FEE4 064E 0651 FEAA"),
            ("می\u200cخ", "FEE3 FBFD 200C FEA5"),
            ("ٹیپو گل", "FB68 FBFF FB59 FEEE 0020 FB94 FEDE"),
            ("Ani (أ) 1", "0041 006E 0069 0020 0028 FE83 0029 0020 0031"),
            ("אב", "05D0 05D1"),
        ],
    )
    def test_gives_arabic_letters_the_forms_that_they_take_beside_each_other(self, read: str, forms: str) -> None:
        assert " ".join(f"{ord(each):04X}" for each in joined(read)) == forms

    def test_has_forms_that_both_fonts_know(self) -> None:
        for name in ("DejaVuSans", "DejaVuSans-Bold"):
            font = Typeface(name)
            assert BOX not in font.known("مُحَمَّد بن سَلْمَان الله لا ٹیپو گل می\u200cخواهم דָּוִד")
            assert font.known("می\u200cخ") == "\ufee3\ufbfd\ufea5"
            assert font.unknown == 0

    def test_is_done_before_a_line_is_measured_and_then_turned(self) -> None:
        font = Typeface("DejaVuSans")
        word = font.known("مريم")
        assert font.lines("مريم مريم", 10, font.width(word, 10) + 1) == [word[::-1], word[::-1]]

    def test_loads_nothing_for_a_text_without_such_letters(self) -> None:
        code = (
            "import sys; from skincare.invoices.lettering import Typeface;"
            "Typeface('DejaVuSans').lines('Jos\u00e9 \u2013 (12)', 10, 99);"
            "assert not {'bidi', 'arabic_reshaper'} & set(sys.modules)"
        )
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
