"""One request, one call."""

from collections.abc import Callable
from typing import Any

from oncall import requests
from oncall.answers import refusal, success
from oncall.refusals import RequestRefused
from oncall.request import ChangeRequest, Query, Request
from skincare.app import App
from skincare.customers.errors import ExportNotReady
from skincare.errors import TransientError
from skincare.inventory.errors import StockKeyReused, StockNegative
from skincare.observability import describe, logger, trace
from skincare.operations.changes import Changes
from skincare.operations.errors import NothingToPause, RecipientSuppressed
from skincare.operations.models import Caller
from skincare.operations.queries import Queries
from skincare.orders.errors import OrderUnknown
from skincare.payments.errors import RefundNotPossible

_NOT_POSSIBLE = (ExportNotReady, OrderUnknown, RecipientSuppressed, RefundNotPossible, StockKeyReused, StockNegative)


def answer(event: object, app: Callable[[], App], *, invocation_id: str) -> dict[str, Any]:
    """Do what an event asks for. Never raises: an error of Lambda's would quote what a driver says."""
    try:
        request = requests.read(event)
    except RequestRefused as error:
        logger.warning("oncall.request_malformed", problems=len(error.fields))
        return refusal("request_malformed", "The request is malformed; nothing was done.", error.fields)
    operation = type(request).model_fields["operation"].default
    try:
        found = _do(request, app(), invocation_id)
    except NothingToPause as error:
        return refusal("request_malformed", "The request is malformed; nothing was done.", error.fields)
    except _NOT_POSSIBLE as error:
        logger.warning("oncall.not_possible", operation=operation, error=describe(error))
        return refusal("not_possible", f"{str(error)[:1].upper()}{str(error)[1:]}.")
    except TransientError as error:
        logger.warning("oncall.unavailable", operation=operation, error=describe(error))
        return refusal("database_unavailable", f"Not now: {error}. Ask again; what is done is not done twice.")
    except Exception as error:  # noqa: BLE001  see above
        logger.error("oncall.failed", operation=operation, error=describe(error), trace=trace(error))
        return refusal("failed", "It failed; the log of this invocation says where.")
    logger.info("oncall.answered", operation=operation, found=found is not None)
    return refusal("not_found", "There is no such thing.") if found is None else success(request, found)


def _do(request: Request, app: App, invocation_id: str) -> object | None:
    match request:
        case Query():
            return request.run(Queries(app.database))
        case ChangeRequest():
            caller = Caller(request.claimed_identity, invocation_id)
            return request.run(Changes(app.database, app.publisher, app.files, caller=caller, reason=request.reason))
        case _:
            raise TypeError(type(request).__name__)
