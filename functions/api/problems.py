"""Every error that a client can meet, by its stable code: the one place that says what an error is over HTTP."""

from typing import Any

from api import errors
from api.problem import (
    ExcessProblem,
    FieldsProblem,
    OpenOrdersProblem,
    OrderedProblem,
    PriceProblem,
    ProblemType,
    ShortageProblem,
    StatusProblem,
)
from skincare.carts.errors import CartFull
from skincare.carts.models import MAX_LINES
from skincare.catalog.errors import ProductUnknown
from skincare.database.connection import LockUnavailable
from skincare.deployment.http import HTTP
from skincare.errors import ConfigurationError, InvalidInput, TransientError
from skincare.invoices.errors import InvoiceUnknown
from skincare.orders import errors as orders
from skincare.payments import errors as payments


def _own_words(error: Exception) -> dict[str, Any]:
    return {"detail": f"{str(error)[:1].upper()}{str(error)[1:]}."}


def _retry_after(error: TransientError | ConfigurationError) -> dict[str, str]:
    if isinstance(error, ConfigurationError):
        # A setting or a secret is missing: it comes with a deploy, and not within seconds.
        return {"retry-after": "60"}
    wait = error.retry_after.total_seconds() if error.retry_after else 1
    return {"retry-after": str(max(1, round(wait)))}


def _at_idempotency_key(error: Exception) -> dict[str, Any]:
    return {"errors": (errors.FieldError("/headers/idempotency-key", str(error)),)}


def _broken_rules(error: errors.RequestInvalid | InvalidInput) -> dict[str, Any]:
    return {
        "errors": (errors.FieldError(error.field, error.message),) if isinstance(error, InvalidInput) else error.errors
    }


REQUEST_MALFORMED = ProblemType(
    "request_malformed",
    400,
    "The request cannot be read",
    "The request cannot be read.",
    errors=(errors.RequestMalformed, payments.WebhookMalformed),
    members=_own_words,
)
IDEMPOTENCY_KEY_MISSING = ProblemType(
    "idempotency_key_missing",
    400,
    "Idempotency-Key is missing",
    "Send the header Idempotency-Key with a new value for each order and the same value when repeating a request.",
    FieldsProblem,
    errors=(errors.IdempotencyKeyMissing,),
    members=_at_idempotency_key,
)
IDEMPOTENCY_KEY_INVALID = ProblemType(
    "idempotency_key_invalid",
    400,
    "Idempotency-Key is invalid",
    "Send one header Idempotency-Key of 1 to 255 visible ASCII characters, bare or in double quotes, without a comma.",
    FieldsProblem,
    errors=(errors.IdempotencyKeyInvalid,),
    members=_at_idempotency_key,
)
UNAUTHENTICATED = ProblemType(
    "unauthenticated",
    401,
    "Please sign in",
    "The request carries no usable token.",
    errors=(errors.Unauthenticated,),
    header="www-authenticate",
    headers=lambda _: {"www-authenticate": "Bearer"},
)
ROUTE_UNKNOWN = ProblemType(
    "route_unknown", 404, "No such route", "There is nothing at this path.", errors=(errors.RouteUnknown,)
)
PRODUCT_UNKNOWN = ProblemType(
    "product_unknown", 404, "No such product", "There is no product with this SKU.", errors=(ProductUnknown,)
)
ORDER_UNKNOWN = ProblemType(
    "order_unknown", 404, "No such order", "You have no order with this number.", errors=(orders.OrderUnknown,)
)
INVOICE_UNKNOWN = ProblemType(
    "invoice_unknown",
    404,
    "No such invoice",
    "You have no paid order with this number, so there is no invoice.",
    errors=(InvoiceUnknown,),
)
SIGNATURE_INVALID = ProblemType(
    "signature_invalid",
    401,
    "The signature is not valid",
    "Nothing proves that the payment gateway sent this.",
    errors=(payments.SignatureInvalid,),
    members=_own_words,
)
GATEWAY_UNKNOWN = ProblemType(
    "gateway_unknown",
    404,
    "No such payment gateway",
    "No payment gateway of this name sends us events.",
    errors=(payments.GatewayUnknown,),
)
METHOD_NOT_ALLOWED = ProblemType(
    "method_not_allowed",
    405,
    "Method not allowed",
    "The header Allow names the methods that this path answers to.",
    errors=(errors.MethodNotAllowed,),
    header="allow",
    headers=lambda error: {"allow": ", ".join(error.allowed)},
)
CART_EMPTY = ProblemType(
    "cart_empty", 409, "The cart is empty", "There is nothing in the cart to order.", errors=(orders.CartEmpty,)
)
CART_FULL = ProblemType(
    "cart_full", 409, "The cart is full", f"A cart holds at most {MAX_LINES} lines.", errors=(CartFull,)
)
CART_ALREADY_ORDERED = ProblemType(
    "cart_already_ordered",
    409,
    "The cart was ordered already",
    "This version of the cart became the order named here under another Idempotency-Key.",
    OrderedProblem,
    errors=(orders.CartAlreadyOrdered,),
    members=lambda error: {"order_number": error.order_number, "link": f"/v1/orders/{error.order_number}"},
)
TOO_MANY_OPEN_ORDERS = ProblemType(
    "too_many_open_orders",
    409,
    "Too many unpaid orders",
    "Pay or cancel one of the orders listed here first.",
    OpenOrdersProblem,
    errors=(orders.TooManyOpenOrders,),
    members=lambda error: {
        "open": len(error.order_numbers),
        "limit": error.limit,
        "order_numbers": error.order_numbers,
    },
)
PURCHASE_LIMIT_EXCEEDED = ProblemType(
    "purchase_limit_exceeded",
    409,
    "Too many units",
    "The items listed here ask for more units than one customer may order unpaid.",
    ExcessProblem,
    errors=(orders.PurchaseLimitExceeded,),
    members=lambda error: {"items": error.items},
)
OUT_OF_STOCK = ProblemType(
    "out_of_stock",
    409,
    "Out of stock",
    "The items listed here ask for more units than are left.",
    ShortageProblem,
    errors=(orders.OutOfStock,),
    members=lambda error: {"items": error.items},
)
PRICE_CHANGED = ProblemType(
    "price_changed",
    409,
    "The price has changed",
    "The cart costs more than expected_total_rupiah; total_rupiah is its total now.",
    PriceProblem,
    errors=(orders.PriceChanged,),
    members=lambda error: {"total_rupiah": error.total_rupiah},
)
ORDER_NOT_CANCELLABLE = ProblemType(
    "order_not_cancellable",
    409,
    "The order cannot be cancelled",
    "The order has gone too far to be cancelled.",
    StatusProblem,
    errors=(orders.OrderNotCancellable,),
    members=lambda error: {"order_status": error.status},
)
ORDER_NOT_PAYABLE = ProblemType(
    "order_not_payable",
    409,
    "The order cannot be paid",
    "The order is not pending any more, or its time to be paid is over.",
    StatusProblem,
    errors=(payments.OrderNotPayable,),
    members=lambda error: {"order_status": error.status},
)
PAYMENT_REFUSED = ProblemType(
    "payment_refused",
    409,
    "The payment gateway refuses",
    "The payment gateway does not take a payment of this order, for instance because its total is below the least that"
    " it collects. Repeating the request does not help.",
    errors=(payments.GatewayRefused,),
)
CONCURRENT_REQUEST = ProblemType(
    "concurrent_request",
    409,
    "Another request is in the way",
    "Another request for the same cart, order or products is running. Repeat this one shortly.",
    errors=(orders.CheckoutOvertaken, LockUnavailable),
    header="retry-after",
    headers=_retry_after,
)
BODY_TOO_LARGE = ProblemType(
    "body_too_large",
    413,
    "The body is too large",
    f"A body has at most {HTTP.max_body_bytes} bytes.",
    errors=(errors.BodyTooLarge,),
)
MEDIA_TYPE_UNSUPPORTED = ProblemType(
    "media_type_unsupported",
    415,
    "Unsupported media type",
    "Send JSON with the content type application/json.",
    errors=(errors.MediaTypeUnsupported,),
)
VALIDATION_FAILED = ProblemType(
    "validation_failed",
    422,
    "The request is invalid",
    "The fields listed in errors break a rule.",
    FieldsProblem,
    errors=(errors.RequestInvalid, InvalidInput),
    members=_broken_rules,
)
IDEMPOTENCY_KEY_REUSED = ProblemType(
    "idempotency_key_reused",
    422,
    "Idempotency-Key was used for another request",
    "The key belongs to an earlier request with another body. Use a new key for a new order.",
    errors=(orders.IdempotencyKeyReused,),
)
INTERNAL_ERROR = ProblemType(
    "internal_error",
    500,
    "Something went wrong",
    "The error is on our side and has been recorded.",
    errors=(Exception,),
)
UNAVAILABLE = ProblemType(
    "unavailable",
    503,
    "Temporarily unavailable",
    "Repeat the request shortly.",
    errors=(TransientError, ConfigurationError),
    header="retry-after",
    headers=_retry_after,
)

REPEATABLE = frozenset({CONCURRENT_REQUEST, UNAVAILABLE})
"""Problems that pass; where the route takes an Idempotency-Key, their detail says to keep it."""

EVERY: tuple[ProblemType, ...] = tuple(value for value in vars().values() if isinstance(value, ProblemType))

_MEANINGS = {error: kind for kind in EVERY for error in kind.errors}


def meaning_of(error: Exception) -> ProblemType:
    """Return what an error is to a client: the class that is nearest in its ancestry decides."""
    return next(_MEANINGS[ancestor] for ancestor in type(error).__mro__ if ancestor in _MEANINGS)
