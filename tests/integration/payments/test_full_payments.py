"""Payments applied many at once: the books say what they say when each is applied by itself."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from psycopg import Connection

from skincare.app import App
from skincare.deployment.queues import QueueName
from skincare.identifiers import OrderNumber
from skincare.jobs.registry import Registry
from skincare.payments.full_payments.service import apply_full_payments
from skincare.payments.models import EventId
from tests.support.histories import EVENTS, Shop, books, open_shop
from tests.support.log import recorded_log
from tests.support.payments import gateway_of, make_attempt, new_order, order_status, take_in
from tests.support.randomness import examples
from worker.registry import REGISTRY

ONE_BY_ONE: Registry[App] = Registry()
for _each in REGISTRY:
    ONE_BY_ONE.add(_each.payload_class, _each.handler)


@pytest.fixture
def shop(database_url: str) -> Iterator[Shop]:
    with open_shop(database_url) as shop:
        yield shop


def in_batches(work: Callable[[], None]) -> set[str]:
    """Return the orders whose events were applied in batches while this worked."""
    with recorded_log() as log:
        work()
    jobs = [job for line in log.lines if line["message"] == "jobs.completed" for job in line["jobs"]]
    return {job["order_number"] for job in jobs}


def what_came_of_it(conn: Connection, number: OrderNumber) -> tuple[Any, ...]:
    """Return the books of an order, its jobs, its number and its timer.

    Its refund mails and credit notes may hang on what came first (docs/payments.md#refunds); test_refund_histories
    holds them.
    """
    jobs = conn.execute(
        "SELECT job_type, state, count(*) FROM jobs WHERE order_number = %s"
        " AND job_type NOT IN ('generate_credit_note_pdf', 'send_refund_email') GROUP BY 1, 2 ORDER BY 1, 2",
        [number],
    ).fetchall()
    invoices = conn.execute(
        "SELECT count(*) FROM invoices i JOIN orders o ON o.id = i.order_id WHERE order_number = %s", [number]
    ).fetchone()
    events = conn.execute(
        "SELECT state, count(*) FROM payment_events WHERE order_number = %s GROUP BY 1 ORDER BY 1", [number]
    ).fetchall()
    paid_at = conn.execute("SELECT paid_at IS NOT NULL FROM orders WHERE order_number = %s", [number]).fetchone()
    return *books(conn, number), jobs, invoices, events, paid_at


class TestAnyHistories:
    @settings(
        max_examples=examples(12),
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(reported=st.lists(EVENTS, min_size=1, max_size=4), data=st.data())
    def test_of_several_orders_end_as_one_by_one(
        self, shop: Shop, conn: Connection, reported: list[list[tuple[str, str, int, int]]], data: st.DataObject
    ) -> None:
        """The batch handler sees any mix of orders and of events that pay, do not fit, or come twice."""
        told = [(order, index) for order, events in enumerate(reported) for index in range(len(events))]
        told = data.draw(st.permutations(told))
        pauses = {each for each in range(len(told)) if data.draw(st.booleans())}
        ends = []
        for each in (shop, replace(shop, registry=ONE_BY_ONE, threads=1)):
            numbers = [new_order(conn) for _ in reported]
            for turn, (order, index) in enumerate(told):
                status, transaction, minute, amount = reported[order][index]
                number = numbers[order]
                refund = {"refund_id": f"{number}-{index % 3}"} if "refunded" in status else {}
                each.tell(number, str(index), status, transaction, minute, amount_rupiah=amount, **refund)
                if turn in pauses:
                    each.work(QueueName.PAYMENTS)
            each.work()
            ends.append([what_came_of_it(conn, number) for number in numbers])
        assert ends[0] == ends[1]


EARLIER: dict[str, list[tuple[str, str, dict[str, str]]]] = {
    "a second payment": [("paid", "b", {})],
    "refunded before": [("refunded", "a", {"refund_id": "r"})],
    "another failed": [("failed", "b", {})],
    "announced": [("pending", "a", {})],
    "an unknown word": [("levitated", "a", {})],
}
"""What is told of an order before the payment."""

FULL_ALL_THE_SAME = {"a second payment", "another failed", "announced"}

CHANGES: dict[str, dict[str, Any]] = {
    "a wrong amount": {"amount_rupiah": 149_999},
    "a wrong currency": {"currency": "USD"},
    "not paid": {"status": "failed"},
    "of an unknown order": {"order_number": "SKN-22222-22222"},
}


def tell_the_odd_one(shop: Shop, conn: Connection, number: OrderNumber, odd: str) -> None:
    """Let a gateway say that an order is paid, with something odd about it."""
    event = {"event_id": f"{number}-1", "order_number": number, "status": "paid", "transaction_id": f"{number}-a"}
    match odd:
        case "unsigned":
            gateway_of(shop.app, "midtrans").pay(make_attempt(conn, number))
            take_in(shop.app, "midtrans", order_number=number)
            return
        case "its transaction is another's":
            shop.tell(new_order(conn), "1", "pending", "a", 0)
            shop.work(QueueName.PAYMENTS)
            [(event["transaction_id"],)] = conn.execute("SELECT transaction_id FROM payments").fetchall()
        case "cancelled":
            conn.execute("UPDATE orders SET status = 'cancelled' WHERE order_number = %s", [number])
    take_in(shop.app, **event | CHANGES.get(odd, {}))


class TestABatch:
    def test_applies_what_pays_in_full(self, shop: Shop, conn: Connection) -> None:
        numbers = [new_order(conn) for _ in range(5)]
        for number in numbers:
            shop.tell(number, "1", "paid", "a", 0)
        assert in_batches(lambda: shop.work(QueueName.PAYMENTS)) == set(numbers)
        taken = conn.execute("SELECT serial FROM invoices ORDER BY serial").fetchall()
        assert taken == [(serial,) for serial in range(1, 6)]
        shop.work()
        assert [shop.mails(number) for number in numbers] == [1] * 5

    def test_closes_what_is_still_open_of_an_order(self, shop: Shop, conn: Connection) -> None:
        numbers = [new_order(conn), new_order(conn)]
        make_attempt(conn, numbers[0])
        for number in numbers:
            shop.tell(number, "1", "paid", "a", 0)
        assert in_batches(lambda: shop.work(QueueName.PAYMENTS)) >= set(numbers)
        closing = conn.execute("SELECT order_number FROM jobs WHERE job_type = 'close_payments'").fetchall()
        assert closing == [(numbers[0],)]

    @pytest.mark.parametrize("odd", [*EARLIER, *CHANGES, "unsigned", "its transaction is another's", "cancelled"])
    def test_leaves_what_may_need_somebody(self, shop: Shop, conn: Connection, odd: str) -> None:
        number, plain = new_order(conn), [new_order(conn), new_order(conn)]
        for status, transaction, more in EARLIER.get(odd, []):
            shop.tell(number, "0", status, transaction, 0, **more)
        if odd != "a second payment":
            shop.work(QueueName.PAYMENTS)
        tell_the_odd_one(shop, conn, number, odd)
        for each in plain:
            shop.tell(each, "1", "paid", "a", 0)
        applied = in_batches(lambda: shop.work(QueueName.PAYMENTS))
        assert set(plain) <= applied
        assert (number in applied) == (odd in FULL_ALL_THE_SAME)
        assert [order_status(conn, each) for each in plain] == ["paid", "paid"]

    def test_and_another_with_the_same_events_neither_wait_for_each_other_nor_apply_one_twice(
        self, shop: Shop, conn: Connection, database_url: str
    ) -> None:
        for _ in range(3):
            numbers = [new_order(conn) for _ in range(8)]
            for number in numbers:
                shop.tell(number, "1", "paid", "a", 0)
            rows = conn.execute("SELECT id FROM payment_events WHERE state = 'received' ORDER BY id").fetchall()
            ids = [EventId(event_id) for (event_id,) in rows]

            def apply(event_ids: list[EventId]) -> int:
                with psycopg.connect(database_url, autocommit=True) as own, own.transaction():
                    return len(apply_full_payments(own, event_ids).payments)

            with ThreadPoolExecutor(2) as pool:
                applied = list(pool.map(apply, [ids, ids[::-1]]))
            assert sorted(applied) == [0, 8]
            shop.work()
        count = conn.execute("SELECT count(*), max(serial) FROM invoices").fetchone()
        assert count == (24, 24)
