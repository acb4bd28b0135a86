"""What a cancellation, an expiry and a refund tell the customer: each once, and only what is true."""

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from psycopg import Connection

from skincare.app import App
from skincare.identifiers import OrderNumber, UserId
from skincare.jobs.catalog import SendOrderCancelledEmail, SendOrderExpiredEmail, SendRefundEmail
from skincare.jobs.repository import operations
from skincare.locales import Locale
from skincare.notifications.ports import Email, EmailProviderUnavailable
from skincare.orders import service as orders
from tests.support.factories import make_order, make_settings
from tests.support.http import Client, open_app
from tests.support.log import recorded_log
from tests.support.payments import order_status, tell
from tests.support.timers import expire
from worker.handlers import send_order_cancelled_email, send_order_expired_email, send_refund_email

TOTAL = 150_000
CANARY = "canary7f3a"


def place(conn: Connection, **changes: Any) -> OrderNumber:
    changes = {"user_id": "ani", "locale": Locale.EN, "recipient_name": "Ani"} | changes
    return make_order(conn, **changes).order.order_number


def mails_of(conn: Connection, number: OrderNumber) -> list[tuple[str, dict[str, Any]]]:
    """Return type and payload of the jobs that tell how an order goes on after money or the end."""
    return conn.execute(
        "SELECT job_type, payload FROM jobs WHERE order_number = %s AND job_type IN"
        " ('send_order_cancelled_email', 'send_order_expired_email', 'send_refund_email') ORDER BY created_at, id",
        [number],
    ).fetchall()


def recorded(conn: Connection) -> list[tuple[str, str]]:
    return conn.execute("SELECT notification_type, status FROM order_notifications ORDER BY created_at").fetchall()


def run(app: App, conn: Connection, number: OrderNumber) -> list[Email]:
    """Run all those jobs and return the mails that they sent."""
    before = len(app.email.sent)  # type: ignore[attr-defined]
    for job_type, payload in mails_of(conn, number):
        match job_type:
            case "send_order_cancelled_email":
                send_order_cancelled_email.handle(SendOrderCancelledEmail.model_validate(payload), app)
            case "send_order_expired_email":
                send_order_expired_email.handle(SendOrderExpiredEmail.model_validate(payload), app)
            case _:
                send_refund_email.handle(SendRefundEmail.model_validate(payload), app)
    sent: list[Email] = app.email.sent[before:]  # type: ignore[attr-defined]
    return sent


def refund(app: App, number: OrderNumber, amount: int, *, transaction: str = "one", minute: int = 9) -> None:
    tell(app, number, "refunded", transaction, minute=minute, amount_rupiah=amount, refund_id=f"{number}-{minute}")


class TestACancellation:
    def test_by_the_customer_is_confirmed_by_one_mail(self, app: App, conn: Connection) -> None:
        number = place(conn)
        client = Client(app, "ani")
        assert [client.cancel(number).status for _ in range(3)] == [200, 200, 200]
        assert mails_of(conn, number) == [("send_order_cancelled_email", {"order_number": number})]
        published = [job.job_type for job in app.publisher.jobs]  # type: ignore[attr-defined]
        assert published == ["close_payments", "send_order_cancelled_email"]
        [mail] = run(app, conn, number) + run(app, conn, number)
        assert mail.subject == f"Your order {number} is cancelled"
        assert recorded(conn) == [("order_cancelled", "sent")]

    def test_that_is_refused_sends_none(self, app: App, conn: Connection) -> None:
        number = place(conn)
        tell(app, number, "paid", "one")
        assert Client(app, "ani").cancel(number).status == 409
        assert Client(app, "somebody-else").cancel(number).status == 404
        assert mails_of(conn, number) == []

    def test_made_many_times_at_once_is_one_mail(self, conn: Connection, database_url: str) -> None:
        number = place(conn)
        ready = threading.Barrier(6)

        def one(_: int) -> None:
            ready.wait(timeout=20)
            orders.cancel_order(UserId("ani"), number, database=many.database, publisher=many.publisher)

        with open_app(database_url, max_connections=6) as many, ThreadPoolExecutor(6) as pool:
            list(pool.map(one, range(6)))
        assert len(mails_of(conn, number)) == 1

    def test_that_does_not_commit_leaves_neither_the_order_cancelled_nor_a_mail(
        self, app: App, conn: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        number = place(conn)

        def dies(*_: object, **__: object) -> None:
            raise RuntimeError("killed")

        monkeypatch.setattr("skincare.orders.service.outbox.insert_all", dies)
        with pytest.raises(RuntimeError):
            orders.cancel_order(UserId("ani"), number, database=app.database, publisher=app.publisher)
        assert (order_status(conn, number), mails_of(conn, number)) == ("pending", [])


class TestAnExpiry:
    def test_is_told_once_however_often_the_timer_goes_off(self, app: App, conn: Connection) -> None:
        number = place(conn)
        for _ in range(3):
            expire(app, number)
        assert mails_of(conn, number) == [("send_order_expired_email", {"order_number": number})]
        [mail] = run(app, conn, number) + run(app, conn, number)
        assert mail.subject == f"Your order {number} has expired"
        assert "nothing more to pay" in mail.text

    def test_that_does_not_commit_leaves_the_order_pending_and_its_stock_reserved(
        self, app: App, conn: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        number = place(conn)

        def dies(*_: object, **__: object) -> None:
            raise RuntimeError("killed")

        monkeypatch.setattr("skincare.payments.expiry.service.timers.insert", dies)
        with pytest.raises(RuntimeError):
            expire(app, number)
        assert order_status(conn, number) == "pending"
        assert conn.execute("SELECT stock FROM products").fetchall() == [(9,)]

    def test_is_not_told_of_an_order_whose_confirmation_a_person_called_off(self, app: App, conn: Connection) -> None:
        placement = make_order(conn)
        assert placement.job is not None
        operations.cancel(conn, [placement.job.job_id])
        expire(app, placement.order.order_number)
        assert order_status(conn, placement.order.order_number) == "expired"
        assert mails_of(conn, placement.order.order_number) == []

    def test_of_an_order_that_is_paid_is_none(self, app: App, conn: Connection) -> None:
        number = place(conn)
        tell(app, number, "paid", "one")
        expire(app, number)
        assert mails_of(conn, number) == []


class TestARefund:
    def test_is_told_each_time_with_its_own_amount(self, app: App, conn: Connection) -> None:
        number = place(conn)
        tell(app, number, "paid", "one")
        refund(app, number, 50_000, minute=1)
        refund(app, number, 100_000, minute=2)
        assert [payload["refund_no"] for _, payload in mails_of(conn, number)] == [1, 2]
        first, second = run(app, conn, number)
        assert first.subject == f"Refund of IDR 50,000 for order {number}"
        assert second.subject == f"Refund of IDR 100,000 for order {number}"
        assert "whole payment" in second.text
        assert [each for each, _ in recorded(conn)] == ["refund:1", "refund:2"]
        assert run(app, conn, number) == []

    @pytest.mark.parametrize("history", list(itertools.permutations(range(3))))
    def test_is_told_of_all_that_went_back_whatever_the_order_of_the_news(
        self, app: App, conn: Connection, history: tuple[int, ...]
    ) -> None:
        number = place(conn)
        news = [
            lambda: tell(app, number, "paid", "one"),
            lambda: refund(app, number, 50_000, minute=1),
            lambda: refund(app, number, 100_000, minute=2),
        ]
        for index in history:
            news[index]()
            news[index]()
        rows = conn.execute("SELECT amount_rupiah FROM order_refunds ORDER BY refund_no").fetchall()
        assert sum(amount for (amount,) in rows) == TOTAL
        assert len(run(app, conn, number)) == len(rows)

    def test_of_a_double_says_that_the_order_stays_paid(self, app: App, conn: Connection) -> None:
        number = place(conn)
        tell(app, number, "paid", "one")
        tell(app, number, "paid", "two", minute=1)
        refund(app, number, TOTAL, transaction="two", minute=2)
        assert order_status(conn, number) == "paid"
        [mail] = run(app, conn, number)
        assert "stays paid" in mail.text

    def test_of_money_that_came_after_a_cancellation_says_so(self, app: App, conn: Connection) -> None:
        number = place(conn)
        Client(app, "ani").cancel(number)
        tell(app, number, "paid", "one")
        refund(app, number, TOTAL)
        cancelled, refunded = run(app, conn, number)
        assert "Should a payment of yours still arrive" in cancelled.text
        assert "cancelled before your payment arrived" in refunded.text

    def test_that_is_no_refund_is_told_to_nobody(self, app: App, conn: Connection) -> None:
        number = place(conn)
        for minute, status in enumerate(("paid", "chargeback", "failed")):
            tell(app, number, status, "one", minute=minute)
        refund(app, number, TOTAL + 1)
        assert mails_of(conn, number) == []

    def test_that_nobody_booked_sends_no_mail(self, app: App, conn: Connection) -> None:
        number = place(conn)
        send_refund_email.handle(SendRefundEmail(order_number=number, refund_no=1), app)
        assert (app.email.sent, recorded(conn)) == ([], [])  # type: ignore[attr-defined]

    def test_waits_while_the_provider_is_away(self, app: App, conn: Connection) -> None:
        number = place(conn)
        tell(app, number, "paid", "one")
        refund(app, number, TOTAL)
        app.email.fail_next(EmailProviderUnavailable("HTTP 503"))  # type: ignore[attr-defined]
        with pytest.raises(EmailProviderUnavailable):
            run(app, conn, number)
        assert (recorded(conn), len(run(app, conn, number))) == ([], 1)


class TestWhatIsPastItsUse:
    """A job that runs late looks for itself."""

    @pytest.mark.parametrize("status", ["pending", "paid", "expired", "refunded"])
    def test_no_cancellation_is_told_of_an_order_that_is_not_cancelled(
        self, app: App, conn: Connection, status: str
    ) -> None:
        number = place(conn)
        if status != "pending":
            conn.execute("UPDATE orders SET status = %s", [status])
        send_order_cancelled_email.handle(SendOrderCancelledEmail(order_number=number), app)
        assert app.email.sent == []  # type: ignore[attr-defined]

    @pytest.mark.parametrize("status", ["pending", "paid", "cancelled", "refunded"])
    def test_no_expiry_is_told_of_an_order_that_has_not_expired(self, app: App, conn: Connection, status: str) -> None:
        number = place(conn)
        if status != "pending":
            conn.execute("UPDATE orders SET status = %s", [status])
        send_order_expired_email.handle(SendOrderExpiredEmail(order_number=number), app)
        assert app.email.sent == []  # type: ignore[attr-defined]


class TestEveryOneOfThem:
    def everything(self, app: App, conn: Connection, locale: Locale) -> list[Email]:
        personal = {"email": f"{CANARY}@example.com", "recipient_name": f"{CANARY} Ani", "locale": locale}
        cancelled, expired, paid = (place(conn, user_id=user, **personal) for user in ("a", "b", "c"))
        Client(app, "a").cancel(cancelled)
        expire(app, expired)
        tell(app, paid, "paid", f"{paid}-one")
        refund(app, paid, TOTAL, transaction=f"{paid}-one")
        return [mail for number in (cancelled, expired, paid) for mail in run(app, conn, number)]

    def test_is_written_in_both_languages(self, app: App, conn: Connection) -> None:
        english, indonesian = self.everything(app, conn, Locale.EN), self.everything(app, conn, Locale.ID)
        assert ["Hello" in mail.text for mail in english] == [True] * 3
        for mail, words in zip(
            indonesian, ("dibatalkan", "kedaluwarsa", "mengembalikan dana sebesar Rp150.000"), strict=True
        ):
            assert (words in mail.text, words in mail.html, "Halo" in mail.text) == (True, True, True)

    def test_tells_no_log_who_it_is_about(self, app: App, conn: Connection) -> None:
        with recorded_log() as log:
            assert len(self.everything(app, conn, Locale.ID)) == 3
        assert CANARY not in log.text
        assert {line["kind"] for line in log.lines if line["message"] == "email.sent"} == {
            "order_cancelled",
            "order_expired",
            "refund:1",
        }

    def test_ends_with_who_sells_and_where_to_ask(self, app: App, conn: Connection) -> None:
        settings = make_settings(
            STAGE="prod",
            SELLER_NAME="PT Toko & Kulit",
            SELLER_ADDRESS="Jalan Melati 5\nBandung",
            SELLER_EMAIL="help@example.com",
            SELLER_PHONE="+62 22 555 0100",
            MAIL_REPLY_TO="help@example.com",
        )
        for mail in self.everything(replace(app, settings=settings), conn, Locale.EN):
            assert mail.text.endswith(
                "\nPT Toko & Kulit\nJalan Melati 5\nBandung\n\nQuestions? help@example.com · +62 22 555 0100\n"
            )
            for words in ("PT Toko &amp; Kulit", "Jalan Melati 5", "help@example.com · +62 22 555 0100"):
                assert words in mail.html
            assert mail.reply_to == "help@example.com"

    def test_names_nobody_where_the_seller_is_not_set(self, app: App, conn: Connection) -> None:
        nobody = replace(make_settings(), seller_name=None, seller_address=None)
        for mail in self.everything(replace(app, settings=nobody), conn, Locale.ID):
            for body in (mail.text, mail.html):
                assert "PT " not in body
                assert "None" not in body
