"""`skincare payments …`: what of payments waits for a worker or for a person."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, NoReturn
from uuid import uuid4

import typer

from cli.ids import an_event, event_id
from cli.oncall import LOCAL, AsJson, Exit, OnCall, Stage, end, typed
from cli.parameters import OrderArgument, as_field, parsed_by, why
from cli.payment_list import payment_list
from cli.tables import print_json, print_table
from skincare.money import read_rupiah, rupiah

if TYPE_CHECKING:
    from skincare.operations.models import Change

app = typer.Typer(no_args_is_help=True, help="Payment events, and money that does not fit.")


@app.callback()
def payments() -> None:
    """Payment events, and money that does not fit."""


app.command("list")(payment_list)


@app.command()
def resolve(
    anomaly: Annotated[int, typer.Argument(metavar="ID", min=1, help="The anomaly, as `payments list` numbers it.")],
    *,
    reason: Annotated[str, why("What was done about it; it is written down.")],
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Note that a person has dealt with an anomaly."""
    from oncall.payment_requests import ResolveAnomaly

    oncall = OnCall(stage)
    change = oncall.ask(typed(ResolveAnomaly, claimed_identity=oncall.identity, anomaly_id=anomaly, reason=reason))
    if as_json:
        print_json(change.counts)
    else:
        print("Resolved." if change.changed else "No such anomaly is open.")
    end(Exit.DONE if change.changed else Exit.NOT_ALL)


@app.command()
def review(
    event: Annotated[str, an_event("A quarantined event, as `payments list` shows it.")],
    *,
    reason: Annotated[str, why("What was found; it is written down.")],
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Note that a person has looked at an event that could not be read."""
    from oncall.payment_requests import ReviewEvent

    oncall = OnCall(stage)
    request = typed(ReviewEvent, claimed_identity=oncall.identity, event_id=event_id(oncall, event), reason=reason)
    change = oncall.ask(request)
    if as_json:
        print_json(change.counts)
    else:
        print("Reviewed." if change.changed else "No such event waits for a person.")
    end(Exit.DONE if change.changed else Exit.NOT_ALL)


@app.command("set-aside")
def set_aside(
    event: Annotated[str, an_event("An event that waits, as `payments list` shows it.")],
    *,
    reason: Annotated[str, why("Why it can never be applied; it is written down.")],
    even_paid: Annotated[
        bool, typer.Option("--even-paid", help="Although it says that a customer has paid: no order will say so.")
    ] = False,
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Give up an event that can never be applied, with its job. `payments take-up` takes it back."""
    from oncall.payment_requests import SetAsideEvent

    oncall = OnCall(stage)
    change = oncall.ask(
        typed(
            SetAsideEvent,
            claimed_identity=oncall.identity,
            event_id=event_id(oncall, event),
            reason=reason,
            even_paid=even_paid,
        )
    )
    _tell(change, as_json=as_json, done="Set aside; nothing waits for it any more.", left=_NOT_SET_ASIDE)


@app.command("take-up")
def take_up(
    event: Annotated[str, an_event("An event that was set aside.")],
    *,
    reason: Annotated[str, why("Why it may be applied now; it is written down.")],
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Try an event again that was set aside, by a person or because its time was over."""
    from oncall.payment_requests import TakeUpEvent

    oncall = OnCall(stage)
    request = typed(TakeUpEvent, claimed_identity=oncall.identity, event_id=event_id(oncall, event), reason=reason)
    left = {"not_set_aside": "No event of this id was set aside, or it was for what it says."}
    _tell(oncall.ask(request), as_json=as_json, done="It waits again; its job runs within two minutes.", left=left)


@app.command()
def settle(
    finding: Annotated[int, typer.Argument(metavar="ID", min=1, help="The finding, as `payments list` numbers it.")],
    *,
    reason: Annotated[str, why("What was done about it; it is written down.")],
    undo: Annotated[bool, typer.Option("--undo", help="It was not dealt with after all.")] = False,
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Note that a person has dealt with what the reconciliation found."""
    from oncall.payment_requests import ReopenFinding, SettleFinding

    oncall = OnCall(stage)
    request = ReopenFinding if undo else SettleFinding
    change = oncall.ask(typed(request, claimed_identity=oncall.identity, finding_id=finding, reason=reason))
    left = {"not_open": "No such finding is open.", "not_settled": "No such finding is settled."}
    _tell(change, as_json=as_json, done="Open again." if undo else "Settled.", left=left)


_NOT_SET_ASIDE = {
    "needs_even_paid": (
        "Left alone: it says that a customer has paid. Ask the gateway where the money is. --even-paid gives it up all"
        " the same: no order will ever say that it is paid by it."
    ),
    "applied": "Left alone: it is applied already.",
    "ignored": "Left alone: it changes nothing and waits for nobody.",
    "quarantined": "Left alone: it is set aside already; `payments review` notes that you have looked at it.",
    "unknown": "There is no such event.",
}


def _tell(change: "Change", *, as_json: bool, done: str, left: Mapping[str, str]) -> NoReturn:
    if as_json:
        print_json(change.counts)
    else:
        print(done if change.changed else next(left[name] for name, count in change.counts.items() if count))
    end(Exit.DONE if change.changed else Exit.NOT_ALL)


@app.command()
def refund(
    order: OrderArgument,
    *,
    reason: Annotated[str, why("Why; it is sent to the gateway and written down.", field="RefundReason")],
    amount: Annotated[
        int | None,
        typer.Option(
            metavar="RUPIAH", parser=parsed_by(read_rupiah), help="59000 or Rp59.000; all that is left by default."
        ),
    ] = None,
    anomaly: Annotated[int | None, typer.Option(min=1, help="The anomaly whose money goes back.")] = None,
    transaction: Annotated[
        str | None,
        typer.Option(callback=as_field("TransactionId"), help="The transaction; the one that pays by default."),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(callback=as_field("RefundKey"), help="Names this refund: asked for twice, it is made once."),
    ] = None,
    keep_stock: Annotated[
        bool, typer.Option("--keep-stock", help="The goods are gone: a full refund does not put them back on sale.")
    ] = False,
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Give money back: the gateway is asked within two minutes, and its event books the refund."""
    from oncall.payment_requests import Refund

    oncall = OnCall(stage)
    asked = oncall.ask(
        typed(
            Refund,
            claimed_identity=oncall.identity,
            order_number=order,
            key=key or str(uuid4()),
            reason=reason,
            amount_rupiah=amount,
            transaction_id=transaction,
            anomaly_id=anomaly,
            keep_stock=keep_stock,
        )
    )
    if as_json:
        print_json(asked)
    else:
        print(f"Refund {asked.key} of {rupiah(asked.amount_rupiah)} to {asked.gateway} is {asked.state}.")


@app.command()
def reconcile(*, stage: Stage = LOCAL, as_json: AsJson = False) -> None:
    """Compare orders and payments, fix what is safe, and print what was fixed and found."""
    from oncall.payment_requests import Reconcile

    oncall = OnCall(stage)
    repaired: list[tuple[str, str]] = []
    while True:
        result = oncall.ask(typed(Reconcile, claimed_identity=oncall.identity))
        repaired += result.mended
        if result.finished:
            break
        typer.echo("Looking through the rest …", err=True)
    result = replace(result, mended=tuple(repaired))
    if as_json:
        print_json(result)
        return
    rows = [("enqueued anew", *each) for each in result.mended] + [("to review", *each) for each in result.findings]
    if rows:
        print_table(("", "kind", "subject"), rows, title="Reconciliation")
    print(f"{len(result.mended)} fixed, {len(result.findings)} to review.")
