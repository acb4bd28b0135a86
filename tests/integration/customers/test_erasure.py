"""Erasing a customer: it waits for what is open, takes away what names them, and leaves the books."""

import threading

import psycopg
import pytest
from psycopg import Connection

from skincare.app import App
from skincare.customers import service
from skincare.database.connection import Database, StaticCredentials
from skincare.identifiers import OrderNumber, UserId, new_job_id
from skincare.jobs import catalog
from skincare.notifications.models import NotificationOutcome, NotificationType
from skincare.notifications.service import notify_customer
from skincare.orders import repository as orders
from skincare.orders.errors import CheckoutRefused
from tests.support import shop
from tests.support.customers import ask_erasure, erase, finish_jobs, run_customer_jobs
from tests.support.factories import UNLIMITED, fill_cart, make_order, make_place_order, make_product, pay
from tests.support.payments import make_attempt, tell
from worker.handlers import erase_customer, generate_invoice_pdf

ANI = "sub-ani"
ADDRESS = "ani@example.com"


def closed_order(conn: Connection, user_id: str = ANI, **changes: object) -> OrderNumber:
    """An order that was cancelled, of which nothing is open."""
    number = make_order(conn, user_id=user_id, email=ADDRESS, **changes).order.order_number  # type: ignore[arg-type]
    orders.cancel(conn, UserId(user_id), number)
    finish_jobs(conn, number)
    return number


def paid_order(app: App, conn: Connection, user_id: str = ANI) -> OrderNumber:
    """A paid order with its payment, event and invoice, whose jobs are over."""
    number = make_order(
        conn, user_id=user_id, email=ADDRESS, recipient_name="Ani", shipping_address="Jalan 1", note="ring"
    ).order.order_number
    tell(app, number, "paid", key=f"{number}-paid")
    generate_invoice_pdf.handle(catalog.GenerateInvoicePdf(order_number=number), app)
    finish_jobs(conn, number)
    return number


def owner_of(conn: Connection, number: str) -> str:
    row = conn.execute("SELECT user_id FROM orders WHERE order_number = %s", [number]).fetchone()
    assert row is not None
    return str(row[0])


def waits_for(conn: Connection) -> dict[str, int]:
    row = conn.execute("SELECT waits_for FROM customer_requests ORDER BY id DESC LIMIT 1").fetchone()
    assert row is not None
    return dict(row[0])


class TestWhatIsOpen:
    """One test for each kind of thing that is waited for, and for what ends it."""

    def test_an_unpaid_order(self, app: App, conn: Connection) -> None:
        number = make_order(conn, user_id=ANI).order.order_number
        finish_jobs(conn, number)
        assert erase(app, conn, ANI) == "waits"
        assert waits_for(conn) == {"unpaid_orders": 1}
        orders.cancel(conn, UserId(ANI), number)
        assert erase(app, conn, ANI) == "erased"

    def test_goods_that_may_be_on_their_way_unless_a_person_knows_better(self, app: App, conn: Connection) -> None:
        paid_order(app, conn)
        assert erase(app, conn, ANI, delivered=False) == "waits"
        assert waits_for(conn) == {"orders_on_their_way": 1}
        assert erase(app, conn, ANI, delivered=True) == "erased"

    def test_goods_of_a_month_ago_are_no_longer_on_their_way(self, app: App, conn: Connection) -> None:
        paid_order(app, conn)
        conn.execute("UPDATE orders SET paid_at = now() - interval '31 days'")
        assert erase(app, conn, ANI, delivered=False) == "erased"

    def test_a_page_on_which_a_closed_order_may_still_be_paid(self, app: App, conn: Connection) -> None:
        number = make_order(conn, user_id=ANI).order.order_number
        make_attempt(conn, number)
        orders.cancel(conn, UserId(ANI), number)
        finish_jobs(conn, number)
        assert erase(app, conn, ANI) == "waits"
        assert waits_for(conn) == {"open_payment_pages": 1}
        conn.execute("UPDATE payment_attempts SET closed_at = now()")
        assert erase(app, conn, ANI) == "erased"

    def test_a_job_that_is_not_finished_and_one_that_is_dead(self, app: App, conn: Connection) -> None:
        number = make_order(conn, user_id=ANI).order.order_number
        orders.cancel(conn, UserId(ANI), number)
        assert erase(app, conn, ANI) == "waits"
        assert waits_for(conn) == {"unfinished_jobs": 1}
        conn.execute(
            "UPDATE jobs SET state = 'dead_letter', last_failed_at = now()"
            " WHERE order_number = %s AND state = 'pending'",
            [number],
        )
        assert erase(app, conn, ANI) == "waits"
        assert waits_for(conn) == {"dead_jobs": 1}
        finish_jobs(conn, number)
        assert erase(app, conn, ANI) == "erased"

    @pytest.mark.parametrize("state", ["requested", "sent"])
    def test_a_refund(self, app: App, conn: Connection, state: str) -> None:
        paid_order(app, conn)
        conn.execute(
            "INSERT INTO refunds (key, order_id, gateway, transaction_id, amount_rupiah, reason, requested_by, state)"
            " SELECT 'k', order_id, gateway, transaction_id, 5, 'x', 'me', %s FROM payments",
            [state],
        )
        assert erase(app, conn, ANI) == "waits"
        assert waits_for(conn) == {"open_refunds": 1}
        conn.execute("UPDATE refunds SET state = 'booked', booked_at = now()")
        assert erase(app, conn, ANI) == "erased"

    def test_money_that_does_not_fit(self, app: App, conn: Connection) -> None:
        number = closed_order(conn)
        tell(app, number, "paid")
        finish_jobs(conn, number)
        assert erase(app, conn, ANI) == "waits"
        assert waits_for(conn) == {"open_anomalies": 1}
        conn.execute("UPDATE payment_anomalies SET resolved_at = now()")
        assert erase(app, conn, ANI) == "erased"

    def test_a_payment_event_that_is_not_applied_unless_it_was_set_aside(self, app: App, conn: Connection) -> None:
        number = closed_order(conn)
        tell(app, number, "paid", amount_rupiah=150_000)
        finish_jobs(conn, number)
        conn.execute("UPDATE payment_anomalies SET resolved_at = now()")
        conn.execute("UPDATE payment_events SET state = 'received', applied_at = NULL")
        assert erase(app, conn, ANI) == "waits"
        assert waits_for(conn) == {"open_payment_events": 1}
        conn.execute("INSERT INTO set_aside_events (event_id) SELECT id FROM payment_events")
        assert erase(app, conn, ANI) == "erased"

    def test_a_quarantined_event_until_somebody_has_looked(self, app: App, conn: Connection) -> None:
        number = closed_order(conn)
        tell(app, number, "paid")
        finish_jobs(conn, number)
        conn.execute("UPDATE payment_anomalies SET resolved_at = now()")
        conn.execute("UPDATE payment_events SET state = 'quarantined', flaw = 'x', applied_at = NULL")
        assert erase(app, conn, ANI) == "waits"
        assert waits_for(conn) == {"open_payment_events": 1}
        conn.execute("UPDATE payment_events SET reviewed_at = now()")
        assert erase(app, conn, ANI) == "erased"

    def test_an_invoice_that_is_not_made_for_it_names_who_is_billed(self, app: App, conn: Connection) -> None:
        number = make_order(conn, user_id=ANI).order.order_number
        pay(conn, number)
        finish_jobs(conn, number)
        assert erase(app, conn, ANI) == "waits"
        assert waits_for(conn) == {"documents_to_make": 1}
        generate_invoice_pdf.handle(catalog.GenerateInvoicePdf(order_number=number), app)
        assert erase(app, conn, ANI) == "erased"

    def test_an_export_that_was_asked_for(self, app: App, conn: Connection) -> None:
        closed_order(conn)
        conn.execute("INSERT INTO customer_requests (kind, user_id) VALUES ('export', %s)", [ANI])
        assert erase(app, conn, ANI) == "waits"
        assert waits_for(conn) == {"exports": 1}


class TestWaiting:
    def test_changes_nothing_and_leaves_one_job_for_later(self, app: App, conn: Connection) -> None:
        number = make_order(conn, user_id=ANI).order.order_number
        (request,) = ask_erasure(app, ANI)
        job = catalog.EraseCustomer(customer_request=request.id, look=1)
        for _ in range(3):
            # The same message again, as SQS may deliver it.
            erase_customer.handle(job, app)
        assert owner_of(conn, number) == ANI
        rows = conn.execute(
            "SELECT payload, run_at > now() + interval '50 minutes' FROM jobs"
            " WHERE job_type = 'erase_customer' ORDER BY id"
        ).fetchall()
        assert rows == [
            ({"customer_request": request.id, "look": 1}, None),
            ({"customer_request": request.id, "look": 2}, True),
        ]

    def test_ends_at_the_first_look_after_everything_is_over(self, app: App, conn: Connection) -> None:
        number = make_order(conn, user_id=ANI).order.order_number
        ask_erasure(app, ANI)
        for _ in range(3):
            assert run_customer_jobs(app, conn) == 1
        assert owner_of(conn, number) == ANI
        orders.cancel(conn, UserId(ANI), number)
        finish_jobs(conn, number)
        run_customer_jobs(app, conn)
        assert owner_of(conn, number) != ANI
        assert run_customer_jobs(app, conn) == 0

    def test_asked_again_is_the_same_request_and_looks_at_once(self, app: App, conn: Connection) -> None:
        make_order(conn, user_id=ANI)
        (first,) = ask_erasure(app, ANI)
        run_customer_jobs(app, conn)
        (again,) = ask_erasure(app, ANI, delivered=True)
        assert again.id == first.id
        assert conn.execute("SELECT count(*), bool_and(delivered) FROM customer_requests").fetchone() == (1, True)
        due = "SELECT count(*) FROM jobs WHERE job_type = 'erase_customer' AND publish_at <= now()"
        assert conn.execute(due).fetchone() == (1,)

    def test_is_begun_anew_where_somebody_cancelled_its_job(self, app: App, conn: Connection) -> None:
        closed_order(conn)
        ask_erasure(app, ANI)
        conn.execute(
            "UPDATE jobs SET state = 'cancelled', publish_at = NULL, finished_at = now()"
            " WHERE job_type = 'erase_customer'"
        )
        assert erase(app, conn, ANI) == "erased"


class TestErased:
    def test_twice_and_by_two_at_once_is_as_once(self, app: App, conn: Connection, database_url: str) -> None:
        numbers = [closed_order(conn) for _ in range(6)]
        (request,) = ask_erasure(app, ANI)
        databases = [Database(StaticCredentials(database_url)) for _ in range(4)]
        threads = [
            threading.Thread(target=service.erase, args=(request.id, 1), kwargs={"database": each})
            for each in databases
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        for database in databases:
            database.close()
        assert len({owner_of(conn, number) for number in numbers}) == 1
        before = conn.execute("SELECT to_jsonb(o) FROM orders o ORDER BY id").fetchall()
        erase_customer.handle(catalog.EraseCustomer(customer_request=request.id, look=1), app)
        assert conn.execute("SELECT to_jsonb(o) FROM orders o ORDER BY id").fetchall() == before

    def test_in_steps_goes_on_where_it_died(self, app: App, conn: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(service, "ORDERS_OF_A_STEP", 2)
        monkeypatch.setattr(service, "STEPS_OF_A_JOB", 1)
        numbers = [closed_order(conn) for _ in range(5)]
        ask_erasure(app, ANI)
        seen = []
        while run_customer_jobs(app, conn):
            seen.append([owner_of(conn, number) != ANI for number in numbers].count(True))
        assert seen == [2, 4, 5]
        assert len({owner_of(conn, number) for number in numbers}) == 1

    def test_leaves_other_customers_alone_that_share_the_address(self, app: App, conn: Connection) -> None:
        closed_order(conn)
        other = closed_order(conn, "sub-other")
        assert erase(app, conn, ANI) == "erased"
        assert conn.execute("SELECT user_id, email FROM orders WHERE order_number = %s", [other]).fetchone() == (
            "sub-other",
            ADDRESS,
        )

    def test_cannot_be_done_past_the_request(self, conn: Connection) -> None:
        number = closed_order(conn)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            conn.execute("UPDATE orders SET user_id = 'erased:x' WHERE order_number = %s", [number])
        conn.execute("SELECT * FROM erase_customer(1, 1, 10)")
        assert owner_of(conn, number) == ANI


class TestTheCustomerComesBack:
    @pytest.mark.parametrize("user_id", [ANI, "sub-new"])
    def test_and_orders_with_the_same_address(self, app: App, conn: Connection, user_id: str) -> None:
        first = closed_order(conn)
        assert erase(app, conn, ANI) == "erased"
        again = make_order(conn, user_id=user_id, email=ADDRESS).order.order_number
        assert owner_of(conn, again) == user_id
        listed = orders.list_before(conn, UserId(user_id), None, limit=10)
        assert [order.order_number for order in listed] == [again]
        orders.cancel(conn, UserId(user_id), again)
        finish_jobs(conn, again)
        assert erase(app, conn, user_id) == "erased"
        assert owner_of(conn, again) != owner_of(conn, first), "two lives are not one person's any more"

    def test_and_repeats_an_old_checkout_which_is_no_second_order(self, app: App, conn: Connection) -> None:
        fill_cart(conn, ANI, {make_product(conn).sku: 1})
        request = make_place_order(ANI)
        placed = orders.place(
            conn, request, order_number=OrderNumber("SKN-00000-00001"), job_id=new_job_id(), terms=UNLIMITED
        )
        orders.cancel(conn, UserId(ANI), placed.order.order_number)
        finish_jobs(conn, placed.order.order_number)
        assert erase(app, conn, ANI) == "erased"
        with pytest.raises(CheckoutRefused):
            orders.place(
                conn, request, order_number=OrderNumber("SKN-00000-00002"), job_id=new_job_id(), terms=UNLIMITED
            )
        assert conn.execute("SELECT count(*) FROM orders").fetchone() == (1,)

    def test_while_the_erasure_runs_and_then_it_waits_or_the_cart_is_gone(
        self, app: App, conn: Connection, database_url: str
    ) -> None:
        """A checkout that waits for the erasure finds no cart; nothing is ordered under a name that is forgotten."""
        closed_order(conn)
        fill_cart(conn, ANI, {make_product(conn).sku: 1})
        (request,) = ask_erasure(app, ANI)
        outcome: list[object] = []

        def check_out() -> None:
            with psycopg.connect(database_url, autocommit=True) as other:
                try:
                    outcome.append(
                        orders.place(
                            other,
                            make_place_order(ANI),
                            order_number=OrderNumber("SKN-00000-00003"),
                            job_id=new_job_id(),
                            terms=UNLIMITED,
                        )
                    )
                except CheckoutRefused as error:
                    outcome.append(error)

        with psycopg.connect(database_url) as eraser:
            eraser.execute("SELECT * FROM erase_customer(%s, 1, 10)", [request.id])
            thread = threading.Thread(target=check_out)
            thread.start()
            shop.wait_until(lambda: shop.somebody_waits_for_a_lock(conn))
            eraser.commit()
            thread.join(20)
        assert [type(each) for each in outcome] == [CheckoutRefused]
        assert conn.execute("SELECT count(*) FROM idempotency_keys").fetchone() == (0,)


class TestAnErasureDuringACheckout:
    def test_waits_for_the_checkout_and_then_for_its_order(self, app: App, conn: Connection, database_url: str) -> None:
        closed_order(conn)
        fill_cart(conn, ANI, {make_product(conn).sku: 1})
        (request,) = ask_erasure(app, ANI)
        outcome: list[object] = []
        with psycopg.connect(database_url) as customer:
            orders.place(
                customer,
                make_place_order(ANI),
                order_number=OrderNumber("SKN-00000-00004"),
                job_id=new_job_id(),
                terms=UNLIMITED,
            )
            thread = threading.Thread(
                target=lambda: outcome.append(service.erase(request.id, 1, database=app.database))
            )
            thread.start()
            shop.wait_until(lambda: shop.somebody_waits_for_a_lock(conn))
            customer.commit()
            thread.join(20)
        assert outcome == ["waits"]
        assert conn.execute("SELECT count(*) FROM orders WHERE user_id = %s", [ANI]).fetchone() == (2,)


class TestWhatHappensToAnErasedOrder:
    def test_no_mail_is_sent_any_more_and_its_job_ends(self, app: App, conn: Connection) -> None:
        number = paid_order(app, conn)
        assert erase(app, conn, ANI) == "erased"
        outcome = notify_customer(
            NotificationType.PAYMENT_RECEIVED,
            number,
            database=app.database,
            email=app.email,
            shop_url="https://shop.example.com",
        )
        assert outcome is NotificationOutcome.CUSTOMER_ERASED
        assert app.email.sent == []  # type: ignore[attr-defined]

    def test_an_address_that_gets_no_mail_is_still_known_but_not_by_itself(self, app: App, conn: Connection) -> None:
        closed_order(conn)
        # As a release before this one wrote it.
        conn.execute("INSERT INTO suppressed_recipients (email, reason) VALUES (%s, 'complaint')", [ADDRESS])
        assert erase(app, conn, ANI) == "erased"
        assert "ani" not in str(conn.execute("SELECT email FROM suppressed_recipients").fetchall())
        back = make_order(conn, email=ADDRESS).order.order_number
        outcome = notify_customer(
            NotificationType.ORDER_CONFIRMATION,
            back,
            database=app.database,
            email=app.email,
            shop_url="https://shop.example.com",
        )
        assert outcome is NotificationOutcome.UNDELIVERABLE
