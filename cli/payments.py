"""`skincare payments …`: money that goes back, and whether everything adds up."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from cli.system import plain_errors, running_system
from local.errors import LocalSystemError

if TYPE_CHECKING:
    from skincare.database.connection import Database

app = typer.Typer(no_args_is_help=True, help="Money: refunds and reconciliation.")


@app.callback()
def payments() -> None:
    """Money: refunds and reconciliation."""


@app.command()
def refund(
    order: Annotated[str, typer.Argument(help="The order's number.")],
    *,
    reason: Annotated[str, typer.Option(help="Why; the gateway is told, and it is kept.")],
    amount: Annotated[int | None, typer.Option(min=1, help="Whole rupiah; all that is left by default.")] = None,
    anomaly: Annotated[int | None, typer.Option(help="The anomaly whose money goes back.")] = None,
    transaction: Annotated[str | None, typer.Option(help="The transaction; the one that pays by default.")] = None,
    key: Annotated[str | None, typer.Option(help="Names this refund: asked for twice, it is made once.")] = None,
    requested_by: Annotated[str, typer.Option("--by", help="Who asks for it: a role.")] = "operator",
) -> None:
    """Ask for money to be given back and print the refund; a job sends it within two minutes."""
    from skincare.errors import SkincareError
    from skincare.identifiers import OrderNumber
    from skincare.payments.refunds.models import RefundRequest
    from skincare.payments.refunds.service import request_refund

    named = {} if key is None else {"key": key}
    with plain_errors(), _database() as database:
        try:
            request = RefundRequest(
                OrderNumber(order),
                reason,
                requested_by,
                amount_rupiah=amount,
                transaction_id=transaction,
                anomaly_id=anomaly,
                **named,
            )
            done = request_refund(request, database=database)
        except SkincareError as error:
            raise LocalSystemError(f"{str(error)[:1].upper()}{str(error)[1:]}.") from error
    print(json.dumps(asdict(done)))


@app.command()
def reconcile() -> None:
    """Hold orders and payments against each other, mend what is safe, and print what was mended and found."""
    from skincare.payments.reconciliation.service import check

    with plain_errors(), _database() as database:
        result = check(database=database)
    for mended in result.mended:
        print(f"enqueued {mended.kind} {mended.subject} order {mended.order_number}")
    for finding in result.findings:
        print(f"found {finding.kind} {finding.subject} order {finding.order_number or '-'}")
    print(f"{len(result.mended)} mended, {len(result.findings)} to look at")


@contextlib.contextmanager
def _database() -> "Iterator[Database]":
    from skincare.database.connection import Database, DatabaseUnavailable, StaticCredentials

    database = Database(StaticCredentials(running_system().database_url))
    try:
        yield database
    except DatabaseUnavailable as error:
        raise LocalSystemError(f"The local system's database does not answer: {error}.") from error
    finally:
        database.close()
