"""`skincare webhook …`: what payment gateways would send to the local system."""

import json
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from cli.parameters import parsed_by
from cli.system import known_secrets, plain_errors, running_system
from local.errors import LocalSystemError
from skincare.identifiers import read_order_number
from skincare.money import read_rupiah
from skincare.payments.gateways import GATEWAYS

app = typer.Typer(no_args_is_help=True, help="Webhooks of payment gateways, to the local system.")

_OLD = timedelta(minutes=10)


if TYPE_CHECKING:
    GatewayName = str
else:
    GatewayName = StrEnum("GatewayName", {name.upper(): name for name in GATEWAYS})
    """The gateways, as in the paths of their webhooks."""


@app.callback()
def webhook() -> None:
    """Webhooks of payment gateways, to the local system."""


@app.command()
def secret(gateway: Annotated[GatewayName, typer.Option(help="Whose secret.")]) -> None:
    """Print the secret that a gateway signs with."""
    from local.webhook_secrets import webhook_secret

    with plain_errors():
        print(webhook_secret(known_secrets(), gateway))


@app.command()
def send(
    *,
    gateway: Annotated[GatewayName, typer.Option(help="Who sends it.")],
    order: Annotated[
        str, typer.Option(parser=parsed_by(read_order_number), help="The order's number, as heard or written.")
    ],
    status: Annotated[str, typer.Option(help="pending, paid, failed, expired, refunded, … or the gateway's own word.")],
    amount: Annotated[
        int | None,
        typer.Option(
            metavar="RUPIAH", parser=parsed_by(read_rupiah), help="59000 or Rp59.000; the order's total by default."
        ),
    ] = None,
    fee: Annotated[
        int | None,
        typer.Option(
            metavar="RUPIAH", parser=parsed_by(read_rupiah), help="What Midtrans puts on top for the customer to pay."
        ),
    ] = None,
    bad_signature: Annotated[bool, typer.Option("--bad-signature", help="Sign with another secret.")] = False,
    duplicate: Annotated[int, typer.Option(min=0, max=100, help="How many more times to send the same event.")] = 0,
    old: Annotated[bool, typer.Option("--old", help="Sign a time of ten minutes ago.")] = False,
    transaction: Annotated[
        str | None, typer.Option(help="The gateway's transaction; one per order by default.")
    ] = None,
) -> None:
    """Send a signed event and print each HTTP answer: the status and the body."""
    from emulator.loopback.client import LoopbackClient
    from emulator.settings import LOOPBACK
    from local.settings import PAYMENT_GATEWAYS, LocalSettings
    from local.webhook_delivery import note_at_gateway
    from local.webhook_secrets import api_keys, webhook_secret
    from skincare.identifiers import uuid7
    from skincare.payments.gateways.samples import Occurrence, sample, signed, status_of
    from skincare.payments.gateways.webhooks import READERS

    if old and not sample(gateway).signs_time:
        raise typer.BadParameter(f"{gateway} signs no time", param_hint="--old")
    if fee and not sample(gateway).adds_fee:
        raise typer.BadParameter(f"{gateway} puts nothing on top", param_hint="--fee")
    now = datetime.now(UTC)
    with plain_errors():
        key = webhook_secret(known_secrets(), f"{gateway} forged" if bad_signature else gateway)
        what = Occurrence(
            event_id=str(uuid7()),
            order_number=order,
            transaction_id=transaction or f"{gateway}-{order}",
            status=status_of(gateway, status),
            amount_rupiah=_total(order) if amount is None else amount,
            occurred_at=now,
            fee_rupiah=fee or 0,
        )
        client = LoopbackClient(f"http://{LOOPBACK}:{LocalSettings.from_env().port}")
        if gateway in PAYMENT_GATEWAYS and not READERS[gateway].status_is_signed and not bad_signature:
            what = note_at_gateway(client, gateway, what, key=api_keys(known_secrets())[gateway])
        request = signed(gateway, what, secret=key, sent_at=now - _OLD if old else now)
        for _ in range(1 + duplicate):
            try:
                answer = client.call("POST", request.path, request.body, request.headers)
            except OSError as error:
                raise LocalSystemError(f"The local system does not answer ({type(error).__name__}).") from error
            print(answer.status, json.dumps(answer.body, separators=(",", ":")))


def _total(order_number: str) -> int:
    """Return what an order costs; raises `LocalSystemError` where there is no such order."""
    from skincare.database.connection import Database, DatabaseUnavailable, StaticCredentials
    from skincare.identifiers import OrderNumber
    from skincare.payments.repository import total_of

    database = Database(StaticCredentials(running_system().database_url))
    try:
        with database.connection() as conn:
            total = total_of(conn, OrderNumber(order_number))
    except DatabaseUnavailable as error:
        raise LocalSystemError(f"The local system's database does not answer: {error}.") from error
    finally:
        database.close()
    if total is None:
        raise LocalSystemError(f"There is no order {order_number}: say how much with --amount.")
    return total
