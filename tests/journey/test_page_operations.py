"""What an engineer does on the page: break the system, see the alarms, look at dead letters and bring them back."""

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, expect

from tests.journey.test_page import BALM, DESK, PHONE, RUNNING, Opener, Shop, Visit, browser, shop, visits

__all__ = ["browser", "shop", "visits"]


WIDTHS = pytest.mark.parametrize("width", [DESK, PHONE])
DEAD_JOBS = """
    INSERT INTO jobs (id, job_type, queue, payload, state, publish_at, attempts, dead_letter_no, error_class,
        error_message, last_failed_at)
    SELECT uuidv7(), %(job_type)s, 'notifications', '{"order_number": "SKN-00000-00000"}', 'dead_letter',
        now() + interval '1 day', 4, 1, 'ProviderRefused', 'refused for a test', now()
    FROM generate_series(1, %(count)s)"""


def kill_jobs(shop: Shop, job_type: str, count: int) -> None:
    with shop.database() as conn:
        conn.execute(DEAD_JOBS, {"job_type": job_type, "count": count})


def order(visit: Visit, address: str) -> str:
    visit.be(address, locale="en")
    visit.add(BALM)
    return visit.place_order()


def turn(visit: Visit, switch: str, state: str) -> None:
    lever = visit.page.get_by_role("switch", name=switch)
    lever.click()
    expect(lever).to_have_text(state)


def group(visit: Visit, title: str) -> Locator:
    return visit.page.locator("#dead-list > li").filter(has_text=title)


def answer(visit: Visit, reason: str, yes: str) -> None:
    """Give a reason in the dialog and agree."""
    visit.page.get_by_label(re.compile("^Reason")).fill(reason)
    visit.page.locator("#confirm").get_by_role("button", name=yes).click()


def expect_clean(visit: Visit) -> None:
    violations = Axe().run(visit.page).response["violations"]
    assert [(each["id"], [node["html"] for node in each["nodes"]]) for each in violations] == []


def send_webhook(visit: Visit, number: str, *, delivery: str = "once", amount: str | None = None) -> None:
    page = visit.page
    page.get_by_label("Order", exact=True).select_option(value=number)
    if amount is not None:
        page.get_by_label("Amount in rupiah").fill(amount)
    page.get_by_label("Sent", exact=True).select_option(value=delivery)
    page.get_by_role("button", name="Send the webhook").click()


class TestBreakingThings:
    @WIDTHS
    def test_a_poisoned_job_dies_with_its_reason_and_lives_after_its_redrive(
        self, visits: Opener, shop: Shop, width: int
    ) -> None:
        visit = visits(width)
        turn(visit, "Poison job", "on")
        expect(visit.page.locator("#health")).to_have_text(
            re.compile(r"^Running(, \d+ alarms?)?, 1 broken on purpose$")
        )
        number = order(visit, f"poison-{width}@example.com")
        dead = group(visit, number)
        expect(dead).to_contain_text("Confirmation mail, WorkerCrashed")
        expect(dead).to_contain_text("5 crashes")
        expect(dead).to_contain_text("not safe to run again took its worker down 5 times")
        visit.assert_fits()
        turn(visit, "Poison job", "off")
        visit.page.get_by_role("button", name=f"Redrive: Confirmation mail of {number}").click()
        expect(visit.page.locator("#confirm-title")).to_have_text(f"Redrive Confirmation mail of {number}?")
        visit.assert_fits()
        expect_clean(visit)
        answer(visit, "the poison is gone", "Redrive all the same")
        expect(visit.page.locator("#dead-result h3")).to_have_text("1 job redriven")
        timeline = visit.page.get_by_label(f"What happened to order {number}")
        expect(timeline).to_contain_text("Confirmation mail sent")
        expect(dead).to_have_count(0)
        with shop.database() as conn:
            row = conn.execute(
                "SELECT claimed_identity, operation, reason FROM operations_audit ORDER BY id DESC LIMIT 1"
            ).fetchone()
        assert row == ("local page", "redrive", "the poison is gone")

    def test_mail_waits_while_its_provider_is_down(self, visits: Opener) -> None:
        visit = visits()
        turn(visit, "Mail provider down", "on")
        number = order(visit, "no-mail@example.com")
        timeline = visit.page.get_by_label(f"What happened to order {number}")
        expect(timeline).to_contain_text("Confirmation mail failed, will be tried again")
        expect(timeline).to_contain_text("EmailProviderUnavailable")
        visit.page.get_by_role("button", name="All off").click()
        expect(visit.page.get_by_role("switch", name="Mail provider down")).to_have_text("off")
        expect(timeline).to_contain_text("Confirmation mail sent")

    def test_the_shop_asks_to_try_again_without_its_database_and_loses_nothing(self, visits: Opener) -> None:
        visit = visits()
        visit.be("no-database@example.com")
        visit.add(BALM)
        expect(visit.page.locator("#cart-count")).to_have_text("1")
        turn(visit, "Database gone", "on")
        visit.page.get_by_role("button", name="Place order").click()
        expect(visit.page.locator("#checkout-result h3")).to_have_text("Temporarily unavailable")
        health = visit.page.locator("#health")
        expect(health).to_have_text("Down: no database")
        expect(health).to_have_attribute("data-state", "stopped")
        visit.assert_fits()
        turn(visit, "Database gone", "off")
        expect(health).to_have_text(RUNNING)
        visit.place_order()
        visit.expect_complaint("503")

    def test_orders_are_taken_while_the_queues_are_down(self, visits: Opener) -> None:
        visit = visits()
        turn(visit, "SQS down", "on")
        number = order(visit, "no-queue@example.com")
        expect(visit.page.locator("#health")).to_contain_text("Running without queues")
        job = visit.page.locator("#job-list li").filter(has_text=number).filter(has_text="Confirmation mail")
        expect(job).to_contain_text("pending")
        turn(visit, "SQS down", "off")
        expect(visit.page.locator("#health")).to_have_text(RUNNING)

    def test_a_batch_that_is_delivered_twice_sends_one_mail(self, visits: Opener, shop: Shop) -> None:
        visit = visits()
        turn(visit, "Duplicate delivery", "on")
        number = order(visit, "twice@example.com")
        expect(visit.page.get_by_label(f"What happened to order {number}")).to_contain_text("Confirmation mail sent")
        turn(visit, "Duplicate delivery", "off")
        mails = visit.page.evaluate("fetch('/_local/mails').then((answer) => answer.json())")
        assert [mail["to"] for mail in mails].count("twice@example.com") == 1


class TestDeadLetters:
    @WIDTHS
    def test_all_of_a_group_are_redriven_at_once(self, visits: Opener, shop: Shop, width: int) -> None:
        visit = visits(width)
        kill_jobs(shop, "send_confirmation_email", 120)
        dead = group(visit, "Confirmation mail, ProviderRefused")
        expect(dead.locator("> .head .badge")).to_have_text("120 jobs")
        expect(dead).to_contain_text("And 115 more: skincare dlq list.")
        visit.assert_fits()
        visit.page.get_by_role("button", name="Redrive all: Confirmation mail, ProviderRefused").click()
        answer(visit, "", "Redrive")
        expect(visit.page.locator("#dead-result h3")).to_have_text("120 jobs redriven")
        expect(dead).to_have_count(0)

    def test_one_that_is_not_safe_to_run_again_says_so_before_its_redrive(self, visits: Opener, shop: Shop) -> None:
        visit = visits()
        kill_jobs(shop, "made_up_type", 1)
        dead = group(visit, "Made up type, ProviderRefused")
        expect(dead).to_contain_text("not safe to run again this release does not know the job type.")
        dead.get_by_role("button", name="Redrive: Made up type").click()
        expect(visit.page.locator("#confirm-lines")).to_contain_text(
            "Not safe to run again: this release does not know the job type."
        )
        visit.page.keyboard.press("Escape")
        expect(visit.page.locator("#confirm")).to_be_hidden()
        expect(dead).to_have_count(1)
        dead.get_by_role("button", name="Discard: Made up type").click()
        answer(visit, "cleaned up", "Discard for good")
        expect(dead).to_have_count(0)

    def test_nothing_is_discarded_without_a_reason(self, visits: Opener, shop: Shop) -> None:
        visit = visits()
        kill_jobs(shop, "generate_invoice_pdf", 2)
        dead = group(visit, "Invoice, ProviderRefused")
        visit.page.get_by_role("button", name="Discard all: Invoice, ProviderRefused").click()
        visit.page.locator("#confirm").get_by_role("button", name="Discard for good").click()
        expect(visit.page.locator("#confirm-said")).to_have_text("Say why: it goes into the audit.")
        expect(visit.page.get_by_label("Reason", exact=True)).to_be_focused()
        answer(visit, "made for a test", "Discard for good")
        expect(visit.page.locator("#dead-result h3")).to_have_text("2 jobs discarded")
        expect(dead).to_have_count(0)
        with shop.database() as conn:
            # Those that were refused for this test: other tests pay orders, whose invoices are drawn.
            states = conn.execute(
                """
                SELECT state FROM jobs
                WHERE job_type = 'generate_invoice_pdf' AND error_class = 'ProviderRefused'"""
            ).fetchall()
        assert states == [("cancelled",)] * 2

    def test_messages_of_nobody_are_listed_shown_and_closed(self, visits: Opener, shop: Shop) -> None:
        visit = visits()
        with shop.database() as conn:
            row = conn.execute("""
                INSERT INTO quarantined_messages (queue, content_hash, body, attributes, reason)
                VALUES ('payments-dead-letters', 'a', '<b>from elsewhere</b>', '{}', 'the body is not JSON')
                RETURNING id""").fetchone()
        assert row is not None
        message = visit.page.locator("#quarantine-list > li")
        expect(message).to_contain_text(f"Message {row[0]} of payments-dead-letters")
        expect(message).to_contain_text("the body is not JSON")
        message.get_by_role("button", name="Show").click()
        expect(visit.page.locator("#dead-result pre")).to_have_text("<b>from elsewhere</b>")
        message.get_by_role("button", name="Close").click()
        answer(visit, "a test event of another service", "Close")
        expect(visit.page.locator("#quarantine")).to_be_hidden()


class TestWebhooks:
    @WIDTHS
    def test_of_every_kind_show_what_the_shop_answers(self, visits: Opener, width: int) -> None:
        visit = visits(width)
        number = order(visit, f"webhooks-{width}@example.com")
        title = visit.page.locator("#webhook-result h3")
        for delivery, words in [
            ("forged", "The shop answered 401"),
            ("late", "The shop answered 401"),
            ("twice", "The shop answered 200 and 200"),
        ]:
            send_webhook(visit, number, delivery=delivery)
            expect(title).to_have_text(words)
        visit.assert_fits()
        expect_clean(visit)
        badge = visit.page.locator(f"#order-list li:has(h3:text-is('{number}')) .head .badge")
        expect(badge).to_have_text("paid")

    def test_with_a_wrong_amount_light_the_alarm_of_money_that_does_not_fit(self, visits: Opener, shop: Shop) -> None:
        visit = visits()
        number = order(visit, "wrong-amount@example.com")
        send_webhook(visit, number, amount="1")
        expect(visit.page.locator("#webhook-result h3")).to_have_text("The shop answered 200")
        indicator = visit.page.locator("#alarm-list li").filter(has_text="payment-anomalies")
        expect(indicator).to_contain_text("firing: 1 (from 1 anomalies)")
        expect(indicator).to_contain_text("docs/runbooks/payment-anomalies.md")
        expect(visit.page.locator("#alarms-empty")).to_have_text(re.compile(r"^\d+ alarms? would fire\.$"))
        with shop.database() as conn:
            conn.execute("UPDATE payment_anomalies SET resolved_at = now()")
        expect(indicator).to_contain_text("quiet: 0")


class TestTheInvoice:
    def test_of_a_paid_order_is_saved_from_its_short_lived_link(
        self, visits: Opener, shop: Shop, tmp_path: Path
    ) -> None:
        visit = visits()
        number = order(visit, "invoice@example.com")
        send_webhook(visit, number)
        timeline = visit.page.get_by_label(f"What happened to order {number}")
        for step in ("Payment event done", "Order paid", "Payment mail sent", "Invoice done"):
            expect(timeline).to_contain_text(step)
        expect(timeline).not_to_contain_text(re.compile(r"[a-z]_[a-z]"))
        with visit.page.expect_download() as download:
            visit.page.get_by_role("button", name=f"Invoice of order {number}").click()
        assert download.value.suggested_filename == f"invoice-{number}.pdf"
        download.value.save_as(tmp_path / "invoice.pdf")
        assert (tmp_path / "invoice.pdf").read_bytes().startswith(b"%PDF-")
        expect(visit.page.locator("#order-result h3")).to_have_text(f"The invoice of order {number} is saved")
        # The API leads to the store of files, and nothing else may be fetched from elsewhere.
        assert {origin.split("/skincare-invoices")[0] for origin in visit.asked if ".pdf" in origin} == {shop.files}
        visit.asked = {origin for origin in visit.asked if not origin.startswith((shop.files, "blob:"))}


@pytest.fixture(autouse=True)
def _needs(browser: Browser) -> None:
    """The browser is checked for before the system is started."""
