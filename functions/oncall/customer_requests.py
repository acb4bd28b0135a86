"""Requests about customers as persons: what is known about them is handed out, or erased."""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field

from oncall.request import ChangeRequest, OneLine, Query, Reason, RowId
from skincare.customers.models import MOST_ACCOUNTS, Accounts, CustomerRequests, ExportLink, RequestKind

if TYPE_CHECKING:
    from skincare.operations.changes import Changes
    from skincare.operations.queries import Queries

Who = Annotated[str, Field(min_length=1, max_length=320), OneLine]


def _is_an_account(text: str) -> str:
    if text.startswith("erased:"):
        raise ValueError("names an account that is erased")
    return text


UserId = Annotated[str, Field(min_length=1, max_length=255), OneLine, AfterValidator(_is_an_account)]
UserIds = Annotated[list[UserId], Field(min_length=1, max_length=MOST_ACCOUNTS)]


class FindCustomer(Query):
    """The accounts that a mail address, or an account's own name, leads to."""

    answer: ClassVar[type[Any]] = Accounts
    operation: Literal["find_customer"] = "find_customer"
    who: Who

    def run(self, queries: "Queries") -> Accounts:
        return queries.accounts(self.who)


class ListCustomerRequests(Query):
    """Which requests of customers wait, and for what; and the newest that are done."""

    answer: ClassVar[type[Any]] = CustomerRequests
    operation: Literal["list_customer_requests"] = "list_customer_requests"

    def run(self, queries: "Queries") -> CustomerRequests:
        return queries.customer_requests()


class ExportCustomer(ChangeRequest):
    """Write all that is known about accounts into a file for each, by a job."""

    answer: ClassVar[type[Any]] = CustomerRequests
    operation: Literal["export_customer"] = "export_customer"
    user_ids: UserIds
    reason: Reason

    def run(self, changes: "Changes") -> CustomerRequests:
        return changes.ask_for_customer(RequestKind.EXPORT, self.user_ids, delivered=False)


class EraseCustomer(ChangeRequest):
    """Erase accounts, by a job each, once nothing of them is open. `delivered`: nothing is on its way to them."""

    answer: ClassVar[type[Any]] = CustomerRequests
    operation: Literal["erase_customer"] = "erase_customer"
    user_ids: UserIds
    delivered: bool = False
    reason: Reason

    def run(self, changes: "Changes") -> CustomerRequests:
        return changes.ask_for_customer(RequestKind.ERASE, self.user_ids, delivered=self.delivered)


class FetchCustomerExport(ChangeRequest):
    """A link to the file of an export, for a few minutes."""

    answer: ClassVar[type[Any]] = ExportLink
    operation: Literal["fetch_customer_export"] = "fetch_customer_export"
    request_id: RowId
    reason: Reason

    def run(self, changes: "Changes") -> ExportLink:
        return changes.fetch_customer_export(self.request_id)
