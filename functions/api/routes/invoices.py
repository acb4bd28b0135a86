"""The invoices of the caller's orders. The services are imported at their first call: a checkout needs none of it."""

from typing import TYPE_CHECKING

from api import problems
from api.route import Request, Route
from api.schemas import CreditNotesAnswer, InvoiceAnswer
from skincare.app import App
from skincare.observability import logger
from skincare.orders.errors import OrderUnknown

if TYPE_CHECKING:
    from skincare.invoices.credit_notes.models import CreditNotes
    from skincare.invoices.models import InvoiceFile

# Nobody may keep an answer: the link in it ends within minutes, and opens the file to whoever has it.
_NEVER_KEPT = {"cache-control": "no-store"}
_LOOK_AGAIN_S = 2


def fetch_invoice(request: Request[None, None], app: App) -> "InvoiceFile":
    """Fetch the invoice of a paid order.

    `Location` leads to its PDF for five minutes. While the file is being made the answer is 202 with
    `Retry-After`.
    """
    from skincare.invoices import service

    order_number = request.order_number
    invoice = service.find_invoice(request.customer.user_id, order_number, database=app.database, files=app.files)
    logger.append_keys(order_number=order_number)
    return invoice


def list_credit_notes(request: Request[None, None], app: App) -> "CreditNotes":
    """List the credit notes of an order.

    Each has a link to its PDF that lasts five minutes, or none while the file is being made.
    """
    from skincare.invoices.credit_notes import service
    from skincare.invoices.credit_notes.models import CreditNotes

    order_number = request.order_number
    notes = service.find_credit_notes(request.customer.user_id, order_number, database=app.database, files=app.files)
    if notes is None:
        raise OrderUnknown
    logger.append_keys(order_number=order_number)
    return CreditNotes(notes)


def _headers(invoice: "InvoiceFile") -> dict[str, str]:
    if invoice.link is None:
        return {"retry-after": str(_LOOK_AGAIN_S), **_NEVER_KEPT}
    return {"location": invoice.link, **_NEVER_KEPT}


ROUTES = (
    Route[None, None](
        "GET",
        "/v1/orders/{order_number}/invoice",
        fetch_invoice,
        InvoiceAnswer,
        status=303,
        header_names=("location", "cache-control"),
        other_statuses={202: ("retry-after", "cache-control")},
        status_of=lambda invoice: 202 if invoice.link is None else 303,
        headers=_headers,
        problems=(problems.INVOICE_UNKNOWN,),
    ),
    Route[None, None](
        "GET",
        "/v1/orders/{order_number}/credit-notes",
        list_credit_notes,
        CreditNotesAnswer,
        headers=lambda _: _NEVER_KEPT,
        header_names=("cache-control",),
        problems=(problems.ORDER_UNKNOWN,),
    ),
)
