"""What refunds entail in any history of an order's payments: its goods, credit notes and mails.

The goods follow the state in which the order ends. Credit notes and mails are issued and stay: they say the most that
was ever true, so they agree with the end unless another payment took the order over or evidence was contradicted.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from psycopg import Connection

from skincare.deployment.queues import QueueName
from skincare.identifiers import OrderNumber
from skincare.locales import Locale
from skincare.money import rupiah
from skincare.orders.models import OrderStatus
from skincare.payments.findings.repository.looks import of_payments
from skincare.payments.refunds.models import RefundRequest
from skincare.payments.repository import applied_events
from skincare.payments.settlement import AnomalyKind, Settlement, settle
from tests.fakes.email import FakeEmailSender
from tests.support.histories import EVENTS, TOTAL, Shop, open_shop
from tests.support.payments import ask_for_refund, new_order
from tests.support.randomness import examples

CONTRADICTIONS = {AnomalyKind.OVER_REFUND, AnomalyKind.REFUND_DIFFERS, AnomalyKind.PAID_TWICE_DIFFERENTLY}
SHELF = 10


@pytest.fixture
def shop(database_url: str) -> Iterator[Shop]:
    with open_shop(database_url) as shop:
        yield shop


@dataclass(frozen=True)
class Outcome:
    """What became of an order whose jobs are all done; money is in rupiah."""

    status: str
    on_shelf: int
    credited: int
    reported: tuple[tuple[int, str | None], ...]
    """Amount and credit note of each refund that the customer was told of."""
    questioned: bool
    """The reconciliation asks the accountant about its credit notes."""

    @property
    def returned(self) -> int:
        return sum(amount for amount, _ in self.reported)


def outcome(conn: Connection, number: OrderNumber) -> Outcome:
    row = conn.execute(
        "SELECT o.status, p.stock, (SELECT coalesce(sum(amount_rupiah), 0) FROM credit_notes WHERE order_id = o.id)"
        " FROM orders o JOIN order_items i ON i.order_id = o.id JOIN products p ON p.id = i.product_id"
        " WHERE o.order_number = %s",
        [number],
    ).fetchone()
    assert row is not None
    reported = conn.execute(
        "SELECT r.amount_rupiah, r.credit_note FROM order_refunds r JOIN orders o ON o.id = r.order_id"
        " WHERE o.order_number = %s ORDER BY refund_no",
        [number],
    ).fetchall()
    kinds = {each.kind for each in of_payments(conn, None, limit=10_000).findings if each.order_number == number}
    return Outcome(row[0], row[1], int(row[2]), tuple(reported), "credited_though_paid" in kinds)


def refund_mails(shop: Shop, number: OrderNumber) -> list[str]:
    """Return the subjects of the mails about refunds of an order, sorted."""
    assert isinstance(shop.app.email, FakeEmailSender)
    subjects = (mail.subject for mail in shop.app.email.sent)
    return sorted(each for each in subjects if number in each and each.startswith("Pengembalian dana"))


def stages(conn: Connection, number: OrderNumber) -> list[Settlement]:
    """Return what the order's events added up to after each of them, in the order in which their jobs began."""
    rows = conn.execute("SELECT id, applied_at FROM payment_events WHERE order_number = %s", [number])
    at = {row[0]: row[1] for row in rows}
    events = sorted(applied_events(conn, number), key=lambda each: at[each.event_id])
    return [settle(OrderStatus.PENDING, TOTAL, events[: index + 1]) for index in range(len(events))]


def returned(settlement: Settlement) -> int:
    return sum(payment.refunded_rupiah for payment in settlement.payments)


def returned_of_payer(settlement: Settlement) -> int:
    return sum(payment.refunded_rupiah for payment in settlement.payments if payment.pays_order)


def deliver(
    shop: Shop, number: OrderNumber, reported: Sequence[tuple[str, str, int, int]], data: st.DataObject
) -> None:
    for index in data.draw(st.permutations(range(len(reported)))):
        status, transaction, minute, amount = reported[index]
        refund = {"refund_id": f"{number}-{index % 3}"} if "refunded" in status else {}
        shop.tell(number, str(index), status, transaction, minute, amount_rupiah=amount, **refund)
        for name in data.draw(st.sets(st.sampled_from([QueueName.PAYMENTS, QueueName.NOTIFICATIONS]))):
            shop.work(name)
    shop.work()


class TestAnyHistory:
    @settings(
        max_examples=examples(15),
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(reported=EVENTS, data=st.data())
    def test_leaves_goods_credit_notes_and_mails_that_agree_with_its_end(
        self, shop: Shop, conn: Connection, reported: list[tuple[str, str, int, int]], data: st.DataObject
    ) -> None:
        for threads in (1, shop.threads):
            number = new_order(conn)
            deliver(replace(shop, threads=threads), number, reported, data)
            history, found = stages(conn, number), outcome(conn, number)
            end = history[-1]
            # The goods hang on the end alone, whatever came in between.
            assert found.status == end.order_status
            assert found.on_shelf == SHELF - (found.status != "refunded")
            # The most that was ever true. Of jobs that are handled at once nobody knows the order.
            if threads == 1:
                assert found.credited == max(map(returned_of_payer, history))
                assert found.returned == max(map(returned, history))
            assert returned(end) <= found.returned
            assert returned_of_payer(end) <= found.credited <= TOTAL
            assert found.questioned == (found.credited > returned_of_payer(end))
            if not CONTRADICTIONS & {anomaly.kind for anomaly in end.anomalies}:
                assert found.returned == returned(end)
                if sum(payment.amount_rupiah == TOTAL for payment in end.payments) == 1:
                    assert found.credited == returned_of_payer(end)
            # Each refund has its mail, and each credit note is told at most once.
            assert refund_mails(shop, number) == sorted(
                f"Pengembalian dana {rupiah(amount, Locale.ID)} untuk pesanan {number}" for amount, _ in found.reported
            )
            notes = [note for _, note in found.reported if note]
            assert len(notes) == len(set(notes))


class TestMoneyThatIsTakenWithoutARefund:
    def test_by_a_bank_entails_nothing(self, shop: Shop, conn: Connection) -> None:
        number = new_order(conn)
        shop.tell(number, "1", "paid", "a", 0)
        shop.tell(number, "2", "chargeback", "a", 1)
        shop.work()
        assert outcome(conn, number) == Outcome("paid", SHELF - 1, 0, (), questioned=False)
        assert refund_mails(shop, number) == []

    @pytest.mark.parametrize("order", [("voided", "chargeback"), ("chargeback", "voided")])
    def test_by_a_void_is_a_refund_also_where_a_bank_took_it(
        self, shop: Shop, conn: Connection, order: tuple[str, str]
    ) -> None:
        number = new_order(conn)
        shop.tell(number, "0", "paid", "a", 0)
        for minute, status in enumerate(order, start=1):
            shop.tell(number, str(minute), status, "a", minute)
            shop.work()
        found = outcome(conn, number)
        assert (found.status, found.on_shelf, found.credited, found.returned) == ("refunded", SHELF, TOTAL, TOTAL)
        assert len(refund_mails(shop, number)) == 1


class TestAnotherPaymentThatTakesTheOrderOver:
    """A part of the first payment went back, and a second one comes in full: that one pays the order."""

    def give_part_back(self, shop: Shop, number: OrderNumber, transaction: str, minute: int) -> None:
        refund = {"amount_rupiah": 50_000, "refund_id": f"{number}-{transaction}"}
        shop.tell(number, f"r{transaction}", "partially_refunded", transaction, minute, **refund)
        shop.work()

    def test_is_asked_about_until_its_own_refunds_are_as_high(self, shop: Shop, conn: Connection) -> None:
        number = new_order(conn)
        shop.tell(number, "1", "paid", "a", 0)
        self.give_part_back(shop, number, "a", 1)
        shop.tell(number, "2", "paid", "b", 2)
        shop.work()
        found = outcome(conn, number)
        assert (found.status, found.credited, found.questioned) == ("paid", 50_000, True)
        self.give_part_back(shop, number, "b", 3)
        found = outcome(conn, number)
        [note] = [note for _, note in found.reported if note]
        assert (found.status, found.credited, found.questioned) == ("partially_refunded", 50_000, False)
        assert found.reported == ((50_000, note), (50_000, None))

    def test_known_before_leaves_the_invoice_whole_until_its_own_refund(self, shop: Shop, conn: Connection) -> None:
        number = new_order(conn)
        for minute, transaction in enumerate("ab"):
            shop.tell(number, transaction, "paid", transaction, minute)
        shop.work()
        self.give_part_back(shop, number, "a", 2)
        assert (outcome(conn, number).status, outcome(conn, number).credited) == ("paid", 0)
        self.give_part_back(shop, number, "b", 3)
        assert (outcome(conn, number).status, outcome(conn, number).credited) == ("partially_refunded", 50_000)

    def test_by_a_chargeback_has_its_credit_note_and_no_second_mail(self, shop: Shop, conn: Connection) -> None:
        number = new_order(conn)
        for minute, transaction in enumerate("ab"):
            shop.tell(number, transaction, "paid", transaction, minute)
        shop.work()
        self.give_part_back(shop, number, "b", 2)
        shop.tell(number, "c", "chargeback", "a", 3)
        shop.work()
        found = outcome(conn, number)
        assert (found.status, found.credited, found.reported) == ("partially_refunded", 50_000, ((50_000, None),))
        assert len(refund_mails(shop, number)) == 1
        assert conn.execute("SELECT object_key IS NOT NULL FROM credit_notes").fetchall() == [(True,)]


class TestAnOrderThatComesBackFromARefund:
    def test_has_its_goods_and_mails_and_one_credit_note(self, shop: Shop, conn: Connection) -> None:
        number = new_order(conn)
        steps = [
            ("paid", "a", 5, ("paid", SHELF - 1, 0, 0)),
            ("refunded", "a", 6, ("refunded", SHELF, TOTAL, TOTAL)),
            ("paid", "b", 0, ("paid", SHELF - 1, TOTAL, TOTAL)),
            ("refunded", "b", 7, ("refunded", SHELF, TOTAL, 2 * TOTAL)),
        ]
        for index, (status, transaction, minute, expected) in enumerate(steps):
            shop.tell(number, str(index), status, transaction, minute)
            shop.work()
            found = outcome(conn, number)
            assert (found.status, found.on_shelf, found.credited, found.returned) == expected
            assert found.questioned == (index == 2)
        assert (shop.mails(number), len(refund_mails(shop, number))) == (1, 2)


class TestGoodsThatAreGone:
    """What somebody says about the goods holds for the order, whichever of its payments it was said with."""

    def refund(self, shop: Shop, number: OrderNumber, transaction: str, key: str, **changes: Any) -> None:
        ask_for_refund(shop.app, RefundRequest(number, "damaged", "service desk", key=f"{number}-{key}", **changes))
        shop.tell(number, key, "refunded", transaction, 9, refund_id=f"{number}-{key}")
        shop.work()

    def test_stay_off_the_shelf_though_an_earlier_payment_was_given_back_before(
        self, shop: Shop, conn: Connection
    ) -> None:
        number = new_order(conn)
        for minute, transaction in enumerate("ab"):
            shop.tell(number, transaction, "paid", transaction, minute)
        shop.work()
        self.refund(shop, number, "a", "double")
        assert outcome(conn, number).status == "paid"
        self.refund(shop, number, "b", "gone", keep_stock=True)
        found = outcome(conn, number)
        assert (found.status, found.on_shelf) == ("refunded", SHELF - 1)

    def test_stay_off_the_shelf_though_the_gateway_gave_back_another_amount(self, shop: Shop, conn: Connection) -> None:
        number = new_order(conn)
        shop.tell(number, "1", "paid", "a", 0)
        shop.work()
        self.refund(shop, number, "a", "gone", keep_stock=True, amount_rupiah=TOTAL - 50_000)
        found = outcome(conn, number)
        assert (found.status, found.on_shelf) == ("refunded", SHELF - 1)

    def test_by_a_refund_that_the_gateway_refused_are_not(self, shop: Shop, conn: Connection) -> None:
        number = new_order(conn)
        shop.tell(number, "1", "paid", "a", 0)
        shop.work()
        refused = RefundRequest(number, "damaged", "service desk", keep_stock=True)
        ask_for_refund(shop.app, refused)
        conn.execute("UPDATE refunds SET state = 'refused', refusal = 'too late' WHERE key = %s", [refused.key])
        self.refund(shop, number, "a", "whole")
        found = outcome(conn, number)
        assert (found.status, found.on_shelf) == ("refunded", SHELF)
