"""`skincare payments …`: what of payments waits for a worker or for a person."""

from typing import Annotated
from uuid import UUID, uuid4

import typer

from cli.oncall import LOCAL, AsJson, Exit, OnCall, Stage, end, typed
from cli.tables import Rupiah, age, print_json, print_table
from skincare.identifiers import read_order_number
from skincare.money import read_rupiah, rupiah

app = typer.Typer(no_args_is_help=True, help="Payment events, and money that does not fit.")


@app.callback()
def payments() -> None:
    """Payment events, and money that does not fit."""


@app.command("list")
def list_command(*, stage: Stage = LOCAL, as_json: AsJson = False) -> None:
    """Print events that wait, could not be read or told something else than was confirmed, and open anomalies."""
    from oncall.requests import ShowPayments

    found = OnCall(stage).ask(ShowPayments())
    if as_json:
        print_json(found)
        return
    print(
        f"{found.unapplied} events not applied, {found.quarantined} quarantined, {found.open_anomalies} open anomalies."
    )
    if found.events:
        print_table(
            ("event", "gateway", "state", "says", "order", "received", "flaw"),
            [
                (e.id, e.gateway, e.state, e.status, e.order_number, f"{age(e.received_at)} ago", e.flaw)
                for e in found.events
            ],
            title="\nEvents",
        )
    if found.corrected:
        print_table(
            ("event", "gateway", "order", "told", "amount", "confirmed", "amount", "when"),
            [
                (
                    e.id,
                    e.gateway,
                    e.order_number,
                    e.told,
                    e.told_rupiah,
                    e.confirmed,
                    e.confirmed_rupiah,
                    f"{age(e.confirmed_at)} ago",
                )
                for e in found.corrected
            ],
            title="\nTold otherwise than confirmed, in the last week",
        )
    if found.anomalies:
        print_table(
            ("id", "kind", "task", "order", "expected", "told", "give back", "found"),
            [
                (
                    a.id,
                    a.kind,
                    a.task,
                    a.order_number,
                    Rupiah(a.expected_rupiah),
                    Rupiah(a.amount_rupiah),
                    Rupiah(a.give_back_rupiah),
                    f"{age(a.created_at)} ago",
                )
                for a in found.anomalies
            ],
            title="\nOpen anomalies",
        )


@app.command()
def resolve(
    anomaly: Annotated[int, typer.Argument(metavar="ID", min=1, help="The anomaly, as `payments list` numbers it.")],
    *,
    reason: Annotated[str, typer.Option(help="What was done about it; it is written down.")],
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Note that a person has dealt with an anomaly."""
    from oncall.requests import ResolveAnomaly

    oncall = OnCall(stage)
    change = oncall.ask(typed(ResolveAnomaly, claimed_identity=oncall.identity, anomaly_id=anomaly, reason=reason))
    if as_json:
        print_json(change.counts)
    else:
        print("Resolved." if change.changed else "No such anomaly is open.")
    end(Exit.DONE if change.changed else Exit.NOT_ALL)


@app.command()
def review(
    event: Annotated[UUID, typer.Argument(metavar="EVENT", help="A quarantined event, as `payments list` shows it.")],
    *,
    reason: Annotated[str, typer.Option(help="What was found; it is written down.")],
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Note that a person has looked at an event that could not be read."""
    from oncall.requests import ReviewEvent

    oncall = OnCall(stage)
    change = oncall.ask(typed(ReviewEvent, claimed_identity=oncall.identity, event_id=event, reason=reason))
    if as_json:
        print_json(change.counts)
    else:
        print("Reviewed." if change.changed else "No such event waits for a person.")
    end(Exit.DONE if change.changed else Exit.NOT_ALL)


@app.command()
def refund(
    order: Annotated[
        str, typer.Argument(metavar="ORDER", parser=read_order_number, help="The order's number, as heard or written.")
    ],
    *,
    reason: Annotated[str, typer.Option(help="Why; the gateway is told, and it is written down.")],
    amount: Annotated[
        int | None,
        typer.Option(metavar="RUPIAH", parser=read_rupiah, help="59000 or Rp59.000; all that is left by default."),
    ] = None,
    anomaly: Annotated[int | None, typer.Option(help="The anomaly whose money goes back.")] = None,
    transaction: Annotated[str | None, typer.Option(help="The transaction; the one that pays by default.")] = None,
    key: Annotated[str | None, typer.Option(help="Names this refund: asked for twice, it is made once.")] = None,
    keep_stock: Annotated[
        bool, typer.Option("--keep-stock", help="The goods are gone: a full refund does not put them back on sale.")
    ] = False,
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Give money back: the gateway is asked within two minutes, and its event books the refund."""
    from oncall.requests import Refund

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
    """Hold orders and payments against each other, mend what is safe, and print what was mended and found."""
    from oncall.requests import Reconcile

    oncall = OnCall(stage)
    result = oncall.ask(typed(Reconcile, claimed_identity=oncall.identity))
    if as_json:
        print_json(result)
        return
    rows = [("enqueued anew", *each) for each in result.mended] + [("to look at", *each) for each in result.findings]
    if rows:
        print_table(("", "kind", "subject"), rows, title="Reconciliation")
    print(f"{len(result.mended)} mended, {len(result.findings)} to look at.")
