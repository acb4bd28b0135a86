"""What notifications know about an order and what became of telling its customer."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from skincare.identifiers import OrderNumber, Sku
from skincare.locales import Locale


class NotificationType(StrEnum):
    """The kinds of notification about an order. The value is stored: never renamed."""

    ORDER_CONFIRMATION = "order_confirmation"
    PAYMENT_RECEIVED = "payment_received"
    ORDER_CANCELLED = "order_cancelled"
    ORDER_EXPIRED = "order_expired"
    REFUND = "refund"


@dataclass(frozen=True)
class Notice:
    """One notification about an order, sent at most once; one for each refund, by its number."""

    kind: NotificationType
    refund_no: int | None = None

    @property
    def recorded(self) -> str:
        """As it is recorded once it was sent, such as `order_confirmation` and `refund:1`."""
        return self.kind if self.refund_no is None else f"{self.kind}:{self.refund_no}"


class NotificationStatus(StrEnum):
    """How telling ended, as stored."""

    SENT = "sent"
    UNDELIVERABLE = "undeliverable"


class NotificationOutcome(StrEnum):
    """How telling a customer ended. Each of them completes the job."""

    SENT = "sent"
    ALREADY_SENT = "already_sent"
    ORDER_GONE = "order_gone"
    ORDER_CANCELLED = "order_cancelled"
    """The order ended, or never got so far: what the mail says would be wrong."""
    REFUND_GONE = "refund_gone"
    CUSTOMER_ERASED = "customer_erased"
    """Nobody knows any more whom to tell."""
    UNDELIVERABLE = "undeliverable"


@dataclass(frozen=True)
class OrderLine:
    """One product of an order at its frozen price."""

    sku: Sku
    name: str
    quantity: int
    unit_price_rupiah: int

    @property
    def total_rupiah(self) -> int:
        return self.quantity * self.unit_price_rupiah


@dataclass(frozen=True)
class Letterhead:
    """Who writes, as every mail ends; what is None is left out. Answers go to `reply_to` instead of the sender."""

    name: str | None = None
    address: str | None = None
    """Its lines."""
    email: str | None = None
    phone: str | None = None
    reply_to: str | None = None


@dataclass(frozen=True)
class RefundContext:
    """Money that went back, in whole rupiah."""

    amount_rupiah: int
    credit_note: str | None = None
    """The number of the credit note for it."""


@dataclass(frozen=True)
class NotificationContext:
    """An order with all that is needed to decide about a mail and to write it."""

    id: int
    order_number: OrderNumber
    status: str
    total_rupiah: int
    locale: Locale
    lines: tuple[OrderLine, ...]
    email: str = field(repr=False)
    recipient_name: str | None = field(repr=False)
    shipping_address: str | None = field(repr=False)
    recorded: NotificationStatus | None
    """How an earlier attempt to tell its customer the same ended."""
    suppressed: bool
    """Mail to this address bounced for good or was complained about."""
    erased: bool = False
    """Its customer was erased: the order has no address any more."""
    pay_before: datetime | None = None
    """Until when it may be paid; None where it does not wait for money."""
    refund: RefundContext | None = None
    """The refund that the mail is about, where it is about one."""
