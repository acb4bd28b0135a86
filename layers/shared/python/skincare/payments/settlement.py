"""What all the payment events of one order add up to: a pure function of the set, whatever order they came in."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from skincare.orders.models import OrderStatus
from skincare.payments.transactions import (
    NEVER,
    Anomaly,
    AnomalyKind,
    AskedRefund,
    Payment,
    PaymentEvent,
    Task,
    Transaction,
    add_up,
)

__all__ = [
    "Anomaly",
    "AnomalyKind",
    "AskedRefund",
    "Payment",
    "PaymentEvent",
    "Settlement",
    "Task",
    "Transaction",
    "settle",
]

_CURRENCY = "IDR"


@dataclass(frozen=True)
class Settlement:
    """What changes for an order, its payments and the people who look after them."""

    order_status: OrderStatus
    payments: tuple[Payment, ...]
    anomalies: tuple[Anomaly, ...]

    @property
    def paid_at(self) -> datetime | None:
        """When the payment that pays the order was made, as its gateway tells it; None where nobody tells."""
        return next((each.paid_by.occurred_at for each in self.payments if each.pays_order and each.paid_by), None)

    @property
    def kept_rupiah(self) -> int:
        return sum(payment.left_rupiah for payment in self.payments if payment.pays_order)

    @property
    def give_back_rupiah(self) -> int:
        return sum(anomaly.give_back_rupiah for anomaly in self.anomalies)


def settle(
    status: OrderStatus,
    total_rupiah: int,
    events: Iterable[PaymentEvent],
    *,
    foreign: Collection[Transaction] = (),
    asked: Mapping[str, AskedRefund] | None = None,
) -> Settlement:
    """Add up the events of an order.

    `foreign` are transactions that belong to another one, `asked` the refunds that we asked for, by their key. One
    payment of the right amount pays the order; what is here of any other goes back.
    """
    groups: defaultdict[Transaction, list[PaymentEvent]] = defaultdict(list)
    anomalies: list[Anomaly] = []
    for event in events:
        if event.transaction in foreign:
            anomalies.append(Anomaly(event, AnomalyKind.FOREIGN_TRANSACTION))
        elif event.currency != _CURRENCY:
            anomalies.append(Anomaly(event, AnomalyKind.WRONG_CURRENCY))
        else:
            groups[event.transaction].append(event)
    payments: list[Payment] = []
    for group in groups.values():
        payment, found = add_up(group, total_rupiah, asked=asked or {})
        payments.append(payment)
        anomalies += found
    closed = status in {OrderStatus.CANCELLED, OrderStatus.EXPIRED}
    fitting = [each for each in payments if each.paid_by is not None and each.amount_rupiah == total_rupiah]
    payer = None if closed else min(fitting, key=_claim, default=None)
    for payment in payments:
        if payment is not payer and payment.paid_by is not None and payment.left_rupiah > 0:
            kind = _misfit(payment, total_rupiah, closed=closed)
            anomalies.append(Anomaly(payment.paid_by, kind, payment.left_rupiah))
    return Settlement(
        order_status=status if payer is None else _order_status(payer),
        payments=tuple(replace(each, pays_order=each is payer) for each in payments),
        anomalies=tuple(anomalies),
    )


def _claim(payment: Payment) -> tuple[int, int, datetime, Transaction]:
    """Return what decides which of several payments pays the order: the least one does.

    The one of which most is here, then the one of which the bank took least: payments that are equal in both give the
    order the same state, and only among them does it matter which was earlier.
    """
    when = payment.paid_by.occurred_at if payment.paid_by else None
    return -payment.left_rupiah, payment.charged_back_rupiah, when or NEVER, payment.transaction


def _misfit(payment: Payment, total_rupiah: int, *, closed: bool) -> AnomalyKind:
    if closed:
        return AnomalyKind.ORDER_CLOSED
    return AnomalyKind.ALREADY_PAID if payment.amount_rupiah == total_rupiah else AnomalyKind.WRONG_AMOUNT


def _order_status(payer: Payment) -> OrderStatus:
    if payer.refunded_rupiah == 0:
        return OrderStatus.PAID
    all_is_back = payer.refunded_rupiah == payer.amount_rupiah
    return OrderStatus.REFUNDED if all_is_back else OrderStatus.PARTIALLY_REFUNDED
