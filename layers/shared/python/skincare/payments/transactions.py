"""What the events of one transaction add up to: what came, what went back, what the bank took, what does not fit."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from skincare.payments.models import REFUNDS, EventId, EventStatus

NEVER = datetime.max.replace(tzinfo=UTC)
"""Stands for a time that a gateway did not tell."""


# An attempt that brought no money is what its last possible word says.
_ATTEMPT = {
    EventStatus.VOIDED: EventStatus.FAILED,
    EventStatus.FAILED: EventStatus.FAILED,
    EventStatus.EXPIRED: EventStatus.EXPIRED,
}

Transaction = tuple[str, str]
"""A gateway and its identifier of a transaction."""


@dataclass(frozen=True)
class PaymentEvent:
    """A stored event that can be applied."""

    event_id: EventId
    gateway: str
    event_key: str
    order_number: str
    transaction_id: str
    status: EventStatus
    amount_rupiah: int
    currency: str
    occurred_at: datetime | None
    refund_key: str | None = None
    attempt_no: int | None = None
    is_answer: bool = False
    """Whether the gateway said it when we asked, so that nothing is left to confirm."""

    @property
    def transaction(self) -> Transaction:
        return self.gateway, self.transaction_id

    @property
    def rank(self) -> tuple[datetime, str, str]:
        """Its place among events that say the same: by the gateway's time, never by when it reached us."""
        return self.occurred_at or NEVER, self.gateway, self.event_key


class AnomalyKind(StrEnum):
    """Why money does not fit. Never renamed: alarms and people look for these words."""

    ORDER_CLOSED = "order_closed"
    ALREADY_PAID = "already_paid"
    WRONG_AMOUNT = "wrong_amount"
    WRONG_CURRENCY = "wrong_currency"
    FOREIGN_TRANSACTION = "foreign_transaction"
    PAID_TWICE_DIFFERENTLY = "paid_twice_differently"
    REFUND_WITHOUT_PAYMENT = "refund_without_payment"
    REFUND_DIFFERS = "refund_differs"
    """It is not what was asked for, or another event of its key tells another amount."""
    OVER_REFUND = "over_refund"
    FAILED_THOUGH_PAID = "failed_though_paid"
    CHARGEBACK = "chargeback"
    PAID_AGAIN = "paid_again"
    """The order counted as refunded until this event. It is about what people were shown, not about the sum."""
    GOODS_GIVEN_BACK = "goods_given_back"
    """It pays an order whose goods were given back with a refund and sold since; found where goods are moved."""


class Task(StrEnum):
    """What an anomaly leaves to a person."""

    REFUND = "refund"
    REVIEW = "review"


@dataclass(frozen=True)
class Anomaly:
    """An event that does not fit; `give_back_rupiah` is money of it that is ours to return."""

    event: PaymentEvent
    kind: AnomalyKind
    give_back_rupiah: int = 0
    expected_rupiah: int | None = None
    """What the event should have reported, where that is not the order's total."""

    @property
    def task(self) -> Task:
        return Task.REFUND if self.give_back_rupiah else Task.REVIEW


@dataclass(frozen=True)
class AskedRefund:
    """What we asked the gateway to give back."""

    transaction: Transaction
    amount_rupiah: int


@dataclass(frozen=True)
class Payment:
    """One transaction. `paid_by` is the event that brought its money."""

    transaction: Transaction
    status: EventStatus
    paid_by: PaymentEvent | None = None
    refunded_rupiah: int = 0
    """What went back, by refunds or because the payment was voided."""
    refunds: frozenset[tuple[str, int]] = frozenset()
    """Key and amount of each refund that is booked."""
    charged_back_rupiah: int = 0
    """What the payer's bank took: neither here nor ours to give back."""
    pays_order: bool = False

    @property
    def amount_rupiah(self) -> int:
        return self.paid_by.amount_rupiah if self.paid_by else 0

    @property
    def left_rupiah(self) -> int:
        """What of its money is still here."""
        return self.amount_rupiah - self.refunded_rupiah - self.charged_back_rupiah


def add_up(
    events: Iterable[PaymentEvent], total_rupiah: int, *, asked: Mapping[str, AskedRefund]
) -> tuple[Payment, list[Anomaly]]:
    """Add up the events of one transaction, in whatever order they are; `asked` are our refunds by their key."""
    state = _TransactionState(sorted(events, key=lambda each: each.rank), total_rupiah, asked)
    state.find_payment()
    state.book_refunds()
    state.book_what_else_took_money()
    return state.payment(), state.anomalies


@dataclass
class _TransactionState:
    """One transaction under way."""

    events: list[PaymentEvent]
    total_rupiah: int
    asked: Mapping[str, AskedRefund]
    paid_by: PaymentEvent | None = None
    refunded: int = 0
    charged_back: int = 0
    booked: set[tuple[str, int]] = field(default_factory=set)
    anomalies: list[Anomaly] = field(default_factory=list)

    def find_payment(self) -> None:
        """Choose the event that brought the money.

        Where it was paid twice differently, the order's total counts before what is earlier: an order that it paid
        would otherwise lose its payment to the news of another amount, and stay paid by nothing.
        """
        reported = self._reported(EventStatus.PAID)
        self.paid_by = min(
            (each for each in reported if each.amount_rupiah > 0),
            key=lambda each: (
                each.amount_rupiah != self.total_rupiah,
                each.occurred_at or NEVER,
                each.amount_rupiah,
                each.rank,
            ),
            default=None,
        )
        for event in reported:
            if event.amount_rupiah <= 0:
                self._note(event, AnomalyKind.WRONG_AMOUNT)
            elif self.paid_by is not None and event.amount_rupiah != self.paid_by.amount_rupiah:
                self._note(event, AnomalyKind.PAID_TWICE_DIFFERENTLY)

    def book_refunds(self) -> None:
        """Book each refund once. Where they do not all fit, those that went as we asked come first (`_turn`)."""
        by_key: defaultdict[str, list[PaymentEvent]] = defaultdict(list)
        for event in self._reported(*REFUNDS):
            by_key[event.refund_key or ""].append(event)
        for key, reported in sorted(by_key.items(), key=lambda each: self._turn(*each)):
            refund = self._refund(key, reported)
            if self.paid_by is None:
                self._note(refund, AnomalyKind.REFUND_WITHOUT_PAYMENT)
            elif not 0 < refund.amount_rupiah <= self._left:
                self._note(refund, AnomalyKind.OVER_REFUND)
            else:
                self.refunded += refund.amount_rupiah
                self.booked.add((key, refund.amount_rupiah))

    def book_what_else_took_money(self) -> None:
        """Book a void as given back, and what a chargeback leaves nothing of as taken.

        Gateways tell a payment's amount even where a bank takes a part of it, so all counts as taken: the rest is a
        person's to find out, and until then nothing is given back that may be gone.
        """
        is_void = bool(self._reported(EventStatus.VOIDED))
        if is_void:
            self.refunded += self._left
        elif self.paid_by is not None:
            for event in self._reported(EventStatus.FAILED):
                self._note(event, AnomalyKind.FAILED_THOUGH_PAID)
        for event in self._reported(EventStatus.CHARGEBACK):
            self._note(event, AnomalyKind.CHARGEBACK)
            self.charged_back += self._left

    def payment(self) -> Payment:
        return Payment(
            self.events[0].transaction,
            self._status(),
            self.paid_by,
            self.refunded,
            frozenset(self.booked),
            self.charged_back,
        )

    @property
    def _left(self) -> int:
        amount = self.paid_by.amount_rupiah if self.paid_by else 0
        return amount - self.refunded - self.charged_back

    def _turn(self, key: str, reported: list[PaymentEvent]) -> tuple[object, ...]:
        """When a refund is booked: those that went as we asked, then others that we asked for, then the earlier."""
        expected = self._expected(key)
        return (
            all(each.amount_rupiah != expected for each in reported),
            key not in self.asked,
            min(each.occurred_at or NEVER for each in reported),
            -(expected or 0),
            sorted(-each.amount_rupiah for each in reported),
            key,
        )

    def _expected(self, key: str) -> int | None:
        """Return what we asked for of this transaction by a refund."""
        asked = self.asked.get(key)
        return asked.amount_rupiah if asked and asked.transaction == self.events[0].transaction else None

    def _refund(self, key: str, reported: list[PaymentEvent]) -> PaymentEvent:
        """Choose the event that tells a refund: of those that can be, what we asked for, otherwise the largest.

        The largest, because what may still be given back must not be too much.
        """
        asked, expected = self.asked.get(key), self._expected(key)
        chosen = min(
            reported,
            key=lambda each: (
                not 0 < each.amount_rupiah <= self._left,
                each.amount_rupiah != expected,
                -each.amount_rupiah,
                each.rank,
            ),
        )
        for event in reported:
            if event.amount_rupiah != chosen.amount_rupiah:
                self._note(event, AnomalyKind.REFUND_DIFFERS, expected_rupiah=expected or chosen.amount_rupiah)
        if asked is not None and chosen.amount_rupiah != expected:
            self._note(chosen, AnomalyKind.REFUND_DIFFERS, expected_rupiah=asked.amount_rupiah)
        return chosen

    def _reported(self, *statuses: EventStatus) -> list[PaymentEvent]:
        return [each for each in self.events if each.status in statuses]

    def _note(self, event: PaymentEvent, kind: AnomalyKind, *, expected_rupiah: int | None = None) -> None:
        self.anomalies.append(Anomaly(event, kind, expected_rupiah=expected_rupiah))

    def _status(self) -> EventStatus:
        if self.paid_by is None:
            reported = {event.status for event in self.events}
            return next((meaning for word, meaning in _ATTEMPT.items() if word in reported), EventStatus.PENDING)
        if self._reported(EventStatus.CHARGEBACK):
            return EventStatus.CHARGEBACK
        if self.refunded == 0:
            return EventStatus.PAID
        return EventStatus.REFUNDED if self.refunded == self.paid_by.amount_rupiah else EventStatus.PARTIALLY_REFUNDED
