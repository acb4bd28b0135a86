"""What docs/payments.md says of an order's money, worked out a second time and held against the settlement.

The model below is written from that page alone: it shares nothing with the code but the shape of an event. A set of two
or three payments is drawn, told in some order, and every sum, state and task must be the model's.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from skincare.identifiers import uuid7
from skincare.orders.models import OrderStatus
from skincare.payments.models import EventId, EventStatus
from skincare.payments.settlement import AskedRefund, PaymentEvent, Settlement, settle
from tests.support.randomness import Times

TOTAL = 150_000
START = datetime(2026, 1, 15, 3, 0, tzinfo=UTC)
AMOUNTS = [TOTAL, TOTAL, TOTAL, TOTAL, TOTAL - 50_000, TOTAL + 1, 50_000, 0]
PARTS = [TOTAL, TOTAL - 50_000, 50_000, 50_000, 25_000, TOTAL + 1, 0]
ENDS = ["chargeback", "voided", "failed", "expired", "pending"]


@dataclass(frozen=True)
class Reported:
    """One event, as the page speaks of it; of a refund, `key` tells it from the others."""

    status: str
    payment: str
    minute: int
    amount: int = TOTAL
    key: str | None = None


@dataclass(frozen=True)
class Asked:
    """A refund that we asked the gateway for."""

    payment: str
    amount: int


@dataclass
class Account:
    """What came of one payment and where it went, in rupiah; `odd` are its anomalies that only a person ends."""

    name: str
    came: int | None = None
    first: int = 0
    back: int = 0
    bank: int = 0
    odd: set[tuple[str, str]] = field(default_factory=set)

    @property
    def here(self) -> int:
        return (self.came or 0) - self.back - self.bank


def account(name: str, reported: Sequence[Reported], asked: Mapping[str, Asked]) -> Account:
    mine = Account(name)
    if any(each.status == "paid" and each.amount <= 0 for each in reported):
        mine.odd.add(("wrong_amount", "review"))  # Paid with nothing is no payment.
    paid = [each for each in reported if each.status == "paid" and each.amount > 0]
    if paid:
        # The total counts, then the earlier amount, then the smaller.
        word = min(paid, key=lambda each: (each.amount != TOTAL, each.minute, each.amount))
        mine.came = word.amount
        mine.first = min(each.minute for each in paid if each.amount == word.amount)
        if len({each.amount for each in paid}) > 1:
            mine.odd.add(("paid_twice_differently", "review"))
    refunds: dict[str, list[Reported]] = {}
    for each in reported:
        if each.status in {"refunded", "partially_refunded"}:
            assert each.key is not None
            refunds.setdefault(each.key, []).append(each)
    book_refunds(mine, refunds, asked)
    statuses = {each.status for each in reported}
    if "voided" in statuses:
        mine.back += max(0, mine.here)
    if "chargeback" in statuses:
        mine.bank = max(0, mine.here)
        mine.odd.add(("chargeback", "review"))
    if "failed" in statuses and "voided" not in statuses and mine.came is not None:
        mine.odd.add(("failed_though_paid", "review"))
    return mine


def book_refunds(mine: Account, refunds: Mapping[str, Sequence[Reported]], asked: Mapping[str, Asked]) -> None:
    def wanted(key: str, amount: int) -> bool:
        return key in asked and asked[key] == Asked(mine.name, amount)

    def turn(key: str) -> tuple[bool, bool, int]:
        """Those that went as we asked count first, then others that we asked for, then the earlier ones."""
        as_asked = any(wanted(key, each.amount) for each in refunds[key])
        return not as_asked, key not in asked, min(each.minute for each in refunds[key])

    for key in sorted(refunds, key=turn):
        amounts = {each.amount for each in refunds[key]}
        if len(amounts) > 1 or (key in asked and not all(wanted(key, amount) for amount in amounts)):
            mine.odd.add(("refund_differs", "review"))
        if mine.came is None:
            mine.odd.add(("refund_without_payment", "review"))
            continue
        possible = {amount for amount in amounts if 0 < amount <= mine.here}
        meant = {amount for amount in possible if wanted(key, amount)} or possible
        if meant:
            mine.back += max(meant)
        else:
            mine.odd.add(("over_refund", "review"))


@dataclass(frozen=True)
class Outcome:
    """An order's state, each payment's sums (came, back, bank, pays), its anomalies, and what is kept and owed."""

    status: str
    payments: dict[str, tuple[int, int, int, bool]]
    anomalies: set[tuple[str, str, str]]
    kept: int
    owed: int


def model(closed: str | None, reported: Sequence[Reported], asked: Mapping[str, Asked]) -> Outcome:
    accounts = [
        account(name, [each for each in reported if each.payment == name], asked)
        for name in sorted({each.payment for each in reported})
    ]
    fit = [each for each in accounts if each.came == TOTAL and closed is None]
    payer = min(fit, key=lambda each: (-each.here, each.bank, each.first, each.name), default=None)
    status = closed or "pending"
    if payer is not None:
        status = "refunded" if payer.back == TOTAL else "partially_refunded" if payer.back else "paid"
    anomalies = {(each.name, *odd) for each in accounts for odd in each.odd}
    owed = 0
    for each in accounts:
        if each is payer or each.came is None:
            continue
        kind = "order_closed" if closed else "already_paid" if each.came == TOTAL else "wrong_amount"
        if each.here > 0:
            anomalies.add((each.name, kind, "refund"))
            owed += each.here
    sums = {a.name: (a.came, a.back, a.bank, a is payer) for a in accounts if a.came is not None}
    return Outcome(status, sums, anomalies, payer.here if payer else 0, owed)


def product(settlement: Settlement) -> Outcome:
    return Outcome(
        str(settlement.order_status),
        {
            p.transaction[1]: (p.amount_rupiah, p.refunded_rupiah, p.charged_back_rupiah, p.pays_order)
            for p in settlement.payments
            if p.paid_by is not None
        },
        {(a.event.transaction_id, str(a.kind), str(a.task)) for a in settlement.anomalies},
        settlement.kept_rupiah,
        settlement.give_back_rupiah,
    )


def as_event(index: int, each: Reported) -> PaymentEvent:
    return PaymentEvent(
        event_id=EventId(uuid7()),
        gateway="doku",
        event_key=f"{index}",
        order_number="SKN-4T9QX-0M7KD",
        transaction_id=each.payment,
        status=EventStatus(each.status),
        amount_rupiah=each.amount,
        currency="IDR",
        occurred_at=START + timedelta(minutes=each.minute),
        refund_key=each.key,
    )


def drawn(chance: random.Random) -> tuple[list[Reported], dict[str, Asked]]:
    """Two or three payments of one order: paid or not, refunded in parts, ended somehow; no two events at one time."""
    minutes = iter(chance.sample(range(100), 40))
    reported: list[Reported] = []
    asked: dict[str, Asked] = {}
    for name in "abc"[: chance.choice([2, 2, 3])]:
        for _ in range(chance.choice([0, 1, 1, 1, 1, 1, 2])):
            reported.append(Reported("paid", name, next(minutes), chance.choice(AMOUNTS)))
        for _ in range(chance.choice([0, 0, 1, 1, 2, 3])):
            key = f"{name}-{chance.choice('123')}"
            word = chance.choice(["refunded", "partially_refunded"])
            reported.append(Reported(word, name, next(minutes), chance.choice(PARTS), key))
            if chance.random() < 0.4:
                # Mostly what the gateway tells; now and then another amount or another payment.
                of = name if chance.random() < 0.9 else chance.choice("abc")
                asked[key] = Asked(of, reported[-1].amount if chance.random() < 0.7 else chance.choice(PARTS[:5]))
        for _ in range(chance.choice([0, 0, 0, 1, 1, 2])):
            reported.append(Reported(chance.choice(ENDS), name, next(minutes)))
    return reported, asked


class TestWhatThePageSaysOfMoney:
    @pytest.mark.parametrize("closed", [None, "cancelled", "expired"])
    def test_is_what_the_settlement_says(self, closed: str | None, times: Times, random_seed: int) -> None:
        chance = random.Random(f"{random_seed} {closed}")
        status = OrderStatus(closed or "pending")
        for _ in range(times(short=1_000, long=50_000)):
            reported, asked = drawn(chance)
            expected = model(closed, reported, asked)
            came = sum(sums[0] for sums in expected.payments.values())
            gone = sum(sums[1] + sums[2] for sums in expected.payments.values())
            assert came == gone + expected.kept + expected.owed
            requests = {key: AskedRefund(("doku", each.payment), each.amount) for key, each in asked.items()}
            events = [as_event(index, each) for index, each in enumerate(reported)]
            chance.shuffle(events)
            assert product(settle(status, TOTAL, events, asked=requests)) == expected, (reported, asked)
