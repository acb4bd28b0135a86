"""Why a person's change was refused."""

from collections.abc import Sequence

from skincare.errors import SkincareError
from skincare.identifiers import OrderNumber


class RecipientSuppressed(SkincareError):
    """Nothing is sent to the order's address: its suppression has to be lifted first."""

    def __init__(self, order_number: OrderNumber) -> None:
        super().__init__(f"the address of order {order_number} is suppressed; lift that first")


class NothingToPause(SkincareError):
    """No queue or job type has this name; `fields` says which are there, by the field of the request."""

    def __init__(self, field: str, known: Sequence[str]) -> None:
        super().__init__("there is nothing of this name to pause")
        self.fields = {field: f"must be one of {', '.join(known)}"}
