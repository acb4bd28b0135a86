"""Problem details (RFC 9457): every error that a client can meet, by its stable code."""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from api.errors import FieldError
from skincare.carts.models import MAX_LINES
from skincare.deployment.http import HTTP
from skincare.orders.errors import Excess, Shortage
from skincare.orders.models import OrderStatus

CONTENT_TYPE = "application/problem+json"


class Problem(BaseModel):
    """The body of an error answer (RFC 9457). Decide by `code`: it is never renamed."""

    # Most containers never meet most problems: each model is built when it is first needed.
    model_config = ConfigDict(frozen=True, defer_build=True)

    type: Annotated[str, Field(description="A URN made of `code`.")]
    title: Annotated[str, Field(description="What kind of problem it is, for people.")]
    status: Annotated[int, Field(description="The HTTP status of the answer.")]
    detail: Annotated[str, Field(description="What to know about this occurrence, for people.")]
    instance: Annotated[str, Field(description="A URN made of `request_id`.")]
    code: Annotated[str, Field(description="The kind of problem, for programs.")]
    request_id: Annotated[str, Field(description="As in the header X-Request-Id: quote it when asking for help.")]


class FieldsProblem(Problem):
    errors: Annotated[tuple[FieldError, ...], Field(min_length=1, description="Every rule that the request breaks.")]


class OrderedProblem(Problem):
    order_number: Annotated[str, Field(description="The order that the cart became.")]
    link: Annotated[str, Field(description="Its path.")]


class ShortageProblem(Problem):
    items: Annotated[tuple[Shortage, ...], Field(min_length=1, description="The lines that ask for too much.")]


class OpenOrdersProblem(Problem):
    open: Annotated[int, Field(description="How many unpaid orders the customer has.")]
    limit: Annotated[int, Field(description="How many one may have.")]
    order_numbers: Annotated[tuple[str, ...], Field(min_length=1, description="The unpaid orders, oldest first.")]


class ExcessProblem(Problem):
    items: Annotated[
        tuple[Excess, ...], Field(min_length=1, description="The lines that ask for more than is `allowed`.")
    ]


class PriceProblem(Problem):
    total_rupiah: Annotated[int, Field(description="What the cart costs now, in whole rupiah.")]


class StatusProblem(Problem):
    order_status: Annotated[OrderStatus, Field(description="How far the order has gone.")]


@dataclass(frozen=True)
class ProblemType:
    """One kind of error. `code` is a contract with clients: it is never renamed. `body` has its members."""

    code: str
    status: int
    title: str
    detail: str
    body: type[Problem] = Problem

    @property
    def uri(self) -> str:
        return f"urn:skincare:problem:{self.code}"


def problem(kind: ProblemType, request_id: str, **members: Any) -> Problem:
    """Describe one occurrence of a problem; `members` are its own or, as `detail` does, replace the usual ones."""
    usual = {
        "type": kind.uri,
        "title": kind.title,
        "status": kind.status,
        "detail": kind.detail,
        "instance": f"urn:skincare:request:{request_id}",
        "code": kind.code,
        "request_id": request_id,
    }
    return kind.body.model_validate(usual | members)


REQUEST_MALFORMED = ProblemType("request_malformed", 400, "The request cannot be read", "The request cannot be read.")
IDEMPOTENCY_KEY_MISSING = ProblemType(
    "idempotency_key_missing",
    400,
    "Idempotency-Key is missing",
    "Send the header Idempotency-Key with a new value for each order and the same value when repeating a request.",
    FieldsProblem,
)
IDEMPOTENCY_KEY_INVALID = ProblemType(
    "idempotency_key_invalid",
    400,
    "Idempotency-Key is invalid",
    "Send one header Idempotency-Key of 1 to 255 visible ASCII characters, bare or in double quotes, without a comma.",
    FieldsProblem,
)
UNAUTHENTICATED = ProblemType("unauthenticated", 401, "Please sign in", "The request carries no usable token.")
ROUTE_UNKNOWN = ProblemType("route_unknown", 404, "No such route", "There is nothing at this path.")
PRODUCT_UNKNOWN = ProblemType("product_unknown", 404, "No such product", "There is no product with this SKU.")
ORDER_UNKNOWN = ProblemType("order_unknown", 404, "No such order", "You have no order with this number.")
INVOICE_UNKNOWN = ProblemType(
    "invoice_unknown", 404, "No such invoice", "You have no paid order with this number, so there is no invoice."
)
SIGNATURE_INVALID = ProblemType(
    "signature_invalid", 401, "The signature is not valid", "Nothing proves that the payment gateway sent this."
)
GATEWAY_UNKNOWN = ProblemType(
    "gateway_unknown", 404, "No such payment gateway", "No payment gateway of this name sends us events."
)
METHOD_NOT_ALLOWED = ProblemType(
    "method_not_allowed", 405, "Method not allowed", "The header Allow names the methods that this path answers to."
)
CART_EMPTY = ProblemType("cart_empty", 409, "The cart is empty", "There is nothing in the cart to order.")
CART_FULL = ProblemType("cart_full", 409, "The cart is full", f"A cart holds at most {MAX_LINES} lines.")
CART_ALREADY_ORDERED = ProblemType(
    "cart_already_ordered",
    409,
    "The cart was ordered already",
    "This version of the cart became the order named here under another Idempotency-Key.",
    OrderedProblem,
)
TOO_MANY_OPEN_ORDERS = ProblemType(
    "too_many_open_orders",
    409,
    "Too many unpaid orders",
    "Pay or cancel one of the orders listed here first.",
    OpenOrdersProblem,
)
PURCHASE_LIMIT_EXCEEDED = ProblemType(
    "purchase_limit_exceeded",
    409,
    "Too many units",
    "The items listed here ask for more units than one customer may order unpaid.",
    ExcessProblem,
)
OUT_OF_STOCK = ProblemType(
    "out_of_stock",
    409,
    "Out of stock",
    "The items listed here ask for more units than are left.",
    ShortageProblem,
)
PRICE_CHANGED = ProblemType(
    "price_changed",
    409,
    "The price has changed",
    "The cart costs more than expected_total_rupiah; total_rupiah is its total now.",
    PriceProblem,
)
ORDER_NOT_CANCELLABLE = ProblemType(
    "order_not_cancellable",
    409,
    "The order cannot be cancelled",
    "The order has gone too far to be cancelled.",
    StatusProblem,
)
ORDER_NOT_PAYABLE = ProblemType(
    "order_not_payable",
    409,
    "The order cannot be paid",
    "The order is not pending any more, or its time to be paid is over.",
    StatusProblem,
)
PAYMENT_REFUSED = ProblemType(
    "payment_refused",
    409,
    "The payment gateway refuses",
    "The payment gateway does not take a payment of this order, for instance because its total is below the least that"
    " it collects. Repeating the request does not help.",
)
CONCURRENT_REQUEST = ProblemType(
    "concurrent_request",
    409,
    "Another request is in the way",
    "Another request for the same cart, order or products is running. Repeat this one shortly.",
)
BODY_TOO_LARGE = ProblemType(
    "body_too_large", 413, "The body is too large", f"A body has at most {HTTP.max_body_bytes} bytes."
)
MEDIA_TYPE_UNSUPPORTED = ProblemType(
    "media_type_unsupported", 415, "Unsupported media type", "Send JSON with the content type application/json."
)
VALIDATION_FAILED = ProblemType(
    "validation_failed",
    422,
    "The request is invalid",
    "The fields listed in errors break a rule.",
    FieldsProblem,
)
IDEMPOTENCY_KEY_REUSED = ProblemType(
    "idempotency_key_reused",
    422,
    "Idempotency-Key was used for another request",
    "The key belongs to an earlier request with another body. Use a new key for a new order.",
)
INTERNAL_ERROR = ProblemType(
    "internal_error", 500, "Something went wrong", "The error is on our side and has been recorded."
)
UNAVAILABLE = ProblemType("unavailable", 503, "Temporarily unavailable", "Repeat the request shortly.")

REPEATABLE = frozenset({CONCURRENT_REQUEST, UNAVAILABLE})
"""Problems that pass; where the route takes an Idempotency-Key, their detail says to keep it."""

EVERY: tuple[ProblemType, ...] = tuple(value for value in vars().values() if isinstance(value, ProblemType))
