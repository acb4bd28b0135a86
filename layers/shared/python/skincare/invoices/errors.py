"""What can go wrong with invoices."""

from skincare.errors import SkincareError


class InvoiceUnknown(SkincareError):
    """The caller has no invoice for such an order: it is somebody else's, not paid, or not there at all."""

    def __init__(self) -> None:
        super().__init__("there is no such invoice")
