"""What customers look for in the catalog, and what they get."""

from dataclasses import dataclass
from enum import StrEnum

from skincare.catalog.models import Product


class Sort(StrEnum):
    """The order of what was found; the values are a contract with clients."""

    RELEVANCE = "relevance"
    """By how well the words fit; by SKU where there are none."""
    PRICE = "price"
    PRICE_DOWN = "-price"
    NEWEST = "newest"
    NAME = "name"


@dataclass(frozen=True)
class Search:
    """What somebody looks for. All of it narrows, and None narrows nothing. Money is whole rupiah, ends included."""

    q: str | None = None
    category: str | None = None
    """A category with all that it is divided into."""
    brand: str | None = None
    min_price_rupiah: int | None = None
    max_price_rupiah: int | None = None
    in_stock: bool | None = None
    sort: Sort | None = None

    @property
    def asks_nothing(self) -> bool:
        """Whether this is the whole catalog in its usual order."""
        return self == Search()

    @property
    def order(self) -> Sort | None:
        """The order of its hits; None is that of SKUs, for what has no words has no relevance."""
        usual = None if self.q is None else Sort.RELEVANCE
        return usual if self.sort in {None, Sort.RELEVANCE} else self.sort


@dataclass(frozen=True)
class Segment:
    """A piece of a text, and whether it is a reason why the text was found."""

    text: str
    is_match: bool


@dataclass(frozen=True)
class Highlights:
    """Where the words stand in a product's texts; the pieces of one, put together, are the text or a part of it."""

    name: tuple[Segment, ...]
    description: tuple[Segment, ...]


@dataclass(frozen=True)
class Hit(Product):
    """A product that was found, as it is in this moment; without words to find there is nothing to highlight."""

    highlights: Highlights | None = None


@dataclass(frozen=True)
class Count:
    """How many of all hits have this value."""

    value: str
    count: int


@dataclass(frozen=True)
class PriceRange:
    """How many of all hits cost so much; None is an open end."""

    min_price_rupiah: int | None
    max_price_rupiah: int | None
    count: int


@dataclass(frozen=True)
class Facets:
    """What the hits of all pages are made of, the most frequent first and prices from the lowest."""

    category: tuple[Count, ...] = ()
    brand: tuple[Count, ...] = ()
    price: tuple[PriceRange, ...] = ()


@dataclass(frozen=True)
class Found:
    """A page of hits; the first page has the facets. `nearest`: nothing has these words, and this looks like them."""

    data: tuple[Hit, ...]
    next_cursor: str | None
    facets: Facets | None = None
    nearest: bool = False

    @property
    def has_more(self) -> bool:
        return self.next_cursor is not None


@dataclass(frozen=True)
class Suggestion:
    """A product that a half-typed text may mean."""

    sku: str
    name: str
