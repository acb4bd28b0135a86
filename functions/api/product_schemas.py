"""What clients look for in the catalog and what they get. Money is whole rupiah."""

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from api.schemas import MOST_EXPENSIVE_PRODUCT, AnswerModel, PageQuery, ProductAnswer, Query, digits
from skincare.catalog.search.models import Sort
from skincare.catalog.search.words import LONGEST
from skincare.text import FILLED_LINE_PATTERN, filled_line

_NO_LEADING_ZEROS = re.compile(r"0|[1-9][0-9]{0,8}")


def _rupiah(text: object) -> object:
    if isinstance(text, str) and not _NO_LEADING_ZEROS.fullmatch(text):
        raise ValueError("must be whole rupiah in at most nine digits")
    return text


def _truth(text: object) -> object:
    if not isinstance(text, str) or text not in {"true", "false"}:
        raise ValueError("must be true or false")
    return text == "true"


def _sort(text: object) -> object:
    if not isinstance(text, str) or text not in set(Sort):
        raise ValueError(f"must be one of {', '.join(Sort)}")
    return text


_Rupiah = Annotated[int, Field(ge=0, le=MOST_EXPENSIVE_PRODUCT), BeforeValidator(_rupiah)]
_FILLED = Field(min_length=1, json_schema_extra={"pattern": FILLED_LINE_PATTERN})
_SearchText = Annotated[str, Field(max_length=LONGEST), _FILLED, AfterValidator(filled_line)]


class ProductQuery(PageQuery):
    """What to look for in the catalog; each member narrows what is found."""

    q: Annotated[
        _SearchText | None, Field(description="Words, of which the last may be unfinished; or a SKU or barcode.")
    ] = None
    category: Annotated[
        Annotated[str, Field(max_length=200), _FILLED, AfterValidator(filled_line)] | None,
        Field(description="A category, with all that it is divided into."),
    ] = None
    brand: Annotated[
        Annotated[str, Field(max_length=100), _FILLED, AfterValidator(filled_line)] | None,
        Field(description="A brand, as it is written."),
    ] = None
    min_price_rupiah: Annotated[_Rupiah | None, Field(description="The lowest price.")] = None
    max_price_rupiah: Annotated[_Rupiah | None, Field(description="The highest price.")] = None
    in_stock: Annotated[
        Annotated[bool, BeforeValidator(_truth)] | None, Field(description="Whether some are left.")
    ] = None
    sort: Annotated[
        Annotated[Sort, BeforeValidator(_sort)] | None,
        Field(description="By relevance where there are words, else by SKU."),
    ] = None


class SuggestionQuery(Query):
    """What somebody has typed so far."""

    q: Annotated[_SearchText, Field(description="Words, of which the last may be unfinished.")]
    limit: Annotated[int, Field(ge=1, le=20, description="The most suggestions."), BeforeValidator(digits)] = 8


class SegmentAnswer(AnswerModel):
    """A piece of a text."""

    text: str
    is_match: Annotated[bool, Field(description="Whether the text was found by it.")]


class HighlightsAnswer(AnswerModel):
    """Where the words stand; the pieces of a text, put together, are it or a part of it."""

    name: tuple[SegmentAnswer, ...]
    description: tuple[SegmentAnswer, ...]


class FoundProductAnswer(ProductAnswer):
    """A product of a list; `highlights` is null where no words were searched for."""

    highlights: HighlightsAnswer | None


class CountAnswer(AnswerModel):
    """How many of all that was found have this value."""

    value: str
    count: int


class PriceRangeAnswer(AnswerModel):
    """How many of all that was found cost so much; null is an open end."""

    min_price_rupiah: int | None
    max_price_rupiah: int | None
    count: int


class FacetsAnswer(AnswerModel):
    """What was found on all pages, by what it is."""

    category: tuple[CountAnswer, ...]
    brand: tuple[CountAnswer, ...]
    price: tuple[PriceRangeAnswer, ...]


class ProductPage(AnswerModel):
    """A part of the catalog, or of what was found in it; `next_cursor` leads to the next one."""

    data: tuple[FoundProductAnswer, ...]
    has_more: bool
    next_cursor: str | None
    facets: Annotated[FacetsAnswer | None, Field(description="On the first page of a search.")]
    nearest: Annotated[bool, Field(description="Nothing has these words: this is what looks most like them.")]


class SuggestionAnswer(AnswerModel):
    """A product that may be meant."""

    sku: str
    name: str


class SuggestionsAnswer(AnswerModel):
    """Products that a half-typed text may mean."""

    data: tuple[SuggestionAnswer, ...]
