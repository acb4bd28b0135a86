"""The catalog, open to everybody."""

from dataclasses import dataclass

from api import problems
from api.product_schemas import ProductPage, ProductQuery, SuggestionQuery, SuggestionsAnswer
from api.route import Request, Route
from api.schemas import ProductAnswer
from skincare.app import App
from skincare.catalog import service
from skincare.catalog.models import Product
from skincare.catalog.search import service as search
from skincare.catalog.search.models import Found, Hit, Search, Suggestion
from skincare.identifiers import Sku


def list_products(request: Request[None, ProductQuery], app: App) -> Found:
    """List the catalog in the order of SKUs, or what is found in it."""
    query = request.query
    wanted = Search(**query.model_dump(exclude={"limit", "cursor"}))
    if not wanted.asks_nothing:
        return search.find(wanted, limit=query.limit, cursor=query.cursor, database=app.database)
    page = service.list_products(limit=query.limit, cursor=query.cursor, database=app.database)
    return Found(tuple(Hit(**vars(product)) for product in page.data), page.next_cursor)


@dataclass(frozen=True)
class Suggestions:
    data: tuple[Suggestion, ...]


def suggest_products(request: Request[None, SuggestionQuery], app: App) -> Suggestions:
    """Suggest products while somebody types."""
    return Suggestions(search.suggest(request.query.q, limit=request.query.limit, database=app.database))


def show_product(request: Request[None, None], app: App) -> Product:
    """Show a product."""
    return service.get_product(Sku(request.path["sku"]), database=app.database)


ROUTES = (
    Route[None, ProductQuery]("GET", "/v1/products", list_products, ProductPage, query=ProductQuery, public=True),
    Route[None, SuggestionQuery](
        "GET", "/v1/products/suggest", suggest_products, SuggestionsAnswer, query=SuggestionQuery, public=True
    ),
    Route[None, None](
        "GET",
        "/v1/products/{sku}",
        show_product,
        ProductAnswer,
        public=True,
        problems=(problems.PRODUCT_UNKNOWN,),
    ),
)
