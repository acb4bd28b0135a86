"""What all the payment events of one order add up to: a pure function of the set, whatever order they came in."""

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum

from skincare.orders.models import OrderStatus
from skincare.payments.models import EventId, EventStatus

_CURRENCY = "IDR"
_NEVER = datetime.max.replace(tzinfo=UTC)
_REFUNDS = {EventStatus.REFUNDED, EventStatus.PARTIALLY_REFUNDED}

# An attempt that brought no money is what its last possible word says.
_ATTEMPT = (EventStatus.FAILED, EventStatus.EXPIRED, EventStatus.PENDING)

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
        """Its place among the events of an order: by the gateway's time, never by when it reached us."""
        return self.occurred_at or _NEVER, self.gateway, self.event_key


class AnomalyKind(StrEnum):
    """Why money does not fit. Never renamed: alarms and people look for these words."""

    ORDER_CLOSED = "order_closed"
    ALREADY_PAID = "already_paid"
    WRONG_AMOUNT = "wrong_amount"
    WRONG_CURRENCY = "wrong_currency"
    FOREIGN_TRANSACTION = "foreign_transaction"
    PAID_TWICE_DIFFERENTLY = "paid_twice_differently"
    REFUND_WITHOUT_PAYMENT = "refund_without_payment"
    OVER_REFUND = "over_refund"
    FAILED_THOUGH_PAID = "failed_though_paid"
    CHARGEBACK = "chargeback"
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

    @property
    def task(self) -> Task:
        return Task.REFUND if self.give_back_rupiah else Task.REVIEW


@dataclass(frozen=True)
class Payment:
    """One transaction. `paid_by` is the event that brought its money."""

    transaction: Transaction
    status: EventStatus
    paid_by: PaymentEvent | None = None
    refunded_rupiah: int = 0
    refund_keys: frozenset[str] = frozenset()
    """The refunds that `refunded_rupiah` is the sum of."""
    pays_order: bool = False

    @property
    def amount_rupiah(self) -> int:
        return self.paid_by.amount_rupiah if self.paid_by else 0

    @property
    def left_rupiah(self) -> int:
        """What of its money is still here."""
        return self.amount_rupiah - self.refunded_rupiah


@dataclass(frozen=True)
class Settlement:
    """What an order, its payments and the people who look after them are told."""

    order_status: OrderStatus
    payments: tuple[Payment, ...]
    anomalies: tuple[Anomaly, ...]

    @property
    def kept_rupiah(self) -> int:
        return sum(payment.left_rupiah for payment in self.payments if payment.pays_order)

    @property
    def give_back_rupiah(self) -> int:
        return sum(anomaly.give_back_rupiah for anomaly in self.anomalies)


def settle(
    status: OrderStatus, total_rupiah: int, events: Iterable[PaymentEvent], *, foreign: Collection[Transaction] = ()
) -> Settlement:
    """Add up the events of an order; `foreign` are transactions that belong to another one.

    The earliest payment of the right amount pays the order; the money of any other goes back.
    """
    groups: defaultdict[Transaction, list[PaymentEvent]] = defaultdict(list)
    anomalies: list[Anomaly] = []
    for event in sorted(events, key=lambda each: each.rank):
        if event.transaction in foreign:
            anomalies.append(Anomaly(event, AnomalyKind.FOREIGN_TRANSACTION))
        elif event.currency != _CURRENCY:
            anomalies.append(Anomaly(event, AnomalyKind.WRONG_CURRENCY))
        else:
            groups[event.transaction].append(event)
    payments: list[Payment] = []
    for group in groups.values():
        payment, found = _add_up(group, total_rupiah)
        payments.append(payment)
        anomalies += found
    closed = status in {OrderStatus.CANCELLED, OrderStatus.EXPIRED}
    fitting = [each for each in payments if each.paid_by is not None and each.amount_rupiah == total_rupiah]
    payer = None if closed else min(fitting, key=_paid_at, default=None)
    for payment in payments:
        if payment is not payer and payment.paid_by is not None and payment.left_rupiah > 0:
            kind = _misfit(payment, total_rupiah, closed=closed)
            anomalies.append(Anomaly(payment.paid_by, kind, payment.left_rupiah))
    return Settlement(
        order_status=status if payer is None else _order_status(payer),
        payments=tuple(replace(each, pays_order=each is payer) for each in payments),
        anomalies=tuple(anomalies),
    )


def _add_up(events: list[PaymentEvent], total_rupiah: int) -> tuple[Payment, list[Anomaly]]:
    """Add up the events of one transaction, which are in their order.

    Where it was paid twice differently, the order's total counts before what is earlier: an order that it paid
    would otherwise lose its payment to the news of another amount, and stay paid by nothing.
    """
    anomalies: list[Anomaly] = []
    paid = [each for each in events if each.status is EventStatus.PAID and each.amount_rupiah > 0]
    paid_by = min(paid, key=lambda each: (each.amount_rupiah != total_rupiah, each.rank), default=None)
    for event in events:
        if event.status is not EventStatus.PAID:
            continue
        if event.amount_rupiah <= 0:
            anomalies.append(Anomaly(event, AnomalyKind.WRONG_AMOUNT))
        elif paid_by is not None and event.amount_rupiah != paid_by.amount_rupiah:
            anomalies.append(Anomaly(event, AnomalyKind.PAID_TWICE_DIFFERENTLY))
    refunded = 0
    booked: set[str] = set()
    refunds = {event.refund_key: event for event in reversed(events) if event.status in _REFUNDS}
    for refund in sorted(refunds.values(), key=lambda each: each.rank):
        if paid_by is None:
            anomalies.append(Anomaly(refund, AnomalyKind.REFUND_WITHOUT_PAYMENT))
        elif not 0 < refund.amount_rupiah <= paid_by.amount_rupiah - refunded:
            anomalies.append(Anomaly(refund, AnomalyKind.OVER_REFUND))
        else:
            refunded += refund.amount_rupiah
            booked.add(refund.refund_key or "")
    anomalies += [Anomaly(event, AnomalyKind.CHARGEBACK) for event in events if event.status is EventStatus.CHARGEBACK]
    if paid_by is not None:
        anomalies += [
            Anomaly(event, AnomalyKind.FAILED_THOUGH_PAID) for event in events if event.status is EventStatus.FAILED
        ]
    told = {event.status for event in events}
    status = _payment_status(told, paid_by, refunded)
    return Payment(events[0].transaction, status, paid_by, refunded, frozenset(booked)), anomalies


def _payment_status(told: set[EventStatus], paid_by: PaymentEvent | None, refunded: int) -> EventStatus:
    if paid_by is None:
        return next((status for status in _ATTEMPT if status in told), EventStatus.PENDING)
    if EventStatus.CHARGEBACK in told:
        return EventStatus.CHARGEBACK
    if refunded == 0:
        return EventStatus.PAID
    return EventStatus.REFUNDED if refunded == paid_by.amount_rupiah else EventStatus.PARTIALLY_REFUNDED


def _misfit(payment: Payment, total_rupiah: int, *, closed: bool) -> AnomalyKind:
    if closed:
        return AnomalyKind.ORDER_CLOSED
    return AnomalyKind.ALREADY_PAID if payment.amount_rupiah == total_rupiah else AnomalyKind.WRONG_AMOUNT


def _order_status(payer: Payment) -> OrderStatus:
    if payer.refunded_rupiah == 0:
        return OrderStatus.PAID
    return OrderStatus.REFUNDED if payer.left_rupiah == 0 else OrderStatus.PARTIALLY_REFUNDED


def _paid_at(payment: Payment) -> tuple[datetime, str, str]:
    assert payment.paid_by is not None  # noqa: S101  only paid ones are compared
    return payment.paid_by.rank
