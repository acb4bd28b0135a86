"""Any history of an order's payments, told in any order, with work between any two webhooks.

However it comes: the books say the same, and the customer has one mail and one invoice where the order ends paid.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from psycopg import Connection

from skincare.adapters.memory_queue import MemoryQueue
from skincare.app import App
from skincare.identifiers import OrderNumber
from skincare.jobs.ports import QueuePair
from skincare.jobs.publisher import Publisher
from skincare.jobs.queues import QueueName
from skincare.jobs.worker import Worker
from skincare.payments.errors import RefundNotPossible
from skincare.payments.refunds.models import RefundRequest
from tests.fakes.email import FakeEmailSender
from tests.http import open_app
from tests.payments import ask_for_refund, new_order, order_status, take_in
from tests.webhooks import NOW
from tests.worker_bench import LIMITS, plenty
from worker.registry import REGISTRY

TOTAL = 150_000


@dataclass(frozen=True)
class Shop:
    """An App whose jobs are published, taken and handled as in a deployment."""

    app: App

    def tell(self, number: OrderNumber, key: str, status: str, transaction: str, minute: int, **changes: Any) -> None:
        take_in(
            self.app,
            event_id=f"{number}-{key}",
            order_number=number,
            status=status,
            transaction_id=f"{number}-{transaction}",
            occurred_at=(NOW + timedelta(minutes=minute)).isoformat(),
            **changes,
        )

    def work(self, *names: QueueName) -> None:
        """Handle what is visible, and what that sets off."""
        for name in names or (QueueName.PAYMENTS, QueueName.NOTIFICATIONS, QueueName.DOCUMENTS):
            queue = self.app.queues[name]
            worker = Worker(self.app, registry=REGISTRY, database=self.app.database, queue=queue, limits=LIMITS)
            while batch := queue.source.receive(limit=10, wait=timedelta(0)):
                again = set(worker.answer(batch, time_left=plenty))
                queue.source.ack([message for message in batch if message.message_id not in again])

    def mails(self, number: OrderNumber) -> int:
        assert isinstance(self.app.email, FakeEmailSender)
        return sum(number in mail.subject and "Pembayaran" in mail.subject for mail in self.app.email.sent)


@pytest.fixture
def shop(database_url: str) -> Iterator[Shop]:
    with ExitStack() as stack:
        app = stack.enter_context(open_app(database_url, max_connections=4))
        queues = {name: QueuePair(MemoryQueue(), MemoryQueue()) for name in QueueName}
        yield Shop(replace(app, publisher=Publisher(app.database, queues), queues=queues))


def books(conn: Connection, number: OrderNumber) -> tuple[Any, ...]:
    """State, payments and open anomalies, without those that tell of the way there."""
    rows = conn.execute(
        "SELECT right(transaction_id, 1), p.status, p.amount_rupiah, refunded_rupiah, charged_back_rupiah, pays_order"
        " FROM payments p JOIN orders o ON o.id = p.order_id WHERE order_number = %s ORDER BY 1",
        [number],
    ).fetchall()
    open_anomalies = conn.execute(
        "SELECT right(e.event_key, -length(e.order_number)), kind, task, give_back_rupiah"
        " FROM payment_anomalies a JOIN payment_events e ON e.id = a.event_id"
        " WHERE e.order_number = %s AND withdrawn_at IS NULL AND kind <> 'paid_again' ORDER BY 1, 2",
        [number],
    ).fetchall()
    return order_status(conn, number), rows, open_anomalies


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["paid", "paid", "paid", "refunded", "partially_refunded", "chargeback", "failed", "voided"]),
        st.sampled_from("abc"),
        st.integers(0, 2),
        st.sampled_from([TOTAL, TOTAL, TOTAL - 50_000, 50_000]),
    ),
    min_size=1,
    max_size=7,
)


class TestAnyHistory:
    @settings(
        max_examples=25,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(told=EVENTS, data=st.data())
    def test_ends_the_same_with_one_mail_and_one_invoice(
        self, shop: Shop, conn: Connection, told: list[tuple[str, str, int, int]], data: st.DataObject
    ) -> None:
        ends = set()
        for _ in range(2):
            number = new_order(conn)
            for index in data.draw(st.permutations(range(len(told)))):
                status, transaction, minute, amount = told[index]
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
