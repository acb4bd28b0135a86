"""Orders, and what a customer asks for at the checkout."""

import hashlib
import json
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from skincare.addresses import EmailAddress
from skincare.identifiers import OrderNumber, Sku, UserId
from skincare.jobs.models import DueJob
from skincare.locales import Locale


class OrderStatus(StrEnum):
    PENDING = "pending"
    PAID = "paid"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    REFUNDED = "refunded"
    PARTIALLY_REFUNDED = "partially_refunded"


class PaymentStatus(StrEnum):
    """Where the money is, as the customer sees it."""

    UNPAID = "unpaid"
    PAID = "paid"
    REFUNDED = "refunded"
    PARTIALLY_REFUNDED = "partially_refunded"


_PAYMENT_STATUS = {
    OrderStatus.PENDING: PaymentStatus.UNPAID,
    OrderStatus.PAID: PaymentStatus.PAID,
    OrderStatus.CANCELLED: PaymentStatus.UNPAID,
    OrderStatus.EXPIRED: PaymentStatus.UNPAID,
    OrderStatus.REFUNDED: PaymentStatus.REFUNDED,
    OrderStatus.PARTIALLY_REFUNDED: PaymentStatus.PARTIALLY_REFUNDED,
}


@dataclass(frozen=True)
class OrderItem:
    """One line, with the name and the price of the moment in which it was ordered."""

    sku: Sku
    name: str
    quantity: int
    unit_price_rupiah: int

    @property
    def line_total_rupiah(self) -> int:
        return self.quantity * self.unit_price_rupiah


@dataclass(frozen=True)
class Order:
    """An order as its customer sees it. Money is whole rupiah, times are UTC."""

    order_number: OrderNumber
    status: OrderStatus
    total_rupiah: int
    created_at: datetime
    expires_at: datetime | None
    """Until when it may be paid; None once it does not wait for money."""
    items: tuple[OrderItem, ...]

    @property
    def payment_status(self) -> PaymentStatus:
        return _PAYMENT_STATUS[self.status]


@dataclass(frozen=True)
class PlaceOrder:
    """A checkout of the caller's cart, by somebody who reads mail at `email` in the language of `locale`."""

    user_id: UserId
    idempotency_key: str
    email: EmailAddress
    locale: Locale
    request_id: str
    trace_id: str | None = None
    expected_total_rupiah: int | None = None
    """What the customer was shown: a higher total is refused, a lower one is passed on."""
    recipient_name: str | None = field(default=None, repr=False)
    shipping_address: str | None = field(default=None, repr=False)
    note: str | None = field(default=None, repr=False)

    @property
    def fingerprint(self) -> bytes:
        """SHA-256 of what the customer sent: two requests with one key are the same only if this is the same."""
        sent = [self.expected_total_rupiah, self.recipient_name, self.shipping_address, self.note]
        return hashlib.sha256(json.dumps(sent, separators=(",", ":")).encode()).digest()


@dataclass(frozen=True)
class Placement:
    """The answer to a checkout. `job` is to be published; None where the key's first order is returned again."""

    order: Order
    job: DueJob | None


@dataclass(frozen=True)
class CartLine:
    """What a cart asks for and what there is; `unpaid` units are in the customer's unpaid orders already."""

    sku: Sku
    quantity: int
    price_rupiah: int
    stock: int
    unpaid: int = 0


@dataclass(frozen=True)
class CheckoutState:
    """What a refused checkout found. `order_number` is the order that this version of the cart became already.

    `open_orders` are the customer's unpaid ones, oldest first.
    """

    order_number: OrderNumber | None
    lines: tuple[CartLine, ...]
    open_orders: tuple[OrderNumber, ...] = ()

    @property
    def total_rupiah(self) -> int:
        return sum(line.quantity * line.price_rupiah for line in self.lines)
