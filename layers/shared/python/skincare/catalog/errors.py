"""What can go wrong with products."""

from skincare.errors import SkincareError


class ProductUnknown(SkincareError):
    """No product has this SKU. The SKU is not repeated: it is untrusted text from a URL."""

    def __init__(self) -> None:
        super().__init__("there is no such product")
