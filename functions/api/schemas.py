"""What clients send and what they get, field by field. Money is whole rupiah."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from skincare.carts.models import MAX_LINES, MAX_QUANTITY
from skincare.catalog.search.models import Sort
from skincare.catalog.search.words import LONGEST
from skincare.orders.activity import ActivityStatus
from skincare.orders.models import OrderStatus, PaymentStatus
from skincare.orders.terms import WayToPay
from skincare.text import FILLED_LINE_PATTERN, FILLED_LINES_PATTERN, filled_line, filled_lines

_MOST_EXPENSIVE_PRODUCT = 100_000_000
_HIGHEST_TOTAL = MAX_LINES * MAX_QUANTITY * _MOST_EXPENSIVE_PRODUCT


def _digits(text: object) -> object:
    # int() takes blanks, signs, underscores and digits of other scripts, too.
    if isinstance(text, str) and not (text.isascii() and text.isdigit() and len(text) <= 3):
        raise ValueError("must be digits")
    return text


class RequestModel(BaseModel):
    """A body: exactly these fields and exactly these types."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class AnswerModel(BaseModel):
    """A body of ours, read from the attributes of what a service returned."""

    model_config = ConfigDict(strict=True, from_attributes=True, frozen=True)


class Query(BaseModel):
    """The members of a query: these and no other. A route without any has none."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class PageQuery(Query):
    """Which part of a list."""

    limit: Annotated[
        int, Field(ge=1, le=100, description="The most entries that the page may have."), BeforeValidator(_digits)
    ] = 50
    cursor: Annotated[
        Annotated[str, AfterValidator(filled_line)] | None, Field(description="The `next_cursor` of the page before.")
    ] = None


_NO_LEADING_ZEROS = re.compile(r"0|[1-9][0-9]{0,8}")


def _rupiah(text: object) -> object:
    if isinstance(text, str) and not _NO_LEADING_ZEROS.fullmatch(text):
        raise ValueError("must be whole rupiah in at most nine digits")
    return text


def _truth(text: object) -> object:
    if text not in {"true", "false"}:
        raise ValueError("must be true or false")
    return text == "true"


def _sort(text: object) -> object:
    if text not in set(Sort):
        raise ValueError(f"must be one of {', '.join(Sort)}")
    return text


_Rupiah = Annotated[int, Field(ge=0, le=_MOST_EXPENSIVE_PRODUCT), BeforeValidator(_rupiah)]
_SearchText = Annotated[
    str,
    Field(min_length=1, max_length=LONGEST, json_schema_extra={"pattern": FILLED_LINE_PATTERN}),
    AfterValidator(filled_line),
]


class ProductQuery(PageQuery):
    """What to look for in the catalog; each member narrows what is found."""

    q: Annotated[
        _SearchText | None, Field(description="Words, of which the last may be unfinished; or a SKU or barcode.")
    ] = None
    category: Annotated[
        Annotated[str, Field(min_length=1, max_length=200), AfterValidator(filled_line)] | None,
        Field(description="A category, with all that it is divided into."),
    ] = None
    brand: Annotated[
        Annotated[str, Field(min_length=1, max_length=100), AfterValidator(filled_line)] | None,
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
    limit: Annotated[int, Field(ge=1, le=20, description="The most suggestions."), BeforeValidator(_digits)] = 8


class CartItemChange(RequestModel):
    """How many units of a product the cart shall hold."""

    quantity: int = Field(ge=1, le=MAX_QUANTITY)


_OneLine = Annotated[
    str,
    Field(min_length=1, max_length=200, json_schema_extra={"pattern": FILLED_LINE_PATTERN}),
    AfterValidator(filled_line),
]
_Lines = Annotated[
    str,
    Field(min_length=1, max_length=1000, json_schema_extra={"pattern": FILLED_LINES_PATTERN}),
    AfterValidator(filled_lines),
]


class OrderRequest(RequestModel):
    """A checkout of the caller's cart."""

    expected_total_rupiah: Annotated[
        int | None,
        Field(
            ge=1,
            le=_HIGHEST_TOTAL,
            description="What the customer was shown: a higher total is refused, a lower one is passed on.",
        ),
    ] = None
    recipient_name: _OneLine | None = None
    shipping_address: _Lines | None = None
    note: _Lines | None = None


class PaymentQuery(Query):
    """How the customer means to pay."""

    way_to_pay: Annotated[
        WayToPay | None,
        Field(description="A way that may have more time; without it the order's time stays as it is."),
    ] = None


class PaymentAnswer(AnswerModel):
    """Send the customer to `redirect_url`."""

    redirect_url: Annotated[str, Field(description="The gateway's page.")]
    expires_at: Annotated[AwareDatetime, Field(description="After that ask again for a new page.")]


class HealthAnswer(AnswerModel):
    status: Literal["ok"]


class WebhookAnswer(AnswerModel):
    """The event is stored, now or before."""

    status: Literal["ok"]


class ProductAnswer(AnswerModel):
    """A product; `stock` is what is left in the shop."""

    sku: str
    name: str
    price_rupiah: int
    stock: int


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


class CartItemAnswer(AnswerModel):
    """A line at today's price; `stock` is what is left in the shop."""

    sku: str
    name: str
    quantity: int
    price_rupiah: int
    line_total_rupiah: int
    stock: int


class CartAnswer(AnswerModel):
    """The cart; `version` changes with it."""

    version: int
    items: tuple[CartItemAnswer, ...]
    total_rupiah: int


class OrderItemAnswer(AnswerModel):
    """A line as it was ordered."""

    sku: str
    name: str
    quantity: int
    unit_price_rupiah: int
    line_total_rupiah: int


class OrderAnswer(AnswerModel):
    """An order at the prices of its checkout."""

    order_number: str
    status: OrderStatus
    payment_status: PaymentStatus
    total_rupiah: int
    created_at: AwareDatetime
    expires_at: Annotated[
        AwareDatetime | None, Field(description="Until when it may be paid; null once it does not wait for money.")
    ]
    items: tuple[OrderItemAnswer, ...]


class ActivityAnswer(AnswerModel):
    what: Annotated[str, Field(description="Such as `confirmation_email`; others may follow.")]
    status: ActivityStatus
    at: Annotated[AwareDatetime, Field(description="When the status began.")]


class OrderDetailAnswer(OrderAnswer):
    """An order with what happened for it since it was placed, oldest first."""

    activity: tuple[ActivityAnswer, ...]


class InvoiceAnswer(AnswerModel):
    """The invoice; its file is where `Location` says, or is being made."""

    invoice_number: Annotated[str, Field(description="Such as INV/2026/000001.")]
    status: Literal["ready", "in_progress"]


class CreditNoteAnswer(AnswerModel):
    """A credit note; nobody may keep its `url`, which leads to its PDF for five minutes."""

    credit_note_number: Annotated[str, Field(description="Such as CN/2026/000001.")]
    amount_rupiah: int
    issued_at: AwareDatetime
    status: Literal["ready", "in_progress"]
    url: Annotated[str | None, Field(description="Null while the file is being made.")]


class CreditNotesAnswer(AnswerModel):
    """The credit notes of an order, oldest first: one for each refund of what its invoice is about."""

    data: tuple[CreditNoteAnswer, ...]


class OrderPage(AnswerModel):
    """A part of the caller's orders; `next_cursor` leads to the next one."""

    data: tuple[OrderAnswer, ...]
    has_more: bool
    next_cursor: str | None
