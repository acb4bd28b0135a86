"""The mail that thanks for a payment, against the real database: it shares its path with the confirmation."""

import pytest

from skincare.jobs.catalog import SendPaymentReceivedEmail
from skincare.locales import Locale
from skincare.notifications.models import NotificationOutcome
from skincare.notifications.ports import EmailProviderUnavailable, EmailUndeliverable
from tests.support.confirmation_bench import SHOP_URL, ConfirmationBench, bench
from tests.support.http import open_app
from worker.handlers import send_payment_received_email

__all__ = ["bench"]


class TestAPaidOrder:
    @pytest.mark.parametrize(
        ("locale", "words"),
        [
            (Locale.ID, ("Pembayaran", "Halo Ani", "Dibayar: Rp150.000", "faktur")),
            (Locale.EN, ("your payment", "Hello Ani", "Paid: IDR 150,000", "invoice")),
        ],
    )
    def test_is_thanked_for_in_the_customers_language(
        self, bench: ConfirmationBench, locale: Locale, words: tuple[str, ...]
    ) -> None:
        number = bench.order(locale=locale, recipient_name="Ani")
        bench.set_status(number, "paid")
        assert bench.thank(number) is NotificationOutcome.SENT
        (mail,) = bench.mail.sent
        assert number in mail.subject
        for each in (*words, f"{SHOP_URL}/orders/{number}"):
            assert each in mail.subject + mail.text
        assert f'href="{SHOP_URL}/orders/{number}"' in mail.html
        assert mail.attachments == ()

    def test_is_thanked_for_once_and_beside_its_confirmation(self, bench: ConfirmationBench) -> None:
        number = bench.order()
        bench.confirm(number)
        bench.set_status(number, "paid")
        outcomes = [bench.thank(number) for _ in range(3)]
        assert outcomes == [NotificationOutcome.SENT, *[NotificationOutcome.ALREADY_SENT] * 2]
        assert {row["notification_type"]: row["status"] for row in bench.notifications()} == {
            "order_confirmation": "sent",
            "payment_received": "sent",
        }

    def test_that_was_partly_refunded_is_thanked_for_late(self, bench: ConfirmationBench) -> None:
        number = bench.order()
        bench.set_status(number, "partially_refunded")
        assert bench.thank(number) is NotificationOutcome.SENT

    def test_is_thanked_for_after_a_trouble_of_the_provider(self, bench: ConfirmationBench) -> None:
        number = bench.order()
        bench.set_status(number, "paid")
        bench.mail.fail_next(EmailProviderUnavailable("HTTP 503"))
        with pytest.raises(EmailProviderUnavailable):
            bench.thank(number)
        assert bench.notifications() == []
        assert bench.thank(number) is NotificationOutcome.SENT

    def test_whose_customer_cannot_be_mailed_is_marked(self, bench: ConfirmationBench) -> None:
        number = bench.order()
        bench.set_status(number, "paid")
        bench.mail.fail_next(EmailUndeliverable("refused"))
        assert bench.thank(number) is NotificationOutcome.UNDELIVERABLE
        (row,) = bench.notifications()
        assert (row["notification_type"], row["status"]) == ("payment_received", "undeliverable")


class TestAnOrderThatIsNotPaid:
    @pytest.mark.parametrize("status", ["pending", "cancelled", "expired", "refunded"])
    def test_completes_the_job_without_a_mail(self, bench: ConfirmationBench, status: str) -> None:
        number = bench.order()
        if status != "pending":
            bench.set_status(number, status)
        assert bench.thank(number) is NotificationOutcome.ORDER_CANCELLED
        assert (bench.mail.sent, bench.notifications()) == ([], [])


class TestTheHandler:
    def test_thanks_for_the_order_that_its_payload_names(self, bench: ConfirmationBench, database_url: str) -> None:
        number = bench.order()
        bench.set_status(number, "paid")
        with open_app(database_url) as app:
            send_payment_received_email.handle(SendPaymentReceivedEmail(order_number=number), app)
        assert [row["notification_type"] for row in bench.notifications()] == ["payment_received"]
