"""Looking at the catalog."""

from skincare.catalog import repository
from skincare.catalog.errors import ProductUnknown
from skincare.catalog.models import Product
from skincare.database.connection import Database
from skincare.errors import InvalidInput
from skincare.identifiers import Sku, is_sku
from skincare.pages import Page, decode_cursor, page_of


def list_products(*, limit: int, cursor: str | None, database: Database) -> Page[Product]:
    """Return a page of the catalog in the order of SKUs; raises `InvalidInput` for a foreign cursor."""
    after = "" if cursor is None else decode_cursor(cursor)
    if after and not is_sku(after):
        raise InvalidInput("/query/cursor", "is not a cursor of this list")
    with database.connection() as conn:
        products = repository.list_after(conn, after, limit=limit + 1)
    return page_of(products, limit=limit, key=lambda product: product.sku)


def get_product(sku: Sku, *, database: Database) -> Product:
    """Return one product; raises `ProductUnknown`."""
    with database.connection() as conn:
        product = repository.find(conn, sku)
    if product is None:
        raise ProductUnknown
    return product
