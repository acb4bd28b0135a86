"""A refund as we keep it, and how people ask for one."""

import re
from dataclasses import dataclass, field
from uuid import uuid4

from skincare.identifiers import REFUND_KEY_PATTERN, OrderNumber
from skincare.payments.errors import RefundNotPossible
from skincare.text import flaw, is_blank


@dataclass(frozen=True)
class RefundRequest:
    """What a person asks for: money of an order, back to who paid it.

    Without an amount it is all that is left. The payment is the one that pays the order, unless an anomaly or a
    transaction names another. One `key` is one refund, however often it is asked for. Raises `RefundNotPossible`
    where a field breaks a rule.
    """

    order_number: OrderNumber
    reason: str
    requested_by: str
    amount_rupiah: int | None = None
    transaction_id: str | None = None
    anomaly_id: int | None = None
    keep_stock: bool = False
    """The goods do not come back: with a full refund the stock stays as it is."""
    key: str = field(default_factory=lambda: str(uuid4()))

    def __post_init__(self) -> None:
        for name, text, longest in (("reason", self.reason, 200), ("requested_by", self.requested_by, 100)):
            if len(text) > longest or flaw(text) or is_blank(text):
                raise RefundNotPossible(f"{name} is not 1 to {longest} printable characters")
        if not re.fullmatch(REFUND_KEY_PATTERN, self.key):
            raise RefundNotPossible("a key is 1 to 64 letters, digits and hyphens")
        if self.amount_rupiah is not None and self.amount_rupiah <= 0:
            raise RefundNotPossible("an amount is more than nothing")


@dataclass(frozen=True)
class RefundRow:
    """A refund. `state` is requested, sent, booked or refused, then with the gateway's `refusal`."""

    key: str
    order_number: OrderNumber
    gateway: str
    transaction_id: str
    amount_rupiah: int
    reason: str
    requested_by: str
    state: str = "requested"
    refusal: str | None = None
    keep_stock: bool = False
