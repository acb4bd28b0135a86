"""Why a person's change was refused."""

from skincare.errors import SkincareError
from skincare.identifiers import OrderNumber


class RecipientSuppressed(SkincareError):
    """Nothing is sent to the order's address: its suppression has to be lifted first."""

    def __init__(self, order_number: OrderNumber) -> None:
        super().__init__(f"the address of order {order_number} is suppressed; lift that first")
