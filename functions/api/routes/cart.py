"""The caller's cart. A change answers the whole cart."""

from api import problems
from api.route import Request, Route
from api.schemas import CartAnswer, CartItemChange
from skincare.app import App
from skincare.carts import service
from skincare.carts.models import Cart
from skincare.identifiers import Sku


def show_cart(request: Request[None, None], app: App) -> Cart:
    """Show the caller's cart at today's prices."""
    return service.get_cart(request.customer.user_id, database=app.database)


def put_item(request: Request[CartItemChange, None], app: App) -> Cart:
    """Set how many units of a product are in the cart."""
    return service.put_item(
        request.customer.user_id, Sku(request.path["sku"]), request.body.quantity, database=app.database
    )


def remove_item(request: Request[None, None], app: App) -> Cart:
    """Take a product out of the cart.

    A product that is not in it changes nothing.
    """
    return service.remove_item(request.customer.user_id, Sku(request.path["sku"]), database=app.database)


ROUTES = (
    Route[None, None]("GET", "/v1/cart", show_cart, CartAnswer),
    Route[CartItemChange, None](
        "PUT",
        "/v1/cart/items/{sku}",
        put_item,
        CartAnswer,
        body=CartItemChange,
        problems=(problems.PRODUCT_UNKNOWN, problems.CART_FULL, problems.CONCURRENT_REQUEST),
    ),
    Route[None, None](
        "DELETE",
        "/v1/cart/items/{sku}",
        remove_item,
        CartAnswer,
        problems=(problems.PRODUCT_UNKNOWN, problems.CONCURRENT_REQUEST),
    ),
)
