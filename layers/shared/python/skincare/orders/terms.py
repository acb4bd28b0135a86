"""Terms: how long an order holds its stock unpaid, and how much one customer may hold."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from skincare.config import Settings

EXPIRY_GRACE = timedelta(minutes=15)
"""What a payment of the last moment has to reach us before we ask the gateway about it."""


class WayToPay(StrEnum):
    """Ways to pay that may have more time. The value is a contract with clients: never renamed."""

    BANK_TRANSFER = "bank_transfer"
    COUNTER = "counter"
    """In cash, over the counter of a store."""


@dataclass(frozen=True)
class Terms:
    """All windows count from the checkout. The defaults are those of the settings.

    `window` is for whoever says nothing about how they pay, `windows` has those of the ways that have another one.
    A customer has at most `open_orders` unpaid orders, and in all of them together `open_units` of a product.
    """

    window: timedelta = timedelta(minutes=60)
    windows: Mapping[WayToPay, timedelta] = field(default_factory=dict)
    open_orders: int = 3
    open_units: int = 10

    def window_of(self, way: WayToPay | None) -> timedelta | None:
        """Return how long after its checkout an order may be paid in this way; None for the time that it has."""
        return None if way is None else self.windows.get(way, self.window)


USUAL = Terms()


def terms_of(settings: Settings) -> Terms:
    """Return the shop's terms."""
    return Terms(
        window=timedelta(minutes=settings.payment_window_minutes),
        windows={
            WayToPay.BANK_TRANSFER: timedelta(minutes=settings.bank_transfer_window_minutes),
            WayToPay.COUNTER: timedelta(minutes=settings.counter_window_minutes),
        },
        open_orders=settings.open_order_limit,
        open_units=settings.open_unit_limit,
    )
