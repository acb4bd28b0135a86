"""Requests about what is kept how long."""

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from oncall.request import Query
from skincare.retention.models import RetentionState

if TYPE_CHECKING:
    from skincare.operations.queries import Queries


class ShowRetention(Query):
    """What is kept how long, and what of it has had its time."""

    answer: ClassVar[type[Any]] = RetentionState
    operation: Literal["show_retention"] = "show_retention"

    def run(self, queries: "Queries") -> RetentionState:
        return queries.retention_state()
