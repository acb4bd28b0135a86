"""Filling a cart. Every change raises its version, and one version becomes at most one order."""

from skincare.carts import repository
from skincare.carts.models import Cart
from skincare.catalog.errors import ProductUnknown
from skincare.database.connection import Database
from skincare.identifiers import Sku, UserId


def get_cart(user_id: UserId, *, database: Database) -> Cart:
    """Return the customer's cart."""
    with database.connection() as conn:
        return repository.load(conn, user_id)


def put_item(user_id: UserId, sku: Sku, quantity: int, *, database: Database) -> Cart:
    """Set how many units of a product are wanted and return the cart.

    Raises `ProductUnknown`, and `CartFull` for a line too many. Stock is judged at the checkout.
    """
    with database.connection() as conn:
        if not repository.put_item(conn, user_id, sku, quantity):
            raise ProductUnknown
        return repository.load(conn, user_id)


def remove_item(user_id: UserId, sku: Sku, *, database: Database) -> Cart:
    """Take a product out of the cart, whether or not it is in it, and return the cart; raises `ProductUnknown`."""
    with database.connection() as conn:
        if not repository.remove_item(conn, user_id, sku):
            raise ProductUnknown
        return repository.load(conn, user_id)
