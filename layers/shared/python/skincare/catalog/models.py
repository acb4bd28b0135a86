"""What the shop sells."""

from dataclasses import dataclass

from skincare.identifiers import Sku


@dataclass(frozen=True)
class Product:
    """A product as customers see it. Money is whole rupiah; `stock` is the number of units left."""

    sku: Sku
    name: str
    price_rupiah: int
    stock: int
