"""docs/payments.md says which state an order ends in: every cell of its tables is walked here."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from psycopg import Connection

from skincare.app import App
from skincare.identifiers import OrderNumber
from skincare.orders.models import OrderStatus
from skincare.payments.models import EventStatus
from tests.architecture.tree import ROOT
from tests.support.payments import new_order, order_status, tell

TOTAL = 150_000
HALF = TOTAL // 2
PAID_STATES = {"paid", "partially_refunded", "refunded"}


@dataclass(frozen=True)
class Cell:
    """An event that meets an order in a state, and what the page says of both."""

    of_the_payer: bool
    state: str
    event: str
    expected: tuple[str, ...]


def cells() -> Iterator[Cell]:
    page = (ROOT / "docs" / "payments.md").read_text(encoding="utf-8")
    tables = re.findall(r"^An event of ([^\n]*):\n\n((?:\|[^\n]*\n)+)", page, flags=re.MULTILINE)
    assert [title for title, _ in tables] == ["the payment that paid the order", "any other transaction"]
    for title, table in tables:
        head, _, *rows = [[part.strip() for part in line.strip("|").split(" | ")] for line in table.splitlines()]
        for row in rows:
            for state, cell in zip(head[1:], row[1:], strict=True):
                expected = tuple(re.findall(r"`(\w+)`", cell))
                yield Cell(title.startswith("the payment"), state.strip("`| "), row[0].strip("| "), expected)


def bring_to(state: str, number: OrderNumber, app: App, conn: Connection) -> None:
    """Bring a new order into a state, as gateways and customers would."""
    if state in PAID_STATES:
        tell(app, number, "paid", f"{number}-payer")
    if state in PAID_STATES - {"paid"}:
        amount = TOTAL if state == "refunded" else HALF
        tell(app, number, state, f"{number}-payer", minute=1, amount_rupiah=amount)
    if state in {"cancelled", "expired"}:
        conn.execute("UPDATE orders SET status = %s WHERE order_number = %s", [state, number])
    assert order_status(conn, number) == state


def amount_of(cell: Cell) -> int:
    if cell.event == "partially_refunded":
        return HALF
    if cell.event == "refunded" and cell.state == "partially_refunded":
        return TOTAL - HALF
    return TOTAL - 1 if cell.event == "paid, other amount" else TOTAL


class TestTheTruthTable:
    def test_has_a_cell_for_every_event_in_every_state(self) -> None:
        seen = {(cell.of_the_payer, cell.state, cell.event) for cell in cells()}
        reported = {*(str(status) for status in EventStatus), "paid, other amount"}
        assert seen == {(False, str(state), event) for state in OrderStatus for event in reported} | {
            (True, state, event) for state in PAID_STATES for event in reported
        }

    def test_is_what_happens(self, app: App, conn: Connection) -> None:
        for cell in cells():
            number = new_order(conn)
            bring_to(cell.state, number, app, conn)
            transaction = f"{number}-{'payer' if cell.of_the_payer else 'other'}"
            status = cell.event.partition(",")[0]
            tell(app, number, status, transaction, minute=9, amount_rupiah=amount_of(cell))
            found = conn.execute(
                "SELECT kind FROM payment_anomalies a JOIN orders o ON o.id = a.order_id"
                " WHERE o.order_number = %s AND a.withdrawn_at IS NULL",
                [number],
            ).fetchall()
            assert (order_status(conn, number), *(kind for (kind,) in found)) == cell.expected, cell
