"""Problem details (RFC 9457): every error that a client can meet, by its stable code."""

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from api.errors import FieldError

CONTENT_TYPE = "application/problem+json"


@dataclass(frozen=True)
class ProblemType:
    """One kind of error. `code` is a contract with clients: it is never renamed."""

    code: str
    status: int
    title: str
    detail: str


class Problem(BaseModel):
    """The body of an error answer. Some problems have members of their own, named in the API's documentation."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: str
    request_id: str
    errors: tuple[FieldError, ...] | None = None


def problem(kind: ProblemType, request_id: str, **members: Any) -> Problem:
    """Describe one occurrence of a problem; `members` extend or, as `detail` does, replace the usual ones."""
    usual = Problem(
        type=f"urn:skincare:problem:{kind.code}",
        title=kind.title,
        status=kind.status,
        detail=kind.detail,
        instance=f"urn:skincare:request:{request_id}",
        code=kind.code,
        request_id=request_id,
    )
    return usual.model_copy(update=members)


REQUEST_MALFORMED = ProblemType("request_malformed", 400, "The request cannot be read", "The request cannot be read.")
IDEMPOTENCY_KEY_MISSING = ProblemType(
    "idempotency_key_missing",
    400,
    "Idempotency-Key is missing",
    "Send the header Idempotency-Key with a new value for each order and the same value when repeating a request.",
)
IDEMPOTENCY_KEY_INVALID = ProblemType(
    "idempotency_key_invalid",
    400,
    "Idempotency-Key is invalid",
    "Send one header Idempotency-Key of 1 to 255 visible ASCII characters, bare or in double quotes, without a comma.",
)
UNAUTHENTICATED = ProblemType("unauthenticated", 401, "Please sign in", "The request carries no usable token.")
ROUTE_UNKNOWN = ProblemType("route_unknown", 404, "No such route", "There is nothing at this path.")
PRODUCT_UNKNOWN = ProblemType("product_unknown", 404, "No such product", "There is no product with this SKU.")
ORDER_UNKNOWN = ProblemType("order_unknown", 404, "No such order", "You have no order with this number.")
METHOD_NOT_ALLOWED = ProblemType(
    "method_not_allowed", 405, "Method not allowed", "The header Allow names the methods that this path answers to."
)
CART_EMPTY = ProblemType("cart_empty", 409, "The cart is empty", "There is nothing in the cart to order.")
CART_FULL = ProblemType("cart_full", 409, "The cart is full", "A cart holds at most 50 lines.")
CART_ALREADY_ORDERED = ProblemType(
    "cart_already_ordered",
    409,
    "The cart was ordered already",
    "This version of the cart became the order named here under another Idempotency-Key.",
)
OUT_OF_STOCK = ProblemType(
    "out_of_stock", 409, "Out of stock", "The items listed here ask for more units than are left."
)
PRICE_CHANGED = ProblemType(
    "price_changed",
    409,
    "The price has changed",
    "The cart costs more than expected_total_rupiah; total_rupiah is its total now.",
)
ORDER_NOT_CANCELLABLE = ProblemType(
    "order_not_cancellable", 409, "The order cannot be cancelled", "The order has gone too far to be cancelled."
)
CONCURRENT_REQUEST = ProblemType(
    "concurrent_request",
    409,
    "Another request is in the way",
    "Another request for the same key, cart or products is running. Repeat this one, with the same Idempotency-Key.",
)
BODY_TOO_LARGE = ProblemType("body_too_large", 413, "The body is too large", "A body has at most 65536 bytes.")
MEDIA_TYPE_UNSUPPORTED = ProblemType(
    "media_type_unsupported", 415, "Unsupported media type", "Send JSON with the content type application/json."
)
VALIDATION_FAILED = ProblemType(
    "validation_failed", 422, "The request is invalid", "The fields listed in errors break a rule."
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
UNAVAILABLE = ProblemType(
    "unavailable", 503, "Temporarily unavailable", "Repeat the request shortly, with the same Idempotency-Key."
)
