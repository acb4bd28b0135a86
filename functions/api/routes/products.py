"""The catalog, open to everybody."""

from api import problems
from api.route import Request, Route
from api.schemas import PageQuery, ProductAnswer, ProductPage
from skincare.app import App
from skincare.catalog import service
from skincare.catalog.models import Product
from skincare.identifiers import Sku
from skincare.pages import Page


def list_products(request: Request[None, PageQuery], app: App) -> Page[Product]:
    """List the catalog in the order of SKUs."""
    return service.list_products(limit=request.query.limit, cursor=request.query.cursor, database=app.database)


def show_product(request: Request[None, None], app: App) -> Product:
    """Show a product."""
    return service.get_product(Sku(request.path["sku"]), database=app.database)


ROUTES = (
    Route[None, PageQuery]("GET", "/v1/products", list_products, ProductPage, query=PageQuery, public=True),
    Route[None, None](
        "GET",
        "/v1/products/{sku}",
        show_product,
        ProductAnswer,
        public=True,
        problems=(problems.PRODUCT_UNKNOWN,),
    ),
)
