"""What clients send and what they get, field by field. Money is whole rupiah."""

from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from api.text import flaw
from skincare.carts.models import MAX_LINES, MAX_QUANTITY
from skincare.orders.models import OrderStatus, PaymentStatus

_DEAREST_PRODUCT = 100_000_000
_HIGHEST_TOTAL = MAX_LINES * MAX_QUANTITY * _DEAREST_PRODUCT


def _one_line(text: str) -> str:
    if message := flaw(text):
        raise ValueError(message)
    return text


def _lines(text: str) -> str:
    if message := flaw(text, lines=True):
        raise ValueError(message)
    return text


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


class PageQuery(BaseModel):
    """Which part of a list. `cursor` is the `next_cursor` of the page before."""

    model_config = ConfigDict(frozen=True)

    limit: Annotated[int, BeforeValidator(_digits), Field(ge=1, le=100)] = 50
    cursor: str | None = None


class CartItemChange(RequestModel):
    quantity: int = Field(ge=1, le=MAX_QUANTITY)


class OrderRequest(RequestModel):
    """A checkout of the caller's cart. With `expected_total_rupiah` a higher total is refused."""

    expected_total_rupiah: int | None = Field(default=None, ge=1, le=_HIGHEST_TOTAL)
    recipient_name: Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_one_line)] | None = None
    shipping_address: Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(_lines)] | None = None
    note: Annotated[str, Field(min_length=1, max_length=1000), AfterValidator(_lines)] | None = None


class HealthAnswer(AnswerModel):
    status: str


class ProductAnswer(AnswerModel):
    sku: str
    name: str
    price_rupiah: int
    stock: int


class ProductPage(AnswerModel):
    data: tuple[ProductAnswer, ...]
    has_more: bool
    next_cursor: str | None


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
    order_number: str
    status: OrderStatus
    payment_status: PaymentStatus
    total_rupiah: int
    created_at: AwareDatetime
    items: tuple[OrderItemAnswer, ...]


class OrderPage(AnswerModel):
    data: tuple[OrderAnswer, ...]
    has_more: bool
    next_cursor: str | None
