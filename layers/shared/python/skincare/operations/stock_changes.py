"""What the on-call engineer may change about stock."""

from skincare.database.connection import Connection
from skincare.identifiers import Sku
from skincare.inventory import repository
from skincare.inventory.models import Move, Reason, Stock
from skincare.operations.audited import AuditedChanges
from skincare.operations.models import Change


class StockChanges(AuditedChanges):
    """Corrections of what stands on the shelf."""

    def adjust_stock(self, sku: Sku, *, delta: int, key: str) -> Stock | None:
        """Correct what stands on the shelf by so many units, once for each key; None where there is no such product.

        Raises `StockNegative` and `StockKeyReused`.
        """
        after: list[Stock] = []
        move = Move(
            sku=sku,
            on_hand=delta,
            reason=Reason.CORRECTION,
            key=key,
            moved_by=self._caller.claimed_identity[-320:],
            reference=self._reason,
        )

        def act(conn: Connection) -> Change:
            moved = repository.move(conn, move)
            if moved is None:
                return Change(0, counts={"adjusted": 0})
            after.append(moved.stock)
            adjusted = int(not moved.replayed)
            return Change(adjusted, counts={"adjusted": adjusted, "known_already": 1 - adjusted})

        self._do("adjust_stock", {"sku": sku, "delta": delta, "key": key}, act)
        return after[0] if after else None
