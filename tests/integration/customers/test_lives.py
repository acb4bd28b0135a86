"""An erasure between any two jobs of an order breaks none of them, and what comes later finds an order as any other.

Two customers have the same history; one of them is to be erased, and the erasure looks wherever the test lets it.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from psycopg import Connection

from skincare.deployment.queues import QueueName
from skincare.identifiers import OrderNumber, UserId
from skincare.jobs.repository import outbox
from skincare.orders.service import cancel_order
from skincare.payments.refunds.models import RefundRequest
from tests.fakes.email import FakeEmailSender
from tests.support.customers import ask_erasure, run_customer_jobs
from tests.support.factories import make_order, make_user_id
from tests.support.histories import EVENTS, Shop, books, open_shop
from tests.support.payments import ask_for_refund

PAID = ("paid", "a", 1, 150_000)
REFUNDED = ("refunded", "a", 2, 150_000)
PART = ("partially_refunded", "a", 2, 50_000)
WORK = ("payments", "notifications", "documents")
LIVES: dict[str, tuple[Any, ...]] = {
    "paid": ("notifications", PAID, *WORK),
    "cancelled": ("notifications", "cancel", *WORK),
    "cancelled before its mail": ("cancel", *WORK),
    "paid twice": (PAID, "payments", ("paid", "b", 1, 150_000), *WORK, "resolve"),
    "paid and refunded": (PAID, *WORK, REFUNDED, "payments", "documents", "notifications"),
    "refunded in part": (PAID, *WORK, PART, *WORK),
    "paid after it was cancelled": ("cancel", *WORK, PAID, *WORK, "resolve"),
    "paid too little": (("paid", "a", 1, 100_000), *WORK, "resolve", "cancel", *WORK, "resolve"),
    "told in the wrong order": (REFUNDED, "payments", PAID, *WORK, "resolve"),
    "taken back by the bank": (PAID, *WORK, ("chargeback", "a", 3, 150_000), *WORK, "resolve"),
}


@pytest.fixture
def shop(database_url: str) -> Iterator[Shop]:
    with open_shop(database_url) as shop:
        yield shop


def place(conn: Connection) -> tuple[UserId, OrderNumber]:
    user_id = make_user_id()
    order = make_order(conn, user_id=user_id, email=f"{user_id}@example.com", recipient_name=f"Name {user_id}").order
    # Its end is not what these tests are about.
    conn.execute("SELECT cancel_timer('expire_order:' || %s)", [order.order_number])
    conn.execute(
        "UPDATE jobs SET publish_at = now() - interval '1 s' WHERE order_number = %s AND state = 'pending'",
        [order.order_number],
    )
    return user_id, order.order_number


def happen(shop: Shop, conn: Connection, user_id: UserId, number: OrderNumber, step: Any, key: str) -> None:
    match step:
        case "payments" | "notifications" | "documents":
            publish(shop, conn)
            shop.work(QueueName(step))
        case "cancel":
            cancel_order(user_id, number, database=shop.app.database, publisher=shop.app.publisher)
        case "resolve":
            conn.execute(
                "UPDATE payment_anomalies a SET resolved_at = now() FROM orders o"
                " WHERE o.id = a.order_id AND o.order_number = %s AND resolved_at IS NULL",
                [number],
            )
        case (status, transaction, minute, amount):
            refund = {"refund_id": f"{number}-{key}"} if "refunded" in status else {}
            shop.tell(number, key, status, transaction, minute, amount_rupiah=amount, **refund)
        case _:
            raise AssertionError(step)


def publish(shop: Shop, conn: Connection) -> None:
    """Publish what a test enqueued without doing so."""
    with shop.app.database.connection() as other:
        due = outbox.take_due(other, limit=100)
    shop.app.publisher.publish_now([job for job in due if job.job_type != "erase_customer"])


def look(shop: Shop, conn: Connection, user_id: UserId) -> bool:
    """Let the erasure look; return whether the customer is erased."""
    if conn.execute("SELECT 1 FROM orders WHERE user_id = %s", [user_id]).fetchone() is None:
        return True
    ask_erasure(shop.app, user_id, delivered=True)
    run_customer_jobs(shop.app, conn)
    return conn.execute("SELECT 1 FROM orders WHERE user_id = %s", [user_id]).fetchone() is None


def unfinished(conn: Connection, number: OrderNumber) -> list[tuple[str, str]]:
    return conn.execute(
        "SELECT job_type, state FROM jobs WHERE order_number = %s AND publish_at IS NOT NULL", [number]
    ).fetchall()


def documents(conn: Connection, number: OrderNumber) -> list[tuple[Any, ...]]:
    """Return invoice, credit notes and refunds of an order as amounts, and whether their files are made."""
    return conn.execute(
        "SELECT 'invoice', o.total_rupiah, v.made_at IS NOT NULL FROM invoices v JOIN orders o ON o.id = v.order_id"
        " WHERE o.order_number = %(n)s"
        " UNION ALL SELECT 'credit note', c.amount_rupiah, c.made_at IS NOT NULL"
        " FROM credit_notes c JOIN orders o ON o.id = c.order_id WHERE o.order_number = %(n)s"
        " UNION ALL SELECT 'refund', r.amount_rupiah, NULL"
        " FROM order_refunds r JOIN orders o ON o.id = r.order_id WHERE o.order_number = %(n)s ORDER BY 1, 2",
        {"n": number},
    ).fetchall()


def mails(shop: Shop, user_id: UserId) -> list[str]:
    assert isinstance(shop.app.email, FakeEmailSender)
    return [mail.subject.split("SKN-")[0] for mail in shop.app.email.sent if mail.to == f"{user_id}@example.com"]


def nobody_is_written_to_in_vain(shop: Shop) -> bool:
    assert isinstance(shop.app.email, FakeEmailSender)
    return all("erased" not in mail.to for mail in shop.app.email.sent)


class TestAtEveryPoint:
    @pytest.mark.parametrize("life", LIVES)
    def test_of_an_orders_life_an_erasure_that_looks_breaks_no_job(
        self, shop: Shop, conn: Connection, life: str
    ) -> None:
        twin, other = place(conn)
        user_id, number = place(conn)
        erased = False
        for index, step in enumerate(LIVES[life]):
            open_jobs = unfinished(conn, number)
            erased_before, erased = erased, look(shop, conn, user_id)
            assert erased_before or not (erased and open_jobs)
            happen(shop, conn, twin, other, step, str(index))
            happen(shop, conn, user_id, number, step, str(index))
        for _ in range(2):
            assert unfinished(conn, number) == unfinished(conn, other) == []
            assert books(conn, number) == books(conn, other)
            assert documents(conn, number) == documents(conn, other)
            assert look(shop, conn, user_id), conn.execute("SELECT waits_for FROM customer_requests").fetchall()
        assert erased or mails(shop, user_id) == mails(shop, twin)
        assert nobody_is_written_to_in_vain(shop)


class TestAnyHistory:
    @settings(
        max_examples=10,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(reported=EVENTS, data=st.data())
    def test_ends_as_that_of_a_customer_who_was_not_erased(
        self, shop: Shop, conn: Connection, reported: list[tuple[str, str, int, int]], data: st.DataObject
    ) -> None:
        steps: list[Any] = []
        for event in reported:
            steps += [event, *data.draw(st.lists(st.sampled_from([*WORK, "resolve", "look"]), max_size=4))]
        if data.draw(st.booleans()):
            steps = ["cancel", "notifications", *steps]
        steps += [*WORK, "resolve", "look", *WORK]
        twin, other = place(conn)
        user_id, number = place(conn)
        for index, step in enumerate(steps):
            if step == "look":
                look(shop, conn, user_id)
            else:
                happen(shop, conn, twin, other, step, str(index))
                happen(shop, conn, user_id, number, step, str(index))
        assert books(conn, number) == books(conn, other)
        assert documents(conn, number) == documents(conn, other)
        assert unfinished(conn, number) == unfinished(conn, other)
        assert nobody_is_written_to_in_vain(shop)


class TestMoneyThatGoesBackLater:
    def test_is_asked_for_booked_and_documented_for_an_erased_order(self, shop: Shop, conn: Connection) -> None:
        user_id, number = place(conn)
        for index, step in enumerate(("notifications", PAID, *WORK)):
            happen(shop, conn, user_id, number, step, str(index))
        assert look(shop, conn, user_id)
        sent = mails(shop, user_id)
        asked = ask_for_refund(shop.app, RefundRequest(number, "damaged", "me", key="later"))
        assert asked.amount_rupiah == 150_000
        conn.execute("UPDATE refunds SET state = 'sent', sent_at = now()")
        conn.execute("SELECT cancel_timer('send_refund:later')")
        shop.tell(number, "back", "refunded", "a", 5, amount_rupiah=150_000, refund_id="later")
        shop.work()
        assert unfinished(conn, number) == []
        assert documents(conn, number) == [
            ("credit note", 150_000, True),
            ("invoice", 150_000, True),
            ("refund", 150_000, None),
        ]
        assert mails(shop, user_id) == sent
        assert nobody_is_written_to_in_vain(shop)
