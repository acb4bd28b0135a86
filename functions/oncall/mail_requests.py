"""What can be asked about mail: who gets none, and what was not delivered."""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from oncall.request import MOST_JOBS, ChangeRequest, Email, OrderNumberText, Query, Reason, RowId, SuppressionReason
from skincare.identifiers import OrderNumber
from skincare.operations.models import Change, SuppressedPage

if TYPE_CHECKING:
    from skincare.operations.changes import Changes
    from skincare.operations.queries import Queries


class ListSuppressed(Query):
    """Addresses that get no mail, by number: all, that of `email`, or those whose reason begins with `reason`."""

    answer: ClassVar[type[Any]] = SuppressedPage
    operation: Literal["list_suppressed"] = "list_suppressed"
    email: Email | None = None
    reason: SuppressionReason | None = None
    after: RowId | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_JOBS)] = MOST_JOBS

    def run(self, queries: "Queries") -> SuppressedPage:
        return queries.suppressed(email=self.email, reason=self.reason, after=self.after, limit=self.limit)


class LiftSuppressions(ChangeRequest):
    """Let addresses get mail again: one by itself, or some by their numbers."""

    operation: Literal["lift_suppressions"] = "lift_suppressions"
    email: Email | None = None
    ids: Annotated[list[RowId], Field(min_length=1, max_length=MOST_JOBS)] | None = None
    reason: Reason

    @model_validator(mode="after")
    def _names_one_way(self) -> Self:
        if (self.email is None) == (self.ids is None):
            raise ValueError("must name either email or ids")
        return self

    def run(self, changes: "Changes") -> Change:
        return changes.lift(email=self.email, ids=sorted(set(self.ids or [])))


class ResendMails(ChangeRequest):
    """Send the mails about an order that were not delivered."""

    operation: Literal["resend_mails"] = "resend_mails"
    order_number: OrderNumberText
    reason: Reason

    def run(self, changes: "Changes") -> Change:
        return changes.resend_mails(OrderNumber(self.order_number))
