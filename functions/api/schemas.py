"""What clients send and what they get, field by field. Money is whole rupiah."""

from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from skincare.carts.models import MAX_LINES, MAX_QUANTITY
from skincare.orders.activity import ActivityStatus
from skincare.orders.models import OrderStatus, PaymentStatus
from skincare.orders.terms import WayToPay
from skincare.text import FILLED_LINE_PATTERN, FILLED_LINES_PATTERN, filled_line, filled_lines

MOST_EXPENSIVE_PRODUCT = 100_000_000
_HIGHEST_TOTAL = MAX_LINES * MAX_QUANTITY * MOST_EXPENSIVE_PRODUCT


def digits(text: object) -> object:
    """Return the text; raises `ValueError` where it is not one to three digits."""
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
        int, Field(ge=1, le=100, description="The most entries that the page may have."), BeforeValidator(digits)
    ] = 50
    cursor: Annotated[
        Annotated[str, AfterValidator(filled_line)] | None, Field(description="The `next_cursor` of the page before.")
    ] = None


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
