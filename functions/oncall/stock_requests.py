"""What can be asked about stock."""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from oncall.request import MOST_JOBS, ChangeRequest, Query, Reason, RowId, SkuText, StockDelta, StockKey
from skincare.identifiers import Sku
from skincare.inventory.models import MovementPage, Stock

if TYPE_CHECKING:
    from skincare.operations.changes import Changes
    from skincare.operations.queries import Queries


class ShowStock(Query):
    """A product's units: for sale, on the shelf, reserved."""

    answer: ClassVar[type[Any]] = Stock
    operation: Literal["show_stock"] = "show_stock"
    sku: SkuText

    def run(self, queries: "Queries") -> Stock | None:
        return queries.stock(Sku(self.sku))


class ListMovements(Query):
    """A product's movements, newest first, those with a lower number than `before`."""

    answer: ClassVar[type[Any]] = MovementPage
    operation: Literal["list_movements"] = "list_movements"
    sku: SkuText
    before: RowId | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_JOBS)] = MOST_JOBS

    def run(self, queries: "Queries") -> MovementPage | None:
        return queries.movements(Sku(self.sku), before=self.before, limit=self.limit)


class AdjustStock(ChangeRequest):
    """Correct what stands on the shelf by some units; the same key again corrects nothing."""

    answer: ClassVar[type[Any]] = Stock
    operation: Literal["adjust_stock"] = "adjust_stock"
    sku: SkuText
    delta: StockDelta
    key: StockKey
    reason: Reason

    def run(self, changes: "Changes") -> Stock | None:
        return changes.adjust_stock(Sku(self.sku), delta=self.delta, key=self.key)
