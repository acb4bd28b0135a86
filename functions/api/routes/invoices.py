"""The invoices of the caller's orders."""

from api import problems
from api.route import Request, Route
from api.schemas import InvoiceAnswer
from skincare.app import App
from skincare.invoices import service
from skincare.invoices.models import InvoiceFile
from skincare.observability import logger

# Nobody may keep an answer: the link in it ends within minutes, and opens the file to whoever has it.
_NEVER_KEPT = {"cache-control": "no-store"}
_LOOK_AGAIN_S = 2


def fetch_invoice(request: Request[None, None], app: App) -> InvoiceFile:
    """Fetch the invoice of a paid order.

    `Location` leads to its PDF for five minutes. While the file is being made the answer is 202 with
    `Retry-After`.
    """
    order_number = request.order_number
    invoice = service.find_invoice(request.customer.user_id, order_number, database=app.database, files=app.files)
    logger.append_keys(order_number=order_number)
    return invoice


def _headers(invoice: InvoiceFile) -> dict[str, str]:
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
)
