"""Why an order was not placed, found or cancelled."""

from dataclasses import dataclass

from skincare.errors import SkincareError, TransientError
from skincare.identifiers import OrderNumber, Sku


@dataclass(frozen=True)
class Shortage:
    """A line that asks for more units than there are."""

    sku: Sku
    requested: int
    available: int


@dataclass(frozen=True)
class Excess:
    """A line that asks for more units than its customer may still order unpaid."""

    sku: Sku
    requested: int
    allowed: int


class CheckoutRefused(SkincareError):
    """A constraint refused the checkout and nothing was written; a second look says why."""

    def __init__(self) -> None:
        super().__init__("the checkout was refused")


class CartEmpty(SkincareError):
    """There is nothing to order."""

    def __init__(self) -> None:
        super().__init__("the cart is empty")


class CartAlreadyOrdered(SkincareError):
    """This version of the cart became an order under another idempotency key."""

    def __init__(self, order_number: OrderNumber) -> None:
        super().__init__(f"the cart was ordered already as {order_number}")
        self.order_number = order_number


class OutOfStock(SkincareError):
    """Somebody else was faster."""

    def __init__(self, items: tuple[Shortage, ...]) -> None:
        super().__init__(f"out of stock: {', '.join(item.sku for item in items)}")
        self.items = items


class TooManyOpenOrders(SkincareError):
    """The customer has as many unpaid orders as one may have; they must be paid or cancelled first."""

    def __init__(self, order_numbers: tuple[OrderNumber, ...], limit: int) -> None:
        super().__init__(f"there are {len(order_numbers)} unpaid orders, of at most {limit}")
        self.order_numbers = order_numbers
        self.limit = limit


class PurchaseLimitExceeded(SkincareError):
    """With its unpaid orders the customer would hold too many units of a product."""

    def __init__(self, items: tuple[Excess, ...]) -> None:
        super().__init__(f"too many units: {', '.join(item.sku for item in items)}")
        self.items = items


class PriceChanged(SkincareError):
    """The cart costs more than the customer was shown."""

    def __init__(self, total_rupiah: int) -> None:
        super().__init__(f"the total is now {total_rupiah} rupiah")
        self.total_rupiah = total_rupiah


class CheckoutOvertaken(TransientError):
    """Whatever refused the checkout was over a moment later; nothing was written, and trying again may succeed."""

    def __init__(self) -> None:
        super().__init__("the cart or its products changed during the checkout")


class IdempotencyKeyReused(SkincareError):
    """The key belongs to an earlier request that said something else."""

    def __init__(self) -> None:
        super().__init__("the idempotency key was used for another request")


class OrderUnknown(SkincareError):
    """The caller has no such order, whether or not somebody else has. The number is not repeated: it is
    untrusted text from a URL."""

    def __init__(self) -> None:
        super().__init__("there is no such order")


class OrderNotCancellable(SkincareError):
    """The order has gone too far to be cancelled."""

    def __init__(self, order_number: OrderNumber, status: str) -> None:
        super().__init__(f"order {order_number} is {status}")
        self.status = status
