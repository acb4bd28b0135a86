"""The page `/_local/` in a browser: what a person does there, at a desk and on a phone."""

import contextlib
import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime

import psycopg
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright
from psycopg import Connection

from emulator.loopback.ports import free_port
from skincare.moments import shown
from tests.journey.conftest import Terminals

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for children in /proc")

READY = "Ctrl-C stops everything."
TIMEOUT_MS = 60_000
NAMES_OF_CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox",  # root has none, nor have containers; nothing but our own page is opened
    "--disable-dev-shm-usage",
    "--disable-gpu",
]

DESK, PHONE = 1280, 360
WIDTHS = pytest.mark.parametrize("width", [DESK, PHONE])

SERUM = "Add Niacinamide 10% Serum 30 ml to the cart"
BALM = "Add Shea Lip Balm 10 g to the cart"
GIFT_SET = "Add Lebaran Gift Set, four pieces to the cart"


RUNNING = re.compile(r"^Running(, \d+ alarms?)?$")
"""Nothing is missing. Alarms of an earlier test may still be lit."""


@dataclass
class Visit:
    """A person before the page; `said` collects what the browser complains of."""

    page: Page
    url: str
    said: list[str] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)
    """The origins of everything that was loaded."""

    def open(self) -> None:
        self.page.goto(f"{self.url}/_local/")
        expect(self.page.locator("#health")).to_have_text(RUNNING)

    def be(self, address: str, *, locale: str = "id") -> None:
        """Shop as somebody, with an empty cart."""
        self.page.get_by_label("Language of the mail").select_option(locale)
        self.page.get_by_label("Customer", exact=True).select_option(label="Another address…")
        self.page.get_by_label("E-mail address").fill(address)
        self.page.get_by_role("button", name="Use this address").click()
        expect(self.page.locator("#customer-said")).to_have_text(f"Shopping as {address}.")
        expect(self.page.locator("#cart-empty")).to_have_text("The cart is empty. Add a product.")

    def add(self, label: str, *, times: int = 1) -> None:
        for _ in range(times):
            self.page.get_by_role("button", name=label).click()

    def place_order(self) -> str:
        """Click, wait for the answer and return the order's number."""
        self.page.get_by_role("button", name="Place order").click()
        return self.read_order_number()

    def read_order_number(self) -> str:
        title = self.page.locator("#checkout-result h3")
        expect(title).to_contain_text("is placed")
        return title.inner_text().split(" ")[1]

    def expect_steps(self, order_number: str, *steps: str) -> None:
        timeline = self.page.get_by_label(f"What happened to order {order_number}")
        expect(timeline.locator("li > span:first-child")).to_have_text(list(steps))

    def expect_among_steps(self, order_number: str, *steps: str) -> None:
        """Expect these in this order, with others between them."""
        timeline = self.page.get_by_label(f"What happened to order {order_number}")
        expect(timeline.locator("li > span:first-child")).to_contain_text(list(steps))

    def expect_time_as_the_command_line_prints_it(self, order_number: str) -> None:
        first = self.page.get_by_label(f"What happened to order {order_number}").locator("time").first
        expect(first).to_have_text(shown(datetime.fromisoformat(first.get_attribute("datetime") or "")))

    def assert_fits(self) -> None:
        widths = self.page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        assert widths[0] <= widths[1]

    def focused(self) -> str:
        """Return the name of what has the focus."""
        return str(
            self.page.evaluate(
                "document.activeElement.getAttribute('aria-label') || document.activeElement.textContent.trim()"
            )
        )

    def tab_to(self, name: str) -> None:
        for _ in range(60):
            self.page.keyboard.press("Tab")
            if self.focused() == name:
                return
        raise AssertionError(f"the Tab key does not lead to {name!r}")

    def expect_complaint(self, part: str) -> None:
        """Take off the list what the browser itself says of an answer that is no success."""
        assert [text for text in self.said if part in text]
        self.said = [text for text in self.said if part not in text]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = next(filter(None, map(shutil.which, NAMES_OF_CHROMIUM)), None)
    if program is None:
        pytest.fail(
            "The page is tested in Chromium, which is not installed: `apt-get install chromium`.", pytrace=False
        )
    expect.set_options(timeout=TIMEOUT_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


class Shop:
    """The local system as `make run` starts it."""

    def __init__(self, terminals: Terminals) -> None:
        self._terminals = terminals
        self.url = terminals.url

    def start(self) -> None:
        self._command = self._terminals.start("run")
        self._command.wait_for_line(READY)

    def stop(self) -> None:
        self._command.send(signal.SIGINT)
        assert self._command.end() == 0

    @property
    def files(self) -> str:
        """The origin of the store of files."""
        running = self._terminals.state.running()
        assert running is not None
        return running.aws_endpoint_url

    @contextlib.contextmanager
    def database(self) -> Iterator[Connection]:
        running = self._terminals.state.running()
        assert running is not None
        with psycopg.connect(running.database_url, autocommit=True) as conn:
            yield conn


@pytest.fixture(scope="module")
def shop() -> Iterator[Shop]:
    """Started once for all tests here."""
    terminals = Terminals(free_port())
    try:
        shop = Shop(terminals)
        shop.start()
        yield shop
    finally:
        terminals.close()


Opener = Callable[..., Visit]


@pytest.fixture
def visits(browser: Browser, shop: Shop) -> Iterator[Opener]:
    """Open the page as somebody new; at the end nothing may have been complained of, nothing come from elsewhere."""
    opened: list[Visit] = []

    def open_page(width: int = DESK, *, scheme: str = "light") -> Visit:
        context = browser.new_context(
            viewport={"width": width, "height": 800},
            color_scheme="dark" if scheme == "dark" else "light",
            reduced_motion="reduce",
            timezone_id="America/New_York",
        )
        context.set_default_timeout(TIMEOUT_MS)
        visit = Visit(context.new_page(), shop.url)
        visit.page.on("console", lambda message: _note(message, visit.said))
        visit.page.on("pageerror", lambda error: visit.said.append(str(error)))
        visit.page.on("request", lambda request: visit.asked.add(request.url.split("/_local")[0].split("/v1")[0]))
        opened.append(visit)
        visit.open()
        return visit

    yield open_page
    for visit in opened:
        visit.page.context.close()
    for visit in opened:
        assert visit.said == []
        assert {origin for origin in visit.asked if not origin.startswith(("data:", "about:"))} == {shop.url}


def _note(message: ConsoleMessage, said: list[str]) -> None:
    if message.type in {"error", "warning"}:
        said.append(message.text)


class TestShoppingOnThePage:
    @WIDTHS
    def test_an_order_placed_by_clicking_brings_its_mail(self, visits: Opener, width: int) -> None:
        visit = visits(width)
        visit.assert_fits()
        visit.be(f"clicks-{width}@example.com", locale="en")
        visit.add(SERUM, times=2)
        visit.add(BALM)
        expect(visit.page.locator("#total")).to_have_text("Rp297.000")
        expect(visit.page.locator("#cart-count")).to_have_text("3")
        number = visit.place_order()
        visit.expect_steps(number, "Order placed", "Confirmation mail queued", "Confirmation mail sent")
        visit.expect_time_as_the_command_line_prints_it(number)
        visit.assert_fits()
        visit.page.get_by_role("button", name=f"Read the mail about order {number}").click()
        expect(visit.page.locator("#letter-subject")).to_contain_text(number)
        expect(visit.page.locator("#letter-to")).to_contain_text(f"clicks-{width}@example.com")
        expect(visit.page.locator("#letter")).to_be_focused()
        letter = visit.page.frame_locator("#letter iframe")
        expect(letter.locator("h1")).to_have_text("Thank you for your order")
        expect(visit.page.locator("#cart-empty")).to_have_text("The cart is empty. Add a product.")
        visit.assert_fits()

    @WIDTHS
    def test_a_link_leads_to_a_heading_that_no_header_hides(self, visits: Opener, width: int) -> None:
        """The header is as high as what it says, on a phone several lines."""
        visit = visits(width)
        expect(visit.page.get_by_role("button", name=BALM)).to_be_enabled()  # nothing moves any more
        visit.page.evaluate("document.querySelector('header').append('Running without this and that, '.repeat(9))")
        visit.page.get_by_role("navigation").get_by_role("link", name="Queues").click()
        heading = visit.page.get_by_role("heading", name="Queues", exact=True)
        expect(heading).to_be_in_viewport()
        header = visit.page.locator("header").bounding_box()
        title = heading.bounding_box()
        assert header is not None
        assert title is not None
        assert title["y"] >= header["y"] + header["height"]

    @WIDTHS
    def test_the_keyboard_alone_is_enough(self, visits: Opener, width: int) -> None:
        visit = visits(width)
        visit.be(f"keys-{width}@example.com")
        visit.page.reload()
        expect(visit.page.locator("#customer-said")).to_have_text(f"Shopping as keys-{width}@example.com.")
        expect(visit.page.get_by_role("button", name=BALM)).to_be_enabled()
        visit.page.keyboard.press("Tab")
        assert visit.focused() == "Skip to the shop"
        visit.page.keyboard.press("Enter")
        visit.tab_to(BALM)
        visit.page.keyboard.press("Enter")
        expect(visit.page.locator("#cart-said")).to_contain_text("Added Shea Lip Balm 10 g. The cart has 1 item")
        visit.tab_to("One more of Shea Lip Balm 10 g")
        visit.page.keyboard.press("Space")
        expect(visit.page.get_by_label("Quantity of Shea Lip Balm 10 g")).to_have_text("2")
        assert visit.focused() == "One more of Shea Lip Balm 10 g"
        visit.tab_to("Place order")
        visit.page.keyboard.press("Enter")
        number = visit.read_order_number()
        assert visit.focused() == f"Order {number} is placed"
        visit.expect_steps(number, "Order placed", "Confirmation mail queued", "Confirmation mail sent")
        visit.tab_to(f"Cancel order {number}")

    def test_a_line_can_be_changed_and_removed(self, visits: Opener) -> None:
        visit = visits()
        visit.be("changes@example.com")
        visit.add(BALM, times=3)
        quantity = visit.page.get_by_label("Quantity of Shea Lip Balm 10 g")
        expect(quantity).to_have_text("3")
        visit.page.get_by_role("button", name="One less of Shea Lip Balm").click()
        expect(quantity).to_have_text("2")
        visit.page.get_by_role("button", name="Remove Shea Lip Balm").click()
        expect(visit.page.locator("#cart-empty")).to_have_text("The cart is empty. Add a product.")
        expect(visit.page.get_by_role("button", name="Place order")).to_be_disabled()

    @WIDTHS
    def test_what_is_out_of_stock_is_said_by_its_name(self, visits: Opener, width: int) -> None:
        visit = visits(width)
        visit.be(f"late-{width}@example.com")
        visit.add(GIFT_SET, times=2)
        visit.page.get_by_role("button", name="Place order").click()
        result = visit.page.locator("#checkout-result")
        expect(result.locator("h3")).to_have_text("Out of stock")
        expect(result.locator("p")).to_have_text("Lebaran Gift Set, four pieces: 2 asked for, 1 left.")
        expect(result.locator("h3")).to_be_focused()
        result.locator("summary").click()
        expect(result.locator("pre")).to_contain_text('"code": "out_of_stock"')
        visit.assert_fits()
        visit.expect_complaint("409")

    def test_a_price_that_rose_meanwhile_is_shown_before_anything_is_ordered(self, visits: Opener, shop: Shop) -> None:
        visit = visits()
        visit.be("price@example.com")
        visit.add("Add Cold-pressed Rosehip Oil 30 ml to the cart")
        expect(visit.page.locator("#total")).to_have_text("Rp165.000")
        with shop.database() as conn:
            conn.execute("UPDATE products SET price_rupiah = 170000 WHERE sku = 'OIL-ROSEHIP-30'")
        visit.page.get_by_role("button", name="Place order").click()
        result = visit.page.locator("#checkout-result")
        expect(result.locator("h3")).to_have_text("The price has changed")
        expect(result.locator("p")).to_contain_text("The cart costs Rp170.000 now.")
        expect(visit.page.locator("#total")).to_have_text("Rp170.000")
        visit.expect_complaint("409")
        visit.place_order()

    def test_a_cancelled_order_says_so_and_gives_its_units_back(self, visits: Opener) -> None:
        visit = visits()
        visit.be("cancels@example.com")
        product = visit.page.locator("#products li").filter(has_text="Vitamin C Glow Serum")
        expect(product).to_contain_text("60 left")
        visit.add("Add Vitamin C Glow Serum 20 ml to the cart", times=2)
        number = visit.place_order()
        expect(product).to_contain_text("58 left")
        visit.expect_steps(number, "Order placed", "Confirmation mail queued", "Confirmation mail sent")
        visit.page.get_by_role("button", name=f"Cancel order {number}").click()
        expect(visit.page.locator("#order-result h3")).to_have_text(f"Order {number} is cancelled")
        cancelled = ("Order placed", "Confirmation mail queued", "Confirmation mail sent", "Order cancelled")
        # What a cancellation sets off has queues of its own: either may be done first.
        visit.expect_among_steps(number, *cancelled, "Cancellation mail queued", "Cancellation mail sent")
        visit.expect_among_steps(number, *cancelled, "Closing of payments queued", "Closing of payments done")
        expect(visit.page.get_by_role("button", name=f"Cancel order {number}")).to_have_count(0)
        expect(product).to_contain_text("60 left")

    def test_an_address_that_is_none_is_refused_with_the_reason(self, visits: Opener) -> None:
        visit = visits()
        visit.page.get_by_label("Customer", exact=True).select_option(label="Another address…")
        address = visit.page.get_by_label("E-mail address")
        address.fill("nobody")
        address.press("Enter")
        expect(visit.page.locator("#customer-said")).to_have_text("The email must contain exactly one @.")
        expect(address).to_be_focused()
        expect(address).to_have_attribute("aria-invalid", "true")
        expect(visit.page.get_by_role("button", name=SERUM)).to_be_disabled()
        visit.expect_complaint("422")


class TestWhatThePageShows:
    def test_a_mail_is_in_a_frame_that_may_do_nothing_and_also_there_as_text(self, visits: Opener) -> None:
        visit = visits()
        visit.be("reads@example.com")
        visit.add(BALM)
        number = visit.place_order()
        visit.page.get_by_role("button", name=f"Read the mail about order {number}").click()
        frame = visit.page.locator("#letter iframe")
        expect(frame).to_have_attribute("sandbox", "")
        expect(visit.page.frame_locator("#letter iframe").locator("body")).to_contain_text(number)
        # Its styles are on its elements: a policy that forbade them would show the reader another mail.
        colour = visit.page.frame_locator("#letter iframe").locator("body").evaluate("e => getComputedStyle(e).color")
        assert colour == "rgb(38, 48, 43)"
        visit.page.get_by_role("button", name="As text").click()
        expect(visit.page.locator("#letter pre")).to_contain_text(number)
        expect(frame).to_have_count(0)

    def test_jobs_and_queues_are_there_to_look_at(self, visits: Opener) -> None:
        visit = visits()
        visit.be("looks@example.com")
        visit.add(BALM)
        number = visit.place_order()
        job = visit.page.locator("#job-list li").filter(has_text=number).filter(has_text="Confirmation mail")
        expect(job).to_contain_text("completed")
        expect(job).to_contain_text("1 attempt")
        visit.page.locator("#job-states").get_by_role("button", name="completed").click()
        expect(job).to_be_visible()
        expect(visit.page.locator("#queue-list h3")).to_have_text(["payments", "notifications", "documents"])
        expect(visit.page.locator("#queue-list")).to_contain_text("worker is up")

    def test_a_dead_letter_is_shown_with_its_reason(self, visits: Opener, shop: Shop) -> None:
        visit = visits()
        expect(visit.page.locator("#dead-empty")).to_have_text("None. Every job is done or will be tried again.")
        with shop.database() as conn:
            conn.execute("""
                INSERT INTO jobs (id, job_type, queue, payload, state, publish_at, attempts, error_class,
                    error_message, last_failed_at)
                VALUES (gen_random_uuid(), 'make_invoice', 'documents', '{}', 'dead_letter', now() + interval '1 day',
                    4, 'InvoiceRefused', 'there is <b>no</b> template', now())""")
        letter = visit.page.locator("#dead-list > li")
        expect(letter).to_contain_text("Make invoice, InvoiceRefused")
        expect(letter).to_contain_text("4 attempts")
        expect(letter).to_contain_text("InvoiceRefused: there is <b>no</b> template")
        with shop.database() as conn:
            conn.execute(
                "UPDATE jobs SET state = 'cancelled', publish_at = NULL, finished_at = now()"
                " WHERE job_type = 'make_invoice'"
            )
        expect(letter).to_have_count(0)

    @pytest.mark.parametrize(("width", "scheme"), [(DESK, "light"), (PHONE, "dark")])
    def test_it_breaks_no_rule_of_accessibility(self, visits: Opener, width: int, scheme: str) -> None:
        visit = visits(width, scheme=scheme)
        visit.be(f"sees-{width}-{scheme}@example.com")
        visit.add(BALM)
        visit.expect_steps(visit.place_order(), "Order placed", "Confirmation mail queued", "Confirmation mail sent")
        visit.add(BALM)
        expect(visit.page.locator("#cart-lines li")).to_have_count(1)
        report = Axe().run(visit.page).response
        broken = [(rule["id"], [node["target"] for node in rule["nodes"]]) for rule in report["violations"]]
        assert broken == []
        assert report["passes"]

    def test_when_the_system_stops_it_says_so_and_goes_on_when_it_is_back(self, visits: Opener, shop: Shop) -> None:
        visit = visits()
        visit.be("waits@example.com")
        visit.add(BALM)
        expect(visit.page.locator("#cart-count")).to_have_text("1")
        shop.stop()
        expect(visit.page.locator("#health")).to_have_text("Stopped")
        expect(visit.page.locator("#stopped")).to_contain_text("The system has stopped")
        assert visit.page.locator("main").evaluate("e => e.inert")
        shop.start()
        expect(visit.page.locator("#health")).to_have_text(RUNNING)
        expect(visit.page.locator("#stopped")).to_be_hidden()
        visit.place_order()
        visit.said = [text for text in visit.said if "Failed to load resource" not in text]
