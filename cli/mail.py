"""`skincare mail …`: addresses that get no mail, and mails that were not delivered."""

from typing import Annotated

import typer

from cli.oncall import LOCAL, AsJson, Exit, OnCall, Stage, end, typed
from cli.parameters import OrderArgument, Reason, as_field, why
from cli.tables import age, print_json, print_table

app = typer.Typer(no_args_is_help=True, help="Addresses that get no mail, and mails that were not delivered.")


@app.callback()
def mail() -> None:
    """Addresses that get no mail, and mails that were not delivered."""


@app.command()
def suppressed(
    *,
    email: Annotated[
        str | None, typer.Option(callback=as_field("Email"), help="Only this address, as the customer names it.")
    ] = None,
    reason: Annotated[
        str | None, typer.Option(callback=as_field("SuppressionReason"), help="Only those whose reason begins so.")
    ] = None,
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Print suppressed addresses by their numbers, and which mails to them were not delivered."""
    from oncall.mail_requests import ListSuppressed

    oncall, found, after = OnCall(stage), [], None
    while True:
        page = oncall.ask(typed(ListSuppressed, email=email, reason=reason, after=after))
        found += page.suppressed
        if not page.more:
            break
        after = page.suppressed[-1].id
    if as_json:
        print_json(found)
    elif found:
        rows = [
            (
                row.id,
                row.reason,
                f"{age(row.since)} ago",
                ", ".join(f"{each.order_number} {each.mail}" for each in row.withheld),
            )
            for row in found
        ]
        print_table(("id", "reason", "suppressed", "not delivered"), rows)
    else:
        print("No such address is suppressed.")
    end(Exit.DONE if found else Exit.NOT_ALL)


@app.command()
def lift(
    email: Annotated[
        str | None, typer.Argument(metavar="[EMAIL]", callback=as_field("Email"), help="The address.")
    ] = None,
    *,
    ids: Annotated[
        list[int] | None, typer.Option("--id", min=1, help="A number of `mail suppressed`; repeatable.")
    ] = None,
    reason: Annotated[str, why("Why it will take mail; written down, so name nobody.")],
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Let suppressed addresses get mail again. What was withheld meanwhile is sent by `mail resend`."""
    from oncall.mail_requests import LiftSuppressions, ListSuppressed

    if (email is None) == (not ids):
        end(Exit.WRONG, "Name either an address or numbers.")
    oncall = OnCall(stage)
    # First, because what is lifted is not listed any more.
    before = oncall.ask(typed(ListSuppressed, email=email)).suppressed if email is not None else ()
    change = oncall.ask(
        typed(LiftSuppressions, claimed_identity=oncall.identity, email=email, ids=ids or None, reason=reason)
    )
    if as_json:
        print_json(change.counts)
    else:
        print(f"{change.counts['lifted']} lifted, {change.counts['not_suppressed']} not suppressed.")
        orders = dict.fromkeys(each.order_number for row in before for each in row.withheld)
        if orders and change.changed:
            print("Not delivered; sent only if you say so:")
        for order in orders if change.changed else ():
            print(f'  skincare mail resend {order} --reason "…" --stage {stage}')
    end(Exit.DONE if change.counts["not_suppressed"] == 0 else Exit.NOT_ALL)


@app.command()
def resend(
    order: OrderArgument,
    *,
    reason: Reason,
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Send the mails about an order that were not delivered, those that still say what is true."""
    from oncall.mail_requests import ResendMails

    oncall = OnCall(stage)
    change = oncall.ask(typed(ResendMails, claimed_identity=oncall.identity, order_number=order, reason=reason))
    if as_json:
        print_json({"counts": change.counts, "job_ids": change.job_ids})
    elif change.changed:
        print(f"{change.changed} enqueued; the relay sends them within two minutes.")
    else:
        print("No mail about this order is recorded as not delivered.")
    end(Exit.DONE if change.changed else Exit.NOT_ALL)
