"""From the cart to a paid order in a browser, through the payment gateway of the local system."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.journey.test_page import BALM, DESK, PHONE, RUNNING, SERUM, Opener, Shop, Visit, browser, shop, visits

__all__ = ["browser", "shop", "visits"]


WIDTHS = pytest.mark.parametrize("width", [DESK, PHONE])
OWN_COMPLAINT = "Failed to load resource"


def order(visit: Visit, address: str) -> str:
    visit.be(address, locale="en")
    visit.add(SERUM)
    visit.add(BALM)
    return visit.place_order()


def go_to_gateway(visit: Visit, number: str) -> Page:
    """Press the order's button and wait for the gateway's page."""
    visit.page.get_by_role("button", name=f"Pay order {number}").click()
    expect(visit.page.locator("#order-number")).to_have_text(number)
    return visit.page


def back(visit: Visit) -> None:
    visit.page.locator("header").get_by_role("link", name="Back to the shop").click()
    expect(visit.page.locator("#health")).to_have_text(RUNNING)


def badge_of(visit: Visit, number: str) -> str:
    return f"#order-list li:has(h3:text-is('{number}')) .head .badge"


def expect_status(visit: Visit, number: str, status: str) -> None:
    expect(visit.page.locator(badge_of(visit, number))).to_have_text(status)


class TestPayingInTheBrowser:
    @WIDTHS
    def test_leads_from_the_cart_to_a_paid_order(self, visits: Opener, width: int) -> None:
        visit = visits(width)
        number = order(visit, f"pays-{width}@example.com")
        page = go_to_gateway(visit, number)
        visit.assert_fits()
        expect(page.locator("#total")).to_have_text(re.compile(r"^Rp[\d.]+$"))
        page.get_by_role("button", name="Pay", exact=True).click()
        expect(page.locator("#result")).to_contain_text('The shop answered 200: {"status":"ok"}')
        expect(page.locator("#state")).to_have_text("paid")
        visit.assert_fits()
        back(visit)
        expect_status(visit, number, "paid")
        expect(visit.page.get_by_label(f"What happened to order {number}")).to_contain_text("Order paid")
        expect(visit.page.get_by_role("button", name=f"Pay order {number}")).to_have_count(0)

    def test_that_fails_can_be_tried_again_at_the_same_page(self, visits: Opener) -> None:
        visit = visits()
        number = order(visit, "tries-again@example.com")
        page = go_to_gateway(visit, number)
        address = page.url
        page.get_by_role("button", name="Fail").click()
        expect(page.locator("#result")).to_contain_text("The shop answered 200")
        back(visit)
        page = go_to_gateway(visit, number)
        assert page.url == address
        page.get_by_role("button", name="Pay", exact=True).click()
        expect(page.locator("#state")).to_have_text("paid")
        back(visit)
        expect_status(visit, number, "paid")

    def test_begins_anew_after_the_gateway_closed_the_first_page(self, visits: Opener) -> None:
        visit = visits()
        number = order(visit, "expires@example.com")
        page = go_to_gateway(visit, number)
        address = page.url
        page.get_by_role("button", name="Expire").click()
        expect(page.locator("#state")).to_have_text("closed")
        expect(page.get_by_role("button", name="Pay", exact=True)).to_be_disabled()
        back(visit)
        expect_status(visit, number, "pending")
        expect(visit.page.get_by_label(f"What happened to order {number}")).to_contain_text("Payment event done")
        page = go_to_gateway(visit, number)
        assert page.url != address
        page.get_by_role("button", name="Pay", exact=True).click()
        expect(page.locator("#state")).to_have_text("paid")
        back(visit)
        expect_status(visit, number, "paid")

    def test_shows_that_old_and_forged_events_are_refused_and_copies_are_not(self, visits: Opener, shop: Shop) -> None:
        visit = visits()
        number = order(visit, "careful@example.com")
        page = go_to_gateway(visit, number)
        page.get_by_label(re.compile("late, with")).check()
        page.get_by_role("button", name="Pay", exact=True).click()
        expect(page.locator("#result")).to_contain_text("The shop answered 401")
        page.get_by_label(re.compile("forged, with")).check()
        page.get_by_role("button", name="Send it to the shop again").click()
        expect(page.locator("#result")).to_contain_text("The shop answered 401")
        page.get_by_label(re.compile("twice, the")).check()
        page.get_by_role("button", name="Send it to the shop again").click()
        expect(page.locator("#result p").filter(has_text="The shop answered 200")).to_have_count(2)
        back(visit)
        expect_status(visit, number, "paid")
        with shop.database() as conn:
            row = conn.execute(
                "SELECT count(*) FROM payments p JOIN orders o ON o.id = p.order_id WHERE o.order_number = %s", [number]
            ).fetchone()
        assert row == (1,)

    def test_can_be_given_back(self, visits: Opener) -> None:
        visit = visits()
        number = order(visit, "wants-it-back@example.com")
        page = go_to_gateway(visit, number)
        page.get_by_role("button", name="Pay", exact=True).click()
        expect(page.locator("#state")).to_have_text("paid")
        page.get_by_role("button", name="Refund").click()
        expect(page.locator("#state")).to_have_text("refunded")
        back(visit)
        expect_status(visit, number, "refunded")

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_has_a_page_that_everybody_can_use(self, visits: Opener, scheme: str) -> None:
        visit = visits(PHONE, scheme=scheme)
        page = go_to_gateway(visit, order(visit, f"looks-{scheme}@example.com"))
        page.get_by_role("button", name="Fail").click()
        expect(page.locator("#result")).to_contain_text("The shop answered 200")
        violations = Axe().run(page).response["violations"]
        assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in violations] == []

    def test_of_an_unknown_payment_says_so(self, visits: Opener) -> None:
        visit = visits()
        visit.page.goto(f"{visit.url}/_local/pay/?reference=none")
        expect(visit.page.locator("#lost")).to_have_text("There is no such payment.")
        visit.expect_complaint("404")


@pytest.fixture(autouse=True)
def _needs(browser: Browser) -> None:
    """The browser is checked for before the system is started."""
