"""docs/payments.md as rules: whatever is told of up to three payments, in whatever order, these hold.

The model beside them is written from the page and knows nothing of the code.
"""

import itertools
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skincare.identifiers import uuid7
from skincare.orders.models import OrderStatus
from skincare.payments.models import EventId, EventStatus
from skincare.payments.settlement import AnomalyKind, AskedRefund, PaymentEvent, Settlement, settle
from tests.support.randomness import examples

TOTAL = 150_000
START = datetime(2026, 1, 15, 3, 0, tzinfo=UTC)
CLOSED = (OrderStatus.CANCELLED, OrderStatus.EXPIRED)

_numbers = itertools.count(1)


def event(status: EventStatus, transaction: str, minute: int | None, **changes: Any) -> PaymentEvent:
    values: dict[str, Any] = {
        "event_id": EventId(uuid7()),
        "gateway": "doku",
        "event_key": f"{next(_numbers)}",
        "order_number": "SKN-4T9QX-0M7KD",
        "transaction_id": transaction,
        "status": status,
        "amount_rupiah": TOTAL,
        "currency": "IDR",
        "occurred_at": None if minute is None else START + timedelta(minutes=minute),
    }
    return PaymentEvent(**values | changes)


# Few moments, so that many events happen at the same one, or at none that is told.
MOMENTS = st.one_of(st.none(), st.integers(0, 2))
AMOUNTS = st.sampled_from([TOTAL, TOTAL, TOTAL, TOTAL - 1, 1_000, 0, -1])
PARTS = st.sampled_from([TOTAL, TOTAL - 50_000, 50_000, 1_000, 0, TOTAL + 1])


@st.composite
def transactions(draw: st.DrawFn, name: str) -> list[PaymentEvent]:
    """Any of: paid with any amounts, refunds with keys, twice or differently, a chargeback, failures, a void."""
    reported = [
        event(EventStatus.PAID, name, draw(MOMENTS), amount_rupiah=draw(AMOUNTS))
        for _ in range(draw(st.sampled_from([0, 1, 1, 1, 1, 2])))
    ]
    for _ in range(draw(st.sampled_from([0, 0, 1, 2, 3]))):
        status = draw(st.sampled_from([EventStatus.REFUNDED, EventStatus.PARTIALLY_REFUNDED]))
        key = draw(st.sampled_from(["r1", "r2", "r3"]))
        reported.append(event(status, name, draw(MOMENTS), amount_rupiah=draw(PARTS), refund_key=f"{name}-{key}"))
    rest = (EventStatus.CHARGEBACK, EventStatus.FAILED, EventStatus.VOIDED, EventStatus.PENDING, EventStatus.EXPIRED)
    reported += [event(status, name, draw(MOMENTS)) for status in draw(st.lists(st.sampled_from(rest), max_size=2))]
    return reported


@st.composite
def histories(draw: st.DrawFn) -> list[PaymentEvent]:
    names = ["a", "b", "c"][: draw(st.integers(1, 3))]
    reported = [each for name in names for each in draw(transactions(name))]
    return draw(st.permutations(reported))


@st.composite
def requests(draw: st.DrawFn) -> dict[str, AskedRefund]:
    """What we asked the gateway to give back."""
    keys = draw(st.lists(st.sampled_from(["a-r1", "a-r2", "b-r1", "c-r3"]), unique=True, max_size=3))
    return {key: AskedRefund(("doku", key[0]), draw(st.sampled_from([TOTAL, 50_000, 1_000]))) for key in keys}


STATES = st.sampled_from([OrderStatus.PENDING, OrderStatus.PENDING, *CLOSED])


def what_people_see(settlement: Settlement) -> tuple[Any, ...]:
    """Everything that is written down, without the order in which it was found."""
    return (
        settlement.order_status,
        frozenset(settlement.payments),
        frozenset(settlement.anomalies),
        settlement.kept_rupiah,
        settlement.give_back_rupiah,
    )


def in_money(settlement: Settlement) -> tuple[Any, ...]:
    """What people are told, without which of several equal events or transactions it hangs on."""
    return (
        settlement.order_status,
        settlement.kept_rupiah,
        sorted(
            (each.status, each.amount_rupiah, each.refunded_rupiah, each.left_rupiah) for each in settlement.payments
        ),
        sorted((each.kind, each.task, each.give_back_rupiah) for each in settlement.anomalies),
    )


class TestAnySetOfEvents:
    @settings(max_examples=examples(300))
    @given(history=histories(), asked=requests(), status=STATES, data=st.data())
    def test_adds_up_to_the_same_in_any_order_and_after_any_steps(
        self, history: list[PaymentEvent], asked: dict[str, AskedRefund], status: OrderStatus, data: st.DataObject
    ) -> None:
        expected = settle(status, TOTAL, history, asked=asked)
        reported = data.draw(st.permutations(history))
        # Events may be applied one by one or several while another waits: after any prefix the order has a state.
        now = status
        for end in sorted({*data.draw(st.lists(st.integers(1, max(1, len(reported))))), len(reported)}):
            now = settle(now, TOTAL, reported[:end], asked=asked).order_status
        ended = settle(now, TOTAL, reported, asked=asked)
        assert what_people_see(ended) == what_people_see(expected)

    @settings(max_examples=examples(200))
    @given(history=histories(), asked=requests(), status=STATES, data=st.data())
    def test_means_the_same_whatever_its_events_and_gateways_are_called(
        self, history: list[PaymentEvent], asked: dict[str, AskedRefund], status: OrderStatus, data: st.DataObject
    ) -> None:
        names = data.draw(st.permutations([f"{index:03}" for index in range(len(history))]))
        gateways = dict(zip("abc", data.draw(st.permutations(["aaa", "mmm", "zzz"])), strict=True))
        refunds = {each.refund_key for each in history if each.refund_key} | set(asked)
        keys = dict(zip(sorted(refunds), data.draw(st.permutations(sorted(refunds))), strict=True))
        renamed = [
            replace(
                each,
                event_key=name,
                gateway=gateways[each.transaction_id],
                refund_key=each.refund_key and keys[each.refund_key],
            )
            for each, name in zip(history, names, strict=True)
        ]
        asked_there = {
            keys[key]: replace(each, transaction=(gateways[each.transaction[1]], each.transaction[1]))
            for key, each in asked.items()
        }
        assert in_money(settle(status, TOTAL, renamed, asked=asked_there)) == in_money(
            settle(status, TOTAL, history, asked=asked)
        )

    @given(history=histories(), asked=requests(), status=STATES, data=st.data())
    def test_is_changed_by_no_copy(
        self, history: list[PaymentEvent], asked: dict[str, AskedRefund], status: OrderStatus, data: st.DataObject
    ) -> None:
        copies = data.draw(st.lists(st.sampled_from(history), max_size=4)) if history else []
        again = [replace(each, event_id=EventId(uuid7()), event_key=f"copy-{n}") for n, each in enumerate(copies)]
        one, two = (settle(status, TOTAL, reported, asked=asked) for reported in (history, [*history, *again]))
        assert (two.order_status, two.kept_rupiah, two.give_back_rupiah) == (
            one.order_status,
            one.kept_rupiah,
            one.give_back_rupiah,
        )


class TestTheMoney:
    @settings(max_examples=examples(300))
    @given(history=histories(), asked=requests(), status=STATES)
    def test_is_kept_or_to_be_given_back_or_gone_and_never_twice(
        self, history: list[PaymentEvent], asked: dict[str, AskedRefund], status: OrderStatus
    ) -> None:
        ended = settle(status, TOTAL, history, asked=asked)
        came, back, taken = (
            sum(getattr(each, name) for each in ended.payments)
            for name in ("amount_rupiah", "refunded_rupiah", "charged_back_rupiah")
        )
        assert came == ended.kept_rupiah + ended.give_back_rupiah + back + taken
        assert len({(each.event.event_id, each.kind) for each in ended.anomalies}) == len(ended.anomalies)
        for payment in ended.payments:
            assert min(payment.left_rupiah, payment.refunded_rupiah, payment.charged_back_rupiah) >= 0
            tasks = [each.give_back_rupiah for each in ended.anomalies if each.event.transaction == payment.transaction]
            assert sum(tasks) == (0 if payment.pays_order else payment.left_rupiah)

    @settings(max_examples=examples(300))
    @given(history=histories(), asked=requests(), status=STATES)
    def test_decides_the_state_as_the_page_says(
        self, history: list[PaymentEvent], asked: dict[str, AskedRefund], status: OrderStatus
    ) -> None:
        ended = settle(status, TOTAL, history, asked=asked)
        assert ended.order_status is expected_state(status, here_of(ended))

    @given(history=histories(), asked=requests(), status=STATES)
    def test_that_a_bank_took_or_a_void_ended_is_nobodys_to_give_back(
        self, history: list[PaymentEvent], asked: dict[str, AskedRefund], status: OrderStatus
    ) -> None:
        gone = {each.transaction for each in history if each.status in {EventStatus.CHARGEBACK, EventStatus.VOIDED}}
        ended = settle(status, TOTAL, history, asked=asked)
        assert not any(each.give_back_rupiah for each in ended.anomalies if each.event.transaction in gone)
        assert not any(each.left_rupiah for each in ended.payments if each.transaction in gone)

    @given(history=histories(), asked=requests(), status=STATES)
    def test_that_went_back_otherwise_than_asked_for_is_seen(
        self, history: list[PaymentEvent], asked: dict[str, AskedRefund], status: OrderStatus
    ) -> None:
        ended = settle(status, TOTAL, history, asked=asked)
        differing = {each.event.refund_key for each in ended.anomalies if each.kind is AnomalyKind.REFUND_DIFFERS}
        amounts: dict[str, set[int]] = {}
        for each in history:
            if each.refund_key:
                amounts.setdefault(each.refund_key, set()).add(each.amount_rupiah)
        assert differing == {
            key
            for key, reported in amounts.items()
            if len(reported) > 1 or (key in asked and reported != {asked[key].amount_rupiah})
        }
        booked = dict(pair for payment in ended.payments for pair in payment.refunds)
        assert all(booked[key] in amounts[key] for key in booked)


def here_of(settlement: Settlement) -> list[tuple[int, int, int]]:
    """Of each payment of the right amount: what is here, what went back, what a bank took."""
    return [
        (each.left_rupiah, each.refunded_rupiah, each.charged_back_rupiah)
        for each in settlement.payments
        if each.amount_rupiah == TOTAL
    ]


def expected_state(status: OrderStatus, fitting: Iterable[tuple[int, int, int]]) -> OrderStatus:
    """The page in a few lines."""
    fitting = list(fitting)
    if status in CLOSED or not fitting:
        return status
    most = max(left for left, _, _ in fitting)
    if most == TOTAL:
        return OrderStatus.PAID
    if most > 0:
        return OrderStatus.PARTIALLY_REFUNDED
    if any(back == TOTAL for _, back, _ in fitting):
        return OrderStatus.REFUNDED
    return OrderStatus.PARTIALLY_REFUNDED if any(back for _, back, _ in fitting) else OrderStatus.PAID


def paid(name: str, minute: int | None = 0, **changes: Any) -> PaymentEvent:
    return event(EventStatus.PAID, name, minute, **changes)


def refund(name: str, amount: int = TOTAL, minute: int = 5, key: str = "r") -> PaymentEvent:
    status = EventStatus.REFUNDED if amount == TOTAL else EventStatus.PARTIALLY_REFUNDED
    return event(status, name, minute, amount_rupiah=amount, refund_key=f"{name}-{key}")


def chargeback(name: str, minute: int = 5) -> PaymentEvent:
    return event(EventStatus.CHARGEBACK, name, minute)


def void(name: str, minute: int = 5) -> PaymentEvent:
    return event(EventStatus.VOIDED, name, minute)


def payer_of(settlement: Settlement) -> str | None:
    return next((each.transaction[1] for each in settlement.payments if each.pays_order), None)


class TestOfSeveralPayments:
    @pytest.mark.parametrize(
        ("history", "status", "payer", "kinds"),
        [
            ([paid("a"), paid("b", 1), refund("a")], "paid", "b", []),
            ([paid("a"), paid("b", 1), refund("b")], "paid", "a", []),
            ([paid("a"), paid("b", 0), refund("a")], "paid", "b", []),
            ([paid("a", None), paid("b", None), refund("b")], "paid", "a", []),
            ([paid("a"), paid("b", 1), refund("a", 50_000, key="1"), refund("a", 100_000, key="2")], "paid", "b", []),
            ([paid("a"), paid("b", 1), refund("a", 50_000)], "paid", "b", ["already_paid"]),
            ([paid("a"), paid("b", 1), refund("a"), refund("b", 50_000)], "partially_refunded", "b", []),
            ([paid("a"), paid("b", 1), refund("a"), refund("b")], "refunded", "a", []),
            ([paid("a"), paid("b", 1), paid("c", 2), refund("a"), refund("b")], "paid", "c", []),
            ([paid("a"), paid("b", 1), paid("c", 2), refund("a")], "paid", "b", ["already_paid"]),
            ([paid("a"), paid("b", 1), chargeback("a")], "paid", "b", ["chargeback"]),
            ([paid("a"), paid("b", 1), chargeback("b")], "paid", "a", ["chargeback"]),
            ([paid("a"), paid("b", 1), chargeback("a"), refund("b")], "refunded", "b", ["chargeback"]),
            ([paid("a"), paid("b", 1), void("a")], "paid", "b", []),
            ([paid("a"), chargeback("a")], "paid", "a", ["chargeback"]),
            ([paid("a"), paid("b", 1, amount_rupiah=1), chargeback("b")], "paid", "a", ["chargeback"]),
            ([paid("a"), void("a")], "refunded", "a", []),
            ([void("a")], "pending", None, []),
        ],
    )
    def test_the_one_that_is_here_pays_the_order(
        self, history: list[PaymentEvent], status: str, payer: str | None, kinds: list[str]
    ) -> None:
        for reported in itertools.permutations(history):
            now = OrderStatus.PENDING
            for end in range(1, len(reported) + 1):
                settlement = settle(now, TOTAL, reported[:end])
                now = settlement.order_status
            assert (now, payer_of(settlement)) == (status, payer)
            assert sorted(each.kind for each in settlement.anomalies) == kinds

    @pytest.mark.parametrize("taken", [chargeback("a"), void("a")])
    @pytest.mark.parametrize("status", CLOSED)
    def test_one_of_a_closed_order_that_is_gone_is_no_task(self, status: OrderStatus, taken: PaymentEvent) -> None:
        assert settle(status, TOTAL, [paid("a"), taken]).give_back_rupiah == 0

    def test_one_that_failed_late_takes_nothing_from_another(self) -> None:
        ended = settle(OrderStatus.PENDING, TOTAL, [paid("a"), event(EventStatus.FAILED, "b", 5), void("b")])
        assert (ended.order_status, ended.anomalies) == (OrderStatus.PAID, ())

    def test_one_that_is_voided_after_a_part_went_back_is_back_as_a_whole(self) -> None:
        ended = settle(OrderStatus.PENDING, TOTAL, [void("a", 1), paid("a"), refund("a", 50_000)])
        assert (ended.order_status, ended.payments[0].refunded_rupiah) == (OrderStatus.REFUNDED, TOTAL)


class TestOnePayment:
    @pytest.mark.parametrize("keys", [("1", "2"), ("2", "1")])
    def test_that_is_told_twice_differently_at_one_time_is_the_smaller(self, keys: tuple[str, str]) -> None:
        """What is to be given back must not hang on what an event is called."""
        reported = [paid("a", amount_rupiah=amount, event_key=key) for amount, key in zip((90, 50), keys, strict=True)]
        ended = settle(OrderStatus.PENDING, TOTAL, reported)
        assert (ended.give_back_rupiah, ended.payments[0].amount_rupiah) == (50, 50)


class TestARefundThatWeAskedFor:
    ASKED: ClassVar = {"a-r": AskedRefund(("doku", "a"), 20_000)}

    def test_is_booked_by_what_was_asked_for_and_not_by_what_was_told_first(self) -> None:
        reported = [paid("a"), refund("a", 1_000, minute=1), refund("a", 20_000, minute=2)]
        ended = settle(OrderStatus.PENDING, TOTAL, reported, asked=self.ASKED)
        assert ended.payments[0].refunds == {("a-r", 20_000)}
        assert [(each.kind, each.event, each.expected_rupiah) for each in ended.anomalies] == [
            ("refund_differs", reported[1], 20_000)
        ]

    def test_that_went_back_in_part_is_seen(self) -> None:
        ended = settle(OrderStatus.PENDING, TOTAL, [paid("a"), refund("a", 1_000)], asked=self.ASKED)
        assert ended.payments[0].refunds == {("a-r", 1_000)}
        assert [(each.kind, each.expected_rupiah) for each in ended.anomalies] == [("refund_differs", 20_000)]

    def test_that_is_told_of_another_payment_is_seen(self) -> None:
        reported = replace(refund("b", 20_000), refund_key="a-r")
        ended = settle(OrderStatus.PENDING, TOTAL, [paid("a"), paid("b", 1), reported], asked=self.ASKED)
        assert sorted(each.kind for each in ended.anomalies) == ["already_paid", "refund_differs"]

    def test_counts_before_one_that_does_not_fit_beside_it(self) -> None:
        reported = [paid("a"), refund("a", TOTAL, minute=1, key="console"), refund("a", 20_000, minute=2)]
        ended = settle(OrderStatus.PENDING, TOTAL, reported, asked=self.ASKED)
        assert ended.payments[0].refunds == {("a-r", 20_000)}
        assert [each.kind for each in ended.anomalies] == ["over_refund"]

    def test_counts_before_another_of_ours_that_went_otherwise(self) -> None:
        """The other one was asked of payment b, and a gateway tells it of a."""
        reported = [paid("a"), replace(refund("a", 50_000, minute=1), refund_key="b-r"), refund("a", TOTAL, minute=2)]
        asked = {"a-r": AskedRefund(("doku", "a"), TOTAL), "b-r": AskedRefund(("doku", "b"), 50_000)}
        ended = settle(OrderStatus.PENDING, TOTAL, reported, asked=asked)
        assert ended.payments[0].refunds == {("a-r", TOTAL)}

    def test_counts_with_what_can_be_where_what_was_asked_for_cannot(self) -> None:
        reported = [paid("a", amount_rupiah=50_000), refund("a", 50_000, minute=1), refund("a", TOTAL, minute=2)]
        asked = {"a-r": AskedRefund(("doku", "a"), TOTAL)}
        ended = settle(OrderStatus.PENDING, TOTAL, reported, asked=asked)
        assert (ended.payments[0].refunded_rupiah, ended.give_back_rupiah) == (50_000, 0)


class TestARefundThatIsToldTwiceDifferently:
    def test_counts_with_the_largest_that_can_be_beside_another(self) -> None:
        """All of the payment cannot be back twice over: nobody is asked to give back what the smaller word covers."""
        reported = [paid("a"), refund("a", 50_000, minute=1, key="first")]
        reported += [refund("a", amount, minute=2) for amount in (TOTAL, TOTAL - 50_000)]
        ended = settle(OrderStatus.CANCELLED, TOTAL, reported)
        assert (ended.payments[0].refunded_rupiah, ended.give_back_rupiah) == (TOTAL, 0)
        assert [each.kind for each in ended.anomalies] == ["refund_differs"]
