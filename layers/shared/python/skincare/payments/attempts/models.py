"""A payment that was started, and the order that it is for."""

from dataclasses import dataclass
from datetime import datetime

from skincare.orders.models import OrderStatus
from skincare.payments.models import Attempt


@dataclass(frozen=True)
class Payable:
    """An order that nobody else can change until the transaction ends; one that `is_late` takes no more money."""

    id: int
    status: OrderStatus
    is_late: bool


@dataclass(frozen=True)
class StartedAttempt:
    """An attempt at a gateway; without a URL the gateway was not asked yet, or we did not hear its answer."""

    attempt: Attempt
    gateway: str
    redirect_url: str | None


@dataclass(frozen=True)
class PaymentStart:
    """Where the customer pays, and until when."""

    redirect_url: str
    expires_at: datetime
