"""`skincare customer …`: what is known about a customer is handed out, or erased."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.oncall import LOCAL, AsJson, Exit, OnCall, Stage, end, typed
from cli.tables import age, print_json, print_said

if TYPE_CHECKING:
    from oncall.request import ChangeRequest
    from skincare.customers.models import Accounts, CustomerRequest

app = typer.Typer(no_args_is_help=True, help="What is known about a customer: hand it out, or erase it.")

Who = Annotated[
    str, typer.Argument(metavar="EMAIL|SUB", help="An address that orders were placed with, or an account's `sub`.")
]
Why = Annotated[str, typer.Option(help="Why; it is written down for good, so name nobody.")]
AllAccounts = Annotated[bool, typer.Option("--all-accounts", help="All accounts that ordered with this address.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Print the accounts that are meant, and change nothing.")]


@app.callback()
def customer() -> None:
    """What is known about a customer: hand it out, or erase it."""


@app.command()
def export(
    who: Who,
    *,
    reason: Why,
    all_accounts: AllAccounts = False,
    dry_run: DryRun = False,
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Let a job write all that is known about a customer into a file; `customer fetch` fetches it."""
    from oncall.customer_requests import ExportCustomer

    oncall = OnCall(stage)
    found = _accounts(oncall, who, all_accounts=all_accounts, dry_run=dry_run, as_json=as_json)
    _ask(oncall, ExportCustomer, found, as_json=as_json, reason=reason)


@app.command()
def erase(
    who: Who,
    *,
    reason: Why,
    delivered: Annotated[
        bool, typer.Option("--delivered", help="Nothing is on its way: paid orders need not grow 30 days old first.")
    ] = False,
    all_accounts: AllAccounts = False,
    dry_run: DryRun = False,
    stage: Stage = LOCAL,
    as_json: AsJson = False,
) -> None:
    """Let a job erase a customer for good, once no order, payment or refund of theirs is open."""
    from oncall.customer_requests import EraseCustomer

    oncall = OnCall(stage)
    found = _accounts(oncall, who, all_accounts=all_accounts, dry_run=dry_run, as_json=as_json)
    _ask(oncall, EraseCustomer, found, as_json=as_json, reason=reason, delivered=delivered)


@app.command()
def requests(*, stage: Stage = LOCAL, as_json: AsJson = False) -> None:
    """Print which requests of customers wait and for what, and the newest that are done."""
    from oncall.customer_requests import ListCustomerRequests

    found = OnCall(stage).ask(ListCustomerRequests()).requests
    if as_json:
        print_json(found)
    elif found:
        _print_requests(found)
    else:
        print("No customer has asked for anything.")
    end(Exit.DONE if found else Exit.NOT_ALL)


@app.command()
def fetch(
    request: Annotated[int, typer.Argument(metavar="ID", min=1, help="The number of an export.")],
    *,
    to: Annotated[Path, typer.Option(help="A file that is not there yet; only you can read it.")],
    reason: Why,
    stage: Stage = LOCAL,
) -> None:
    """Save the file of an export; nothing of it is printed."""
    from oncall.customer_requests import FetchCustomerExport

    if to.exists():
        end(Exit.WRONG, f"{to} is there already.")
    oncall = OnCall(stage)
    found = oncall.ask(typed(FetchCustomerExport, claimed_identity=oncall.identity, request_id=request, reason=reason))
    _save(found.link, to)
    print(f"Saved in {to}: give it to nobody but the customer, and delete it then.")


def _accounts(oncall: OnCall, who: str, *, all_accounts: bool, dry_run: bool, as_json: bool) -> "Accounts":
    """Return what is meant, or end the command where it is nothing, not clear, or only to be looked at."""
    from oncall.customer_requests import FindCustomer

    found: Accounts = oncall.ask(typed(FindCustomer, who=who.strip()))
    unclear = len(found.accounts) > 1 and not all_accounts
    if found.accounts and (dry_run or unclear or found.more):
        if as_json:
            print_json(found)
        else:
            _print_accounts(found)
    if not found.accounts:
        end(Exit.NOT_ALL, "No account has this name, and none ordered with this address.")
    if dry_run:
        end(Exit.DONE)
    if found.more:
        end(Exit.NOT_ALL, "More accounts than these ordered with this address: name one of them by its sub.")
    if unclear:
        end(Exit.NOT_ALL, "Several accounts ordered with this address: name one by its sub, or add --all-accounts.")
    return found


def _ask(oncall: OnCall, request: "type[ChangeRequest]", found: "Accounts", *, as_json: bool, **options: Any) -> None:
    user_ids = [each.user_id for each in found.accounts]
    answer = oncall.ask(typed(request, claimed_identity=oncall.identity, user_ids=user_ids, **options))
    if as_json:
        print_json(answer.requests)
        return
    _print_requests(answer.requests)
    print("How far it is: skincare customer requests")
    if answer.requests[0].kind == "erase":
        if waiting := {kind for each in found.accounts for kind in each.waits_for}:
            print(f"It waits until this is over: {', '.join(_words(kind) for kind in sorted(waiting))}.")
        print("The account at the sign-in pool is not ours to delete here: docs/personal-data.md says how.")


def _print_accounts(found: "Accounts") -> None:
    print_said(
        ("sub", "orders", "addresses", "newest order", "cart", "an erasure waits for"),
        [
            (
                each.user_id,
                each.orders,
                each.addresses,
                "" if each.newest_order_at is None else f"{age(each.newest_order_at)} ago",
                "yes" if each.has_cart else "",
                _counted(each.waits_for),
            )
            for each in found.accounts
        ],
    )


def _print_requests(found: "tuple[CustomerRequest, ...]") -> None:
    print_said(
        ("id", "request", "sub", "asked", "done", "file", "waits for"),
        [
            (
                each.id,
                each.kind,
                each.user_id or "",
                f"{age(each.created_at)} ago",
                "" if each.finished_at is None else f"{age(each.finished_at)} ago",
                "yes" if each.has_file else "",
                _counted(each.waits_for),
            )
            for each in found
        ],
    )


def _counted(waits_for: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {_words(kind)}" for kind, count in sorted(waits_for.items()))


def _words(kind: str) -> str:
    return kind.replace("_", " ")


def _fetched(link: str) -> bytes:
    import urllib.request

    with urllib.request.urlopen(link, timeout=30) as answer:  # noqa: S310  a link that our own function signed
        return bytes(answer.read())


def _save(link: str, to: Path) -> None:
    try:
        content = _fetched(link)
    except OSError as error:
        end(Exit.UNREACHABLE, f"The file cannot be fetched ({type(error).__name__}).")
    try:
        descriptor = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        end(Exit.WRONG, f"{to} cannot be written: {error.strerror}.")
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
