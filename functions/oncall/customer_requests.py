"""Requests about customers as persons: what is known about them is handed out, or erased."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from oncall.request import ChangeRequest, OneLine, Reason, Request, RowId
from skincare.customers.models import Accounts, CustomerRequests, ExportLink
from skincare.customers.service import MOST_ACCOUNTS

Who = Annotated[str, Field(min_length=1, max_length=320), OneLine]


def _is_an_account(text: str) -> str:
    if text.startswith("erased:"):
        raise ValueError("names an account that is erased")
    return text


UserId = Annotated[str, Field(min_length=1, max_length=255), OneLine, AfterValidator(_is_an_account)]
UserIds = Annotated[list[UserId], Field(min_length=1, max_length=MOST_ACCOUNTS)]


class FindCustomer(Request):
    """The accounts that a mail address, or an account's own name, leads to."""

    answer: ClassVar[type[Any]] = Accounts
    operation: Literal["find_customer"] = "find_customer"
    who: Who


class ListCustomerRequests(Request):
    """Which requests of customers wait, and for what; and the newest that are done."""

    answer: ClassVar[type[Any]] = CustomerRequests
    operation: Literal["list_customer_requests"] = "list_customer_requests"


class ExportCustomer(ChangeRequest):
    """Write all that is known about accounts into a file for each, by a job."""

    answer: ClassVar[type[Any]] = CustomerRequests
    operation: Literal["export_customer"] = "export_customer"
    user_ids: UserIds
    reason: Reason


class EraseCustomer(ChangeRequest):
    """Erase accounts, by a job each, once nothing of them is open. `delivered`: nothing is on its way to them."""

    answer: ClassVar[type[Any]] = CustomerRequests
    operation: Literal["erase_customer"] = "erase_customer"
    user_ids: UserIds
    delivered: bool = False
    reason: Reason


class FetchCustomerExport(ChangeRequest):
    """A link to the file of an export, for a few minutes."""

    answer: ClassVar[type[Any]] = ExportLink
    operation: Literal["fetch_customer_export"] = "fetch_customer_export"
    request_id: RowId
    reason: Reason


CUSTOMER_REQUESTS: tuple[type[Request], ...] = (
    FindCustomer,
    ListCustomerRequests,
    ExportCustomer,
    EraseCustomer,
    FetchCustomerExport,
)
