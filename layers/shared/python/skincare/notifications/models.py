"""What notifications know about an order and what became of telling its customer."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from skincare.identifiers import OrderNumber, Sku
from skincare.locales import Locale


class NotificationType(StrEnum):
    """What a customer is told about an order, at most once each. The value is stored: never renamed."""

    ORDER_CONFIRMATION = "order_confirmation"
    PAYMENT_RECEIVED = "payment_received"


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
class OrderToTell:
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
    told: NotificationStatus | None
    """How an earlier attempt to tell its customer the same ended."""
    suppressed: bool
    """Mail to this address bounced for good or was complained about."""
    pay_before: datetime | None = None
    """Until when it may be paid; None where it does not wait for money."""
