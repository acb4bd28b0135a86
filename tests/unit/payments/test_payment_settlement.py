"""What the events of one order add up to."""

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skincare.identifiers import uuid7
from skincare.orders.models import OrderStatus
from skincare.payments.models import EventId, EventStatus
from skincare.payments.settlement import AnomalyKind, PaymentEvent, Settlement, Task, settle

START = datetime(2026, 1, 15, 3, 0, tzinfo=UTC)
TOTAL = 150_000

_numbers = itertools.count(1)


def event(status: str, transaction: str = "one", *, minute: int = 0, **changes: Any) -> PaymentEvent:
    """An event of a transaction; each has its own key unless it is given one."""
    refund = status in {"refunded", "partially_refunded"}
    values: dict[str, Any] = {
        "event_id": EventId(uuid7()),
        "gateway": "standard_webhooks",
        "event_key": f"event-{next(_numbers):05}",
        "order_number": "SKN-4T9QX-0M7KD",
        "transaction_id": transaction,
        "status": EventStatus(status),
        "amount_rupiah": TOTAL,
        "currency": "IDR",
        "occurred_at": START + timedelta(minutes=minute),
        "refund_key": f"refund-{next(_numbers)}" if refund else None,
    }
    return PaymentEvent(**values | changes)


def kinds(settlement: Settlement) -> list[str]:
    return sorted(anomaly.kind for anomaly in settlement.anomalies)


def pending(*events: PaymentEvent) -> Settlement:
    return settle(OrderStatus.PENDING, TOTAL, events)


class TestAnOrder:
    def test_is_paid_by_its_total(self) -> None:
        settlement = pending(event("paid"))
        assert (settlement.order_status, settlement.kept_rupiah, settlement.anomalies) == ("paid", TOTAL, ())

    @pytest.mark.parametrize("status", ["pending", "failed", "expired", "chargeback"])
    def test_waits_on_while_no_money_came(self, status: str) -> None:
        assert pending(event(status)).order_status is OrderStatus.PENDING

    @pytest.mark.parametrize("order", list(itertools.permutations(["paid", "pending", "expired"])))
    def test_stays_paid_whatever_is_told_late(self, order: tuple[str, ...]) -> None:
        settlement = pending(*(event(status) for status in order))
        assert (settlement.order_status, settlement.payments[0].status) == (OrderStatus.PAID, EventStatus.PAID)

    def test_stays_paid_when_another_attempt_fails_late(self) -> None:
        settlement = pending(event("paid", "two", minute=1), event("failed", "one", minute=2))
        assert (settlement.order_status, settlement.anomalies) == (OrderStatus.PAID, ())

    @pytest.mark.parametrize("amount", [TOTAL - 1, TOTAL + 1, 0, -TOTAL])
    def test_is_not_paid_by_another_amount(self, amount: int) -> None:
        settlement = pending(event("paid", amount_rupiah=amount))
        assert (settlement.order_status, kinds(settlement)) == (OrderStatus.PENDING, [AnomalyKind.WRONG_AMOUNT])
        assert settlement.give_back_rupiah == max(0, amount)
        assert settlement.anomalies[0].task is (Task.REFUND if amount > 0 else Task.REVIEW)

    def test_is_not_paid_in_another_currency(self) -> None:
        settlement = pending(event("paid", currency="USD"))
        assert (settlement.order_status, kinds(settlement)) == (OrderStatus.PENDING, [AnomalyKind.WRONG_CURRENCY])
        assert settlement.payments == ()

    @pytest.mark.parametrize("status", [OrderStatus.CANCELLED, OrderStatus.EXPIRED])
    def test_that_is_closed_gives_money_back(self, status: OrderStatus) -> None:
        settlement = settle(status, TOTAL, [event("paid")])
        assert (settlement.order_status, kinds(settlement)) == (status, [AnomalyKind.ORDER_CLOSED])
        assert (settlement.kept_rupiah, settlement.give_back_rupiah) == (0, TOTAL)

    def test_that_is_closed_is_even_once_the_money_went_back(self) -> None:
        settlement = settle(OrderStatus.CANCELLED, TOTAL, [event("paid"), event("refunded", minute=1)])
        assert (settlement.order_status, settlement.anomalies) == (OrderStatus.CANCELLED, ())

    def test_keeps_the_earlier_of_two_payments(self) -> None:
        settlement = pending(event("paid", "late", minute=2), event("paid", "early", minute=1))
        assert [each.transaction[1] for each in settlement.payments if each.pays_order] == ["early"]
        assert (kinds(settlement), settlement.give_back_rupiah) == ([AnomalyKind.ALREADY_PAID], TOTAL)

    def test_stays_paid_when_the_double_payment_goes_back(self) -> None:
        double = [event("paid", "early"), event("paid", "late", minute=1), event("refunded", "late", minute=2)]
        settlement = pending(*double)
        assert (settlement.order_status, settlement.anomalies) == (OrderStatus.PAID, ())

    def test_is_not_paid_by_a_transaction_of_another_one(self) -> None:
        paid = event("paid")
        settlement = settle(OrderStatus.PENDING, TOTAL, [paid], foreign={paid.transaction})
        assert (settlement.order_status, settlement.payments) == (OrderStatus.PENDING, ())
        assert kinds(settlement) == [AnomalyKind.FOREIGN_TRANSACTION]


class TestARefund:
    def test_of_everything_refunds_the_order(self) -> None:
        settlement = pending(event("paid"), event("refunded", minute=1))
        assert (settlement.order_status, settlement.kept_rupiah) == (OrderStatus.REFUNDED, 0)

    def test_that_comes_twice_is_booked_once(self) -> None:
        settlement = pending(
            event("paid"), *(event("partially_refunded", amount_rupiah=50_000, refund_key="one") for _ in range(2))
        )
        assert settlement.payments[0].refunded_rupiah == 50_000
        assert settlement.order_status is OrderStatus.PARTIALLY_REFUNDED

    def test_of_more_than_is_left_is_refused(self) -> None:
        refunds = [
            event("partially_refunded", minute=minute, amount_rupiah=amount)
            for minute, amount in enumerate((30_000, 30_000, 100_000), start=1)
        ]
        settlement = pending(event("paid"), *refunds)
        assert (settlement.payments[0].refunded_rupiah, kinds(settlement)) == (60_000, [AnomalyKind.OVER_REFUND])

    @pytest.mark.parametrize("amount", [0, -1])
    def test_of_nothing_is_refused(self, amount: int) -> None:
        settlement = pending(event("paid"), event("partially_refunded", amount_rupiah=amount))
        assert (settlement.payments[0].refunded_rupiah, kinds(settlement)) == (0, [AnomalyKind.OVER_REFUND])

    def test_without_a_payment_is_for_a_person(self) -> None:
        settlement = settle(OrderStatus.CANCELLED, TOTAL, [event("expired"), event("refunded")])
        assert settlement.order_status is OrderStatus.CANCELLED
        assert kinds(settlement) == [AnomalyKind.REFUND_WITHOUT_PAYMENT]


class TestATransaction:
    @pytest.mark.parametrize("minute", [-1, 1])
    def test_that_is_paid_and_said_to_have_failed_is_for_a_person_whichever_was_first(self, minute: int) -> None:
        settlement = pending(event("paid"), event("failed", minute=minute))
        assert (settlement.order_status, kinds(settlement)) == (OrderStatus.PAID, [AnomalyKind.FAILED_THOUGH_PAID])

    def test_that_is_charged_back_is_for_a_person(self) -> None:
        settlement = pending(event("paid"), event("chargeback", minute=1))
        assert (settlement.order_status, kinds(settlement)) == (OrderStatus.PAID, [AnomalyKind.CHARGEBACK])
        assert settlement.payments[0].status is EventStatus.CHARGEBACK

    def test_that_is_paid_twice_with_other_amounts_is_for_a_person(self) -> None:
        settlement = pending(event("paid"), event("paid", minute=1, amount_rupiah=1))
        assert kinds(settlement) == [AnomalyKind.PAID_TWICE_DIFFERENTLY]
        assert settlement.kept_rupiah == TOTAL

    @pytest.mark.parametrize("closed", [False, True])
    def test_that_is_told_with_another_amount_of_before_keeps_its_total(self, *, closed: bool) -> None:
        """Otherwise an order would stay paid with nothing that pays it, and its money would be nobody's."""
        start = OrderStatus.CANCELLED if closed else OrderStatus.PENDING
        late, early = event("paid", minute=1), event("paid", minute=0, amount_rupiah=1)
        settlement = settle(settle(start, TOTAL, [late]).order_status, TOTAL, [late, early])
        assert settlement == settle(start, TOTAL, [late, early])
        assert settlement.kept_rupiah + settlement.give_back_rupiah == TOTAL
        assert kinds(settlement) == sorted([AnomalyKind.PAID_TWICE_DIFFERENTLY] + [AnomalyKind.ORDER_CLOSED] * closed)


@st.composite
def histories(draw: st.DrawFn) -> list[PaymentEvent]:
    events = [
        event(
            draw(st.sampled_from([*EventStatus, *[EventStatus.PAID] * 4])),
            draw(st.sampled_from(["one", "two", "three"])),
            minute=draw(st.integers(0, 3)),
            amount_rupiah=draw(st.sampled_from([TOTAL, TOTAL, 50_000, 100_000, 0, -1])),
            currency=draw(st.sampled_from(["IDR", "IDR", "IDR", "USD"])),
        )
        for _ in range(draw(st.integers(1, 8)))
    ]
    return [*events, *draw(st.lists(st.sampled_from(events), max_size=3))]


class TestAnyHistory:
    @given(history=histories(), data=st.data(), closed=st.booleans())
    def test_ends_the_same_in_any_order_and_after_every_step(
        self, history: list[PaymentEvent], data: st.DataObject, *, closed: bool
    ) -> None:
        start = OrderStatus.CANCELLED if closed else OrderStatus.PENDING
        expected = settle(start, TOTAL, dict.fromkeys(history))
        status, seen = start, dict[PaymentEvent, None]()
        settlement = expected
        for each in data.draw(st.permutations(history)):
            seen[each] = None
            settlement = settle(status, TOTAL, seen)
            status = settlement.order_status
        assert settlement.order_status is expected.order_status
        paid = status not in {OrderStatus.PENDING, OrderStatus.CANCELLED}
        assert any(payment.pays_order for payment in settlement.payments) is paid
        assert set(settlement.payments) == set(expected.payments)
        assert set(settlement.anomalies) == set(expected.anomalies)

    @given(history=histories(), closed=st.booleans())
    def test_loses_and_invents_no_money(self, history: list[PaymentEvent], *, closed: bool) -> None:
        start = OrderStatus.EXPIRED if closed else OrderStatus.PENDING
        settlement = settle(start, TOTAL, dict.fromkeys(history))
        came = sum(payment.amount_rupiah for payment in settlement.payments)
        went = sum(payment.refunded_rupiah + payment.charged_back_rupiah for payment in settlement.payments)
        assert came - went == settlement.kept_rupiah + settlement.give_back_rupiah
        assert sum(payment.pays_order for payment in settlement.payments) <= 1
        assert all(0 <= payment.refunded_rupiah <= payment.amount_rupiah for payment in settlement.payments)
        if closed:
            assert (settlement.order_status, settlement.kept_rupiah) == (start, 0)
