"""`skincare stock …`: what stands on the shelf, and what moved it."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated
from uuid import uuid4

import typer

from cli.oncall import LOCAL, AsJson, Exit, OnCall, Stage, end, typed
from cli.parameters import Reason, as_field, parsed_by
from cli.tables import print_json, print_said, print_table
from skincare.identifiers import read_sku

if TYPE_CHECKING:
    from skincare.inventory.models import Movement, Stock

app = typer.Typer(no_args_is_help=True, help="What stands on the shelf, and what moved it.")

SkuArgument = Annotated[str, typer.Argument(metavar="SKU", parser=parsed_by(read_sku), help="The product's SKU.")]


@app.callback()
def stock() -> None:
    """What stands on the shelf, and what moved it."""


@app.command()
def show(sku: SkuArgument, *, stage: Stage = LOCAL, as_json: AsJson = False) -> None:
    """Print a product's units: for sale, on the shelf, reserved by orders that are not shipped."""
    from oncall.stock_requests import ShowStock

    _print(OnCall(stage).ask(typed(ShowStock, sku=sku)), as_json=as_json)


@app.command()
def adjust(
    sku: SkuArgument,
    *,
    delta: Annotated[
        int,
        typer.Option(callback=as_field("StockDelta"), help="How many more units are there than is known; -3: less."),
    ],
    key: Annotated[
        str | None,
        typer.Option(
            callback=as_field("StockKey"),
            help="The same key again adjusts nothing.",
            show_default=False,
        ),
    ] = None,
    reason: Reason,
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Correct what stands on the shelf. More than there is for sale cannot be taken away."""
    from oncall.stock_requests import AdjustStock

    oncall = OnCall(stage)
    request = typed(
        AdjustStock,
        claimed_identity=oncall.identity,
        sku=sku,
        delta=delta,
        key=key or f"adjust:{uuid4()}",
        reason=reason,
    )
    _print(oncall.ask(request), as_json=as_json)


@app.command()
def movements(
    sku: SkuArgument,
    *,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many of the newest.")] = 100,
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Print what moved a product's stock, newest first."""
    from oncall.request import MOST_JOBS
    from oncall.stock_requests import ListMovements

    oncall, before = OnCall(stage), None
    found: list[Movement] = []
    while len(found) < limit:
        page = oncall.ask(typed(ListMovements, sku=sku, before=before, limit=min(limit - len(found), MOST_JOBS)))
        if page is None:
            end(Exit.NOT_ALL, "There is no such product.")
        found += page.movements
        if not page.more:
            break
        before = found[-1].id
    if as_json:
        print_json(found)
        return
    print_said(
        ("id", "when", "reason", "on hand", "reserved", "order", "reference", "lot", "expires", "by"),
        [
            (
                row.id,
                row.at,
                row.reason,
                f"{row.on_hand:+}" if row.on_hand else "",
                f"{row.reserved:+}" if row.reserved else "",
                row.order_number,
                row.reference,
                row.lot,
                row.expires_on,
                row.moved_by,
            )
            for row in found
        ],
    )


def _print(stock: "Stock | None", *, as_json: bool) -> None:
    if stock is None:
        end(Exit.NOT_ALL, "There is no such product.")
    values = asdict(stock)
    if as_json:
        print_json(values)
    else:
        print_table(list(values), [list(values.values())])
