"""The words of the confirmation mail."""

import re
import subprocess
import sys
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skincare.identifiers import OrderNumber, Sku
from skincare.locales import Locale
from skincare.money import rupiah
from skincare.notifications.models import Letterhead, NotificationContext, NotificationType, OrderLine, RefundContext
from skincare.notifications.order_mail import minute, order_mail
from skincare.notifications.ports import Email
from skincare.text import one_line

NUMBER = OrderNumber("SKN-7K3QF-02MPX")
URL = f"https://shop.example.com/orders/{NUMBER}"
VOID = {"br", "meta"}


def make_line(name: str = "Niacinamide Serum 30 ml", quantity: int = 2, price: int = 150_000) -> OrderLine:
    return OrderLine(Sku("SERUM-30"), name, quantity, price)


def mail_about(
    *lines: OrderLine,
    locale: Locale = Locale.ID,
    recipient_name: str | None = "Ani",
    shipping_address: str | None = None,
    shop_url: str = "https://shop.example.com",
    kind: NotificationType = NotificationType.ORDER_CONFIRMATION,
    pay_before: datetime | None = None,
    status: str = "pending",
    letterhead: Letterhead | None = None,
) -> Email:
    lines = lines or (make_line(),)
    order = NotificationContext(
        id=7,
        order_number=NUMBER,
        status=status,
        total_rupiah=sum(line.total_rupiah for line in lines),
        locale=locale,
        lines=lines,
        email="buyer@example.com",
        recipient_name=recipient_name,
        shipping_address=shipping_address,
        recorded=None,
        suppressed=False,
        pay_before=pay_before,
        refund=RefundContext(50_000),
    )
    return order_mail(kind, order, shop_url=shop_url, letterhead=letterhead)


class Page(HTMLParser):
    """What a reader of the HTML sees, and the elements that are there; wrong nesting is an error."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self._open: list[str] = []
        self._text: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self._text.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self._text).split())

    def attributes(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


class TestTheMailOfAnUnpaidOrder:
    END = datetime(2026, 1, 15, 17, 4, 59, tzinfo=UTC)

    @pytest.mark.parametrize(
        ("locale", "sentence", "button", "quiet"),
        [
            (
                Locale.ID,
                "Mohon bayar Rp300.000 sebelum 16 Januari 2026 pukul 00.04 WIB.",
                "Bayar sekarang",
                "Lihat pesa",
            ),
            (Locale.EN, "Please pay IDR 300,000 before 16 January 2026 at 00:04 WIB.", "Pay now", "View your order"),
        ],
    )
    def test_asks_for_the_amount_until_when_and_where(
        self, locale: Locale, sentence: str, button: str, quiet: str
    ) -> None:
        mail = mail_about(locale=locale, pay_before=self.END)
        page = Page(mail.html)
        assert sentence in mail.text
        assert sentence in page.text
        assert button in page.text
        assert f"\n{URL}\n" in mail.text
        assert [link["href"] for link in page.attributes("a")] == [URL, URL]
        for body in (mail.text, page.text):
            assert quiet not in body

    @pytest.mark.parametrize("locale", Locale)
    def test_asks_for_nothing_where_nothing_is_due(self, locale: Locale) -> None:
        mail = mail_about(locale=locale)
        for body in (mail.text, Page(mail.html).text):
            for words in ("Mohon bayar", "Bayar sekarang", "Please pay", "Pay now", "WIB"):
                assert words not in body

    @pytest.mark.parametrize("month", range(1, 13))
    def test_names_the_shops_day_in_every_month(self, month: int) -> None:
        names = {locale: minute(datetime(2026, month, 28, 16, 59, tzinfo=UTC), locale) for locale in Locale}
        assert names[Locale.EN] == f"{datetime(2026, month, 28):%d %B %Y} at 23:59 WIB"  # noqa: DTZ001
        assert names[Locale.ID].startswith("28 ")
        assert names[Locale.ID].endswith(" 2026 pukul 23.59 WIB")


class TestRupiah:
    @pytest.mark.parametrize(
        ("amount", "indonesian", "english"),
        [
            (0, "Rp0", "IDR 0"),
            (999, "Rp999", "IDR 999"),
            (150_000, "Rp150.000", "IDR 150,000"),
            (495_000_000_000, "Rp495.000.000.000", "IDR 495,000,000,000"),
            (-50_000, "-Rp50.000", "-IDR 50,000"),
        ],
    )
    def test_is_written_as_its_reader_writes_it(self, amount: int, indonesian: str, english: str) -> None:
        assert rupiah(amount, Locale.ID) == indonesian
        assert rupiah(amount, Locale.EN) == english


class TestTheMail:
    def test_speaks_indonesian_to_indonesian_customers(self) -> None:
        mail = mail_about(make_line(quantity=2), make_line("Gentle Cleanser", 1, 85_000))
        assert mail.subject == f"Pesanan {NUMBER} sudah kami terima"
        assert mail.text.startswith("Halo Ani,\n")
        page = Page(mail.html)
        assert page.attributes("html") == [{"lang": "id", "dir": "ltr"}]
        for body in (mail.text, page.text):
            for words in ("Halo Ani,", "Terima kasih", "Niacinamide Serum 30 ml", "Rp300.000", "Rp85.000", "Rp385.000"):
                assert words in body
            assert "IDR" not in body

    def test_speaks_english_to_the_others(self) -> None:
        mail = mail_about(locale=Locale.EN)
        assert mail.subject == f"We have received your order {NUMBER}"
        page = Page(mail.html)
        assert page.attributes("html") == [{"lang": "en", "dir": "ltr"}]
        for body in (mail.text, page.text):
            for words in ("Hello Ani,", "Thank you", "IDR 150,000", "IDR 300,000"):
                assert words in body
            assert "Rp" not in body

    def test_goes_to_the_customer_by_name(self) -> None:
        mail = mail_about()
        assert (mail.to, mail.to_name) == ("buyer@example.com", "Ani")

    @pytest.mark.parametrize("locale", Locale)
    @pytest.mark.parametrize("shop_url", ["https://shop.example.com", "https://shop.example.com/"])
    def test_links_to_the_order(self, locale: Locale, shop_url: str) -> None:
        mail = mail_about(locale=locale, shop_url=shop_url)
        assert f"\n{URL}\n" in mail.text
        assert [link["href"] for link in Page(mail.html).attributes("a")] == [URL, URL]

    @pytest.mark.parametrize("locale", Locale)
    @pytest.mark.parametrize("name", [None, "", " \u2028 "])
    def test_greets_without_a_name_where_there_is_none(self, locale: Locale, name: str | None) -> None:
        mail = mail_about(locale=locale, recipient_name=name)
        greeting = {Locale.ID: "Halo,", Locale.EN: "Hello,"}[locale]
        assert mail.text.startswith(f"{greeting}\n")
        assert f" {greeting} " in Page(mail.html).text

    @pytest.mark.parametrize("locale", Locale)
    def test_repeats_the_address_line_by_line_where_there_is_one(self, locale: Locale) -> None:
        label = {Locale.ID: "Alamat pengiriman", Locale.EN: "Shipping address"}[locale]
        mail = mail_about(locale=locale, shipping_address="Jl. Melati 5\r\n\r\nJakarta <Selatan>")
        assert f"{label}:\nAni\nJl. Melati 5\nJakarta <Selatan>\n" in mail.text
        assert re.search(rf"{label} Ani\s?Jl. Melati 5\s?Jakarta <Selatan>", Page(mail.html).text)
        assert label not in mail_about(locale=locale, shipping_address=" \n").text

    @pytest.mark.parametrize("locale", Locale)
    def test_needs_nothing_from_elsewhere_and_runs_nothing(self, locale: Locale) -> None:
        elements = Page(mail_about(locale=locale).html).elements
        assert {tag for tag, _ in elements}.isdisjoint({"img", "link", "style", "script", "iframe", "form"})
        for _, attributes in elements:
            assert "url(" not in (attributes.get("style") or "")
            assert not any(name.startswith("on") or name == "src" for name in attributes)

    @pytest.mark.parametrize("locale", Locale)
    def test_can_be_read_aloud(self, locale: Locale) -> None:
        page = Page(mail_about(locale=locale).html)
        tables = page.attributes("table")
        assert [table.get("role") for table in tables] == ["presentation", "presentation", None]
        assert [header.get("scope") for header in page.attributes("th")] == ["col", "col", "row"]
        assert len(page.attributes("h1")) == 1

    def test_stays_far_below_the_size_at_which_mailboxes_cut_it(self) -> None:
        """Gmail cuts at 102 KB. The largest order has 50 lines, the longest name 200 characters."""
        lines = [make_line("🌸" * 200, 99, 100_000_000) for _ in range(50)]
        mail = mail_about(*lines, recipient_name="🌸" * 200, shipping_address="🌸" * 1000)
        assert len(mail.html.encode()) < 80_000


class TestEveryMail:
    @pytest.mark.parametrize("status", ["refunded", "partially_refunded", "paid", "cancelled", "expired"])
    @pytest.mark.parametrize("locale", Locale)
    @pytest.mark.parametrize("kind", NotificationType)
    def test_is_well_formed_and_says_the_same_in_both_bodies(
        self, kind: NotificationType, locale: Locale, status: str
    ) -> None:
        evil = "<script>alert(1)</script> &"
        mail = mail_about(make_line(evil), kind=kind, locale=locale, recipient_name=evil, status=status)
        page = Page(mail.html)
        assert page.attributes("script") == []
        assert page.attributes("html") == [{"lang": locale, "dir": "ltr"}]
        assert NUMBER in mail.subject
        assert "\n" not in mail.subject
        for body in (mail.text, page.text):
            for words in (evil, NUMBER, URL):
                assert words in body
            assert "{" not in body

    @pytest.mark.parametrize("kind", NotificationType)
    def test_ends_with_the_letterhead(self, kind: NotificationType) -> None:
        letterhead = Letterhead(
            "PT <Toko>\nTotal: Rp0", "Jalan 5\nBandung", "help@example.com", None, "help@example.com"
        )
        mail = mail_about(kind=kind, letterhead=letterhead)
        assert mail.text.endswith("\nPT <Toko> Total: Rp0\nJalan 5\nBandung\n\nAda pertanyaan? help@example.com\n")
        assert Page(mail.html).text.endswith("PT <Toko> Total: Rp0 Jalan 5 Bandung Ada pertanyaan? help@example.com")
        assert mail.reply_to == "help@example.com"


class TestWhatPeopleTyped:
    def test_is_not_taken_for_html(self) -> None:
        evil = "<script>alert(1)</script> & \"x\" 'y'"
        mail = mail_about(make_line(evil), recipient_name=f"Ani {evil}", shipping_address=evil)
        page = Page(mail.html)
        assert page.attributes("script") == []
        assert page.text.count(evil) == 4
        assert mail.text.count(evil) == 4

    @pytest.mark.parametrize("breaker", ["\n", "\r\n", "\u2028", "\x85", "\x0b"])
    def test_cannot_forge_a_line_of_the_text(self, breaker: str) -> None:
        mail = mail_about(make_line(f"Serum{breaker}Total: Rp0"), recipient_name=f"Ani{breaker}Total: Rp0")
        assert [line for line in mail.text.splitlines() if line.startswith("Total:")] == ["Total: Rp300.000"]

    def test_cannot_turn_the_words_around_it(self) -> None:
        mail = mail_about(make_line("Serum \u202egnures"), recipient_name="مريم")
        assert "\u202e" not in mail.text + mail.html
        assert mail.text.startswith("Halo \u2068مريم\u2069,")
        assert '<span dir="auto">مريم</span>,' in mail.html

    def test_keeps_its_emoji(self) -> None:
        mail = mail_about(make_line("Glow 👩‍👩‍👧 🌸"))
        assert "- Glow 👩‍👩‍👧 🌸\n" in mail.text
        assert "Glow 👩‍👩‍👧 🌸" in mail.html

    @given(st.text(st.characters(codec="utf-8"), max_size=200), st.text(st.characters(codec="utf-8"), max_size=200))
    def test_arrives_in_both_bodies_whatever_it_is(self, name: str, product: str) -> None:
        mail = mail_about(make_line(product), recipient_name=name)
        page = Page(mail.html)
        for typed in (one_line(name), one_line(product)):
            assert typed in mail.text
            assert " ".join(typed.split()) in page.text


class TestTheTemplateEngine:
    def test_is_loaded_with_the_first_mail_and_not_before(self) -> None:
        script = (
            "import sys, skincare.notifications.service, skincare.adapters.ses;"
            "sys.exit(any(name in sys.modules for name in ('jinja2', 'boto3', 'botocore.session')))"
        )
        assert subprocess.run([sys.executable, "-c", script], check=False, timeout=60).returncode == 0
