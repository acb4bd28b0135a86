"""What can go wrong with a cart."""

from skincare.carts.models import MAX_LINES
from skincare.errors import SkincareError


class CartFull(SkincareError):
    """The cart has as many lines as an order may have."""

    def __init__(self) -> None:
        super().__init__(f"a cart holds at most {MAX_LINES} lines")
