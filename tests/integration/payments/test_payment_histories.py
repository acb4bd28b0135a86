"""Any history of an order's payments, told in any order, with work between any two webhooks.

However it comes: the books say the same, and the customer has one mail and one invoice where the order ends paid.
"""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from psycopg import Connection

from skincare.deployment.queues import QueueName
from skincare.identifiers import OrderNumber
from skincare.payments.errors import RefundNotPossible
from skincare.payments.refunds.models import RefundRequest
from tests.support.histories import EVENTS, Shop, books, open_shop
from tests.support.payments import ask_for_refund, new_order, order_status
from tests.support.randomness import examples


@pytest.fixture
def shop(database_url: str) -> Iterator[Shop]:
    with open_shop(database_url) as shop:
        yield shop


class TestAnyHistory:
    @settings(
        max_examples=examples(15),
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(reported=EVENTS, data=st.data())
    def test_ends_the_same_with_one_mail_and_one_invoice(
        self, shop: Shop, conn: Connection, reported: list[tuple[str, str, int, int]], data: st.DataObject
    ) -> None:
        ends = set()
        for _ in range(2):
            number = new_order(conn)
            for index in data.draw(st.permutations(range(len(reported)))):
                status, transaction, minute, amount = reported[index]
                refund = {"refund_id": f"{number}-{index % 3}"} if "refunded" in status else {}
                shop.tell(number, str(index), status, transaction, minute, amount_rupiah=amount, **refund)
                for name in data.draw(st.sets(st.sampled_from([QueueName.PAYMENTS, QueueName.NOTIFICATIONS]))):
                    shop.work(name)
            shop.work()
            state, payments, anomalies = books(conn, number)
            ends.add((state, tuple(payments), tuple(anomalies)))
            invoices = conn.execute(
                "SELECT count(*), count(object_key) FROM invoices i JOIN orders o ON o.id = i.order_id"
                " WHERE order_number = %s",
                [number],
            ).fetchone()
            assert invoices == ((0, 0) if state == "pending" else (1, 1))
            if state in {"paid", "partially_refunded"}:
                assert shop.mails(number) == 1
            assert shop.mails(number) <= (state != "pending")
        assert len(ends) == 1


class TestADoublyPaidOrder:
    def test_is_paid_until_both_payments_went_back(self, shop: Shop, conn: Connection) -> None:
        """Whoever asks for a refund of the order names no payment: the one that pays it goes back, the other pays."""
        number = new_order(conn)
        for key, transaction in enumerate("ab"):
            shop.tell(number, str(key), "paid", transaction, key)
        shop.work()
        for index, state in enumerate(["paid", "refunded"]):
            refund = ask_for_refund(
                shop.app, RefundRequest(number, "asked for it", "a person", key=f"{number}-{index}")
            )
            assert refund.transaction_id == f"{number}-{'ab'[index]}"
            shop.tell(number, f"r{index}", "refunded", "ab"[index], 5 + index, refund_id=refund.key)
            shop.work()
            assert (books(conn, number)[0], books(conn, number)[2]) == (state, [])
        states = conn.execute("SELECT state FROM refunds").fetchall()
        assert states == [("booked",), ("booked",)]
        with pytest.raises(RefundNotPossible):
            ask_for_refund(shop.app, RefundRequest(number, "once more", "a person"))


class TestAnOrderThatComesBackFromARefund:
    """The refund of the one payment is known, and its mail's job found that out, before the other payment is."""

    def bring_back(self, shop: Shop, conn: Connection, *, mail_first: bool) -> OrderNumber:
        number = new_order(conn)
        shop.tell(number, "1", "paid", "y", 1)
        shop.work(QueueName.PAYMENTS)
        if mail_first:
            shop.work(QueueName.NOTIFICATIONS)
        shop.tell(number, "2", "refunded", "y", 2)
        shop.work()
        assert order_status(conn, number) == "refunded"
        shop.tell(number, "3", "paid", "x", 0)
        shop.work()
        assert order_status(conn, number) == "paid"
        return number

    @pytest.mark.parametrize("mail_first", [True, False])
    def test_tells_the_customer_once(self, shop: Shop, conn: Connection, *, mail_first: bool) -> None:
        number = self.bring_back(shop, conn, mail_first=mail_first)
        assert shop.mails(number) == 1

    def test_rings_until_somebody_has_looked(self, shop: Shop, conn: Connection) -> None:
        number = self.bring_back(shop, conn, mail_first=True)
        shop.tell(number, "4", "failed", "z", 3)
        shop.work()
        found = "SELECT kind, task FROM payment_anomalies WHERE withdrawn_at IS NULL AND resolved_at IS NULL"
        assert conn.execute(found).fetchall() == [("paid_again", "review")]
        conn.execute("UPDATE payment_anomalies SET resolved_at = now()")
        shop.tell(number, "5", "failed", "w", 4)
        shop.work()
        assert conn.execute(found).fetchall() == []

    def test_rings_no_more_once_it_is_refunded_again(self, shop: Shop, conn: Connection) -> None:
        number = self.bring_back(shop, conn, mail_first=True)
        shop.tell(number, "4", "refunded", "x", 5)
        shop.work()
        found = "SELECT kind FROM payment_anomalies WHERE withdrawn_at IS NULL"
        assert (order_status(conn, number), conn.execute(found).fetchall()) == ("refunded", [])

    def test_waits_with_the_mail_for_a_job_that_may_have_seen_the_refund(self, shop: Shop, conn: Connection) -> None:
        number = new_order(conn)
        shop.tell(number, "1", "paid", "y", 1)
        shop.work(QueueName.PAYMENTS)
        shop.tell(number, "2", "refunded", "y", 2)
        shop.work(QueueName.PAYMENTS)
        conn.execute(
            "UPDATE jobs SET state = 'processing', lease_token = gen_random_uuid(), leased_at = now(),"
            " lease_until = now() + interval '2 minutes' WHERE job_type = 'send_payment_received_email'"
        )
        shop.tell(number, "3", "paid", "x", 0)
        shop.work(QueueName.PAYMENTS)
        waiting = conn.execute(
            "SELECT run_at > now() + interval '1 minute' FROM jobs"
            " WHERE job_type = 'send_payment_received_email' AND state = 'pending'"
        ).fetchall()
        assert waiting == [(True,)]
