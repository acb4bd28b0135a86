"""The confirmation of an order, against the real database."""

import pytest

from skincare.app import App
from skincare.errors import TransientError
from skincare.jobs.catalog import SendConfirmationEmail
from skincare.jobs.publisher import Publisher
from skincare.locales import Locale
from skincare.notifications.models import NotificationOutcome
from skincare.notifications.ports import (
    EmailProviderUnavailable,
    EmailSendingStopped,
    EmailThrottled,
    EmailUndeliverable,
)
from tests.fakes.object_store import FakeObjectStore
from tests.support.confirmation_bench import SHOP_URL, ConfirmationBench, bench
from tests.support.factories import make_product, make_settings
from tests.support.webhooks import FixedSecrets
from worker.handlers import send_confirmation_email

__all__ = ["bench"]


class TestAnOrder:
    def test_is_confirmed_with_what_it_holds_in_the_customers_language(self, bench: ConfirmationBench) -> None:
        serum = make_product(bench.conn, name="Niacinamide Serum", price_rupiah=150_000)
        cleanser = make_product(bench.conn, name="Gentle Cleanser", price_rupiah=85_000)
        number = bench.order(
            lines={serum.sku: 2, cleanser.sku: 1},
            locale=Locale.EN,
            recipient_name="Ani",
            shipping_address="Jl. Melati 5",
        )
        assert bench.confirm(number) is NotificationOutcome.SENT
        [sent] = bench.mail.sent
        assert (sent.to, sent.to_name) == ("buyer@example.com", "Ani")
        assert sent.subject == f"We have received your order {number}"
        for words in (
            "- Niacinamide Serum\n  2 x IDR 150,000 = IDR 300,000\n",
            "- Gentle Cleanser\n  1 x IDR 85,000 = IDR 85,000\n",
            "Total: IDR 385,000\n",
            "Jl. Melati 5\n",
            f"{SHOP_URL}/orders/{number}\n",
        ):
            assert words in sent.text

    def test_keeps_the_name_and_price_it_was_placed_at(self, bench: ConfirmationBench) -> None:
        product = make_product(bench.conn, name="Old Name", price_rupiah=150_000)
        number = bench.order(lines={product.sku: 1})
        bench.conn.execute("UPDATE products SET price_rupiah = 170000, name = 'New Name'")
        bench.confirm(number)
        assert "- Old Name\n  1 x Rp150.000 = Rp150.000\n" in bench.mail.sent[0].text

    def test_is_marked_with_the_providers_message_id(self, bench: ConfirmationBench) -> None:
        bench.confirm(bench.order())
        assert bench.notifications() == [
            {
                "notification_type": "order_confirmation",
                "status": "sent",
                "provider_message_id": "fake-1",
                "reason": None,
            }
        ]

    def test_is_confirmed_once_however_often_the_job_runs(self, bench: ConfirmationBench) -> None:
        number = bench.order()
        outcomes = [bench.confirm(number) for _ in range(3)]
        assert outcomes == [NotificationOutcome.SENT, *[NotificationOutcome.ALREADY_SENT] * 2]
        assert len(bench.mail.sent) == 1

    def test_that_was_told_something_else_is_still_confirmed(self, bench: ConfirmationBench) -> None:
        number = bench.order()
        bench.conn.execute(
            """
            INSERT INTO order_notifications (order_id, notification_type, status)
            SELECT id, 'payment_received', 'sent' FROM orders"""
        )
        assert bench.confirm(number) is NotificationOutcome.SENT

    def test_is_not_confused_with_another_one(self, bench: ConfirmationBench) -> None:
        bench.confirm(bench.order())
        cancelled, number = bench.order(), bench.order()
        bench.set_status(cancelled, "cancelled")
        assert bench.confirm(number) is NotificationOutcome.SENT
        assert number in bench.mail.sent[1].text

    def test_that_is_gone_completes_the_job_without_a_mail(self, bench: ConfirmationBench) -> None:
        assert bench.confirm("SKN-00000-00000") is NotificationOutcome.ORDER_GONE
        assert bench.mail.sent == []

    @pytest.mark.parametrize("status", ["cancelled", "expired", "refunded"])
    def test_that_has_ended_completes_the_job_without_a_mail(self, bench: ConfirmationBench, status: str) -> None:
        number = bench.order()
        bench.set_status(number, status)
        assert bench.confirm(number) is NotificationOutcome.ORDER_CANCELLED
        assert bench.mail.sent == []
        assert bench.notifications() == []

    @pytest.mark.parametrize("status", ["paid", "partially_refunded"])
    def test_that_went_on_is_confirmed_late(self, bench: ConfirmationBench, status: str) -> None:
        number = bench.order()
        bench.set_status(number, status)
        assert bench.confirm(number) is NotificationOutcome.SENT


class TestAnUnpaidOrder:
    def test_is_asked_to_be_paid_before_its_end(self, bench: ConfirmationBench) -> None:
        number = bench.order(locale=Locale.EN)
        row = bench.conn.execute(
            "SELECT to_char(expires_at AT TIME ZONE 'Asia/Jakarta', 'FMDD FMMonth YYYY \"at\" HH24:MI') FROM orders"
        ).fetchone()
        assert row is not None
        bench.confirm(number)
        assert f"Please pay IDR 150,000 before {row[0]} WIB.\n" in bench.mail.sent[0].text

    @pytest.mark.parametrize("status", ["paid", "partially_refunded"])
    def test_that_went_on_is_not_asked_for_money(self, bench: ConfirmationBench, status: str) -> None:
        number = bench.order(locale=Locale.EN)
        bench.set_status(number, status)
        bench.confirm(number)
        assert "Please pay" not in bench.mail.sent[0].text + bench.mail.sent[0].html

    def test_whose_time_is_over_is_not_asked_for_money(self, bench: ConfirmationBench) -> None:
        """A mail that comes late, while the order waits for its expiry."""
        number = bench.order(locale=Locale.EN)
        bench.conn.execute(
            "UPDATE orders SET created_at = created_at - interval '1 hour', expires_at = expires_at - interval '1 hour'"
        )
        assert bench.confirm(number) is NotificationOutcome.SENT
        assert "Please pay" not in bench.mail.sent[0].text + bench.mail.sent[0].html


class TestARecipientWhoCannotBeMailed:
    def assert_given_up(self, bench: ConfirmationBench, reason: str) -> None:
        assert bench.mail.sent == []
        [row] = bench.notifications()
        assert (row["status"], row["provider_message_id"], row["reason"]) == ("undeliverable", None, reason)

    def test_because_the_provider_refuses_for_good_is_marked_and_not_tried_again(
        self, bench: ConfirmationBench
    ) -> None:
        number = bench.order()
        bench.mail.fail_next(EmailUndeliverable("refused with MessageRejected"))
        assert bench.confirm(number) is NotificationOutcome.UNDELIVERABLE
        assert bench.confirm(number) is NotificationOutcome.UNDELIVERABLE
        self.assert_given_up(bench, "refused with MessageRejected")

    @pytest.mark.parametrize("address", ["buyer@example.com", "BUYER@Example.COM"])
    def test_because_the_address_is_suppressed_is_marked_without_asking_the_provider(
        self, bench: ConfirmationBench, address: str
    ) -> None:
        bench.suppress("buyer@example.com")
        bench.suppress("other@example.com")
        bench.mail.fail_always(AssertionError("the provider was asked"))
        assert bench.confirm(bench.order(stored_email=address)) is NotificationOutcome.UNDELIVERABLE
        self.assert_given_up(bench, "the recipient is suppressed")

    def test_because_an_older_release_took_a_bad_address_is_marked(self, bench: ConfirmationBench) -> None:
        number = bench.order(stored_email="jörg@example.com")
        assert bench.confirm(number) is NotificationOutcome.UNDELIVERABLE
        self.assert_given_up(bench, "the recipient's address must have only ASCII characters before the @")

    def test_is_not_confused_with_one_whose_address_is_like_it(self, bench: ConfirmationBench) -> None:
        bench.suppress("ani.buyer@example.com")
        bench.suppress("buyer@example.com.id")
        assert bench.confirm(bench.order(email="buyer@example.com")) is NotificationOutcome.SENT


class TestATroubleOfTheProvider:
    @pytest.mark.parametrize(
        "error",
        [EmailThrottled("slow down"), EmailProviderUnavailable("HTTP 503"), EmailSendingStopped("paused")],
        ids=lambda error: type(error).__name__,
    )
    def test_leaves_no_mark_and_is_over_when_it_has_passed(
        self, bench: ConfirmationBench, error: TransientError
    ) -> None:
        numbers = [bench.order() for _ in range(5)]
        bench.mail.fail_always(error)
        for number in numbers * 3:
            with pytest.raises(type(error)):
                bench.confirm(number)
        assert bench.notifications() == []
        bench.mail.fail_always(None)
        assert [bench.confirm(number) for number in numbers] == [NotificationOutcome.SENT] * 5
        assert len(bench.mail.sent) == 5

    def test_that_is_unforeseen_leaves_no_mark_either(self, bench: ConfirmationBench) -> None:
        bench.mail.fail_next(RuntimeError("a bug"))
        with pytest.raises(RuntimeError):
            bench.confirm(bench.order())
        assert bench.notifications() == []


class TestTheHandler:
    def test_confirms_the_order_that_its_payload_names(self, bench: ConfirmationBench) -> None:
        number = bench.order()
        app = App(
            settings=make_settings(SHOP_URL="https://toko.example.com"),
            database=bench.database,
            queues={},
            publisher=Publisher(bench.database, {}),
            email=bench.mail,
            webhook_secrets=FixedSecrets({}),
            files=FakeObjectStore(),
        )
        send_confirmation_email.handle(SendConfirmationEmail(order_number=number), app)
        assert f"https://toko.example.com/orders/{number}" in bench.mail.sent[0].text
