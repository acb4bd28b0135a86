"""A request of the on-call engineer: its base, and the fields that several have."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from skincare.addresses import parse_email
from skincare.errors import InvalidInput
from skincare.identifiers import REFUND_KEY_PATTERN, STOCK_KEY_PATTERN, JobId, read_order_number, read_sku
from skincare.operations.models import Change
from skincare.text import filled_line

if TYPE_CHECKING:
    from skincare.operations.changes import Changes
    from skincare.operations.queries import Queries

MOST_JOBS = 100
"""Jobs of one request: a redrive of so many stays far below the time limit of a statement."""


MOST_UNITS = 1_000_000_000
"""Units of stock that one request moves."""


def _spelling(text: str) -> str:
    """Return an address as it is stored, without its case."""
    try:
        return str(parse_email(text.strip()))
    except InvalidInput:
        raise ValueError("is no address that mail can be sent to") from None


def _not_zero(number: int) -> int:
    if number == 0:
        raise ValueError("must not be 0")
    return number


OneLine = AfterValidator(filled_line)
JobIds = Annotated[list[UUID], Field(min_length=1, max_length=MOST_JOBS)]
Identity = Annotated[str, Field(min_length=1, max_length=2048, pattern=r"^[\x20-\x7e]+$"), OneLine]
Reason = Annotated[str, Field(min_length=1, max_length=500), OneLine]
OrderNumberText = Annotated[str, AfterValidator(read_order_number)]
RowId = Annotated[int, Field(ge=1, lt=2**63)]
RefundReason = Annotated[str, Field(min_length=1, max_length=200), OneLine]
RefundKey = Annotated[str, Field(pattern=REFUND_KEY_PATTERN)]
TransactionId = Annotated[str, Field(min_length=1, max_length=128), OneLine]
Email = Annotated[str, Field(max_length=320), AfterValidator(_spelling)]
SuppressionReason = Annotated[str, Field(min_length=1, max_length=500), OneLine]
StockKey = Annotated[str, Field(pattern=STOCK_KEY_PATTERN)]
StockDelta = Annotated[int, Field(ge=-MOST_UNITS, le=MOST_UNITS), AfterValidator(_not_zero)]
SkuText = Annotated[str, AfterValidator(read_sku)]
Name = Annotated[str, Field(min_length=1, max_length=100), OneLine]
Who = Annotated[str, Field(min_length=1, max_length=320), OneLine]


class Request(BaseModel):
    """The base of every request; `answer` is the class of what comes back."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    answer: ClassVar[type[Any]]


class Query(Request):
    """A request that only looks."""

    def run(self, queries: "Queries") -> object | None:
        """Return what was asked for, None where there is no such thing."""
        raise NotImplementedError


class ChangeRequest(Request):
    """A request that changes something. `claimed_identity` is who STS says the caller is."""

    answer: ClassVar[type[Any]] = Change

    claimed_identity: Identity
    reason: Reason | None = None

    def run(self, changes: "Changes") -> object:
        """Make the change and return what became of it."""
        raise NotImplementedError


def in_order(job_ids: Sequence[UUID]) -> list[JobId]:
    """Return each once, in the order in which all statements lock them."""
    return [JobId(job_id) for job_id in sorted(set(job_ids))]
