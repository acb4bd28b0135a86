"""Why stock was not moved."""

from skincare.errors import SkincareError
from skincare.inventory.models import Stock


class StockNegative(SkincareError):
    """Less than nothing would be left; `stock` is what there is."""

    def __init__(self, stock: Stock) -> None:
        super().__init__(
            f"{stock.sku} has {stock.on_hand} on the shelf, {stock.reserved} of them reserved and {stock.available}"
            " for sale: so many cannot be taken away"
        )
        self.stock = stock


class StockKeyReused(SkincareError):
    """The key belongs to another movement."""

    def __init__(self) -> None:
        super().__init__("this key belongs to another movement of stock")
