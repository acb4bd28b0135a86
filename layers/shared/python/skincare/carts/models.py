"""A customer's cart: what they may order next."""

from dataclasses import dataclass

from skincare.identifiers import Sku

MAX_LINES = 50
MAX_QUANTITY = 99


@dataclass(frozen=True)
class CartItem:
    """One product in a cart at today's price. Money is whole rupiah; `stock` is the number of units for sale."""

    sku: Sku
    name: str
    quantity: int
    price_rupiah: int
    stock: int

    @property
    def line_total_rupiah(self) -> int:
        return self.quantity * self.price_rupiah


@dataclass(frozen=True)
class Cart:
    """`version` counts the customer's changes; 0 is a cart that was never filled."""

    version: int
    items: tuple[CartItem, ...]

    @property
    def total_rupiah(self) -> int:
        return sum(item.line_total_rupiah for item in self.items)
