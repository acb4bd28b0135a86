"""`skincare …`: what people type.

Commands find the local system by PORT, as the make targets do; those of the on-call engineer find a deployed one
by --stage. Answers go to stdout, everything else to stderr; exit code 1 says that it did not work, 2 that it was
typed wrongly. docs/operations.md has those of the on-call commands.
"""

from datetime import timedelta
from typing import Annotated

import typer

from cli import chaos, customer, dlq, jobs, mail, payments, stock, webhook
from cli.order import order
from cli.outbox import outbox
from cli.parameters import PlainGroup
from cli.retention import retention
from cli.system import known_secrets, plain_errors
from cli.worker import worker
from skincare.text import flaw

app = typer.Typer(
    cls=PlainGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="The command line of the skincare shop.",
)
app.add_typer(chaos.app, name="chaos")
app.add_typer(customer.app, name="customer")
app.add_typer(dlq.app, name="dlq")
app.add_typer(jobs.app, name="jobs")
app.add_typer(mail.app, name="mail")
app.add_typer(payments.app, name="payments")
app.add_typer(stock.app, name="stock")
app.add_typer(webhook.app, name="webhook")
app.command()(order)
app.command()(outbox)
app.command()(retention)
app.command()(worker)


@app.command()
def token(
    email: Annotated[str, typer.Option(help="Whose token: the address that the mails about orders go to.")],
    name: Annotated[str | None, typer.Option(help="The customer's name.")] = None,
    locale: Annotated[str | None, typer.Option(help="The customer's language: id or en.")] = None,
    expires_in: Annotated[int, typer.Option(min=1, help="Seconds until the token expires.")] = 86_400,
) -> None:
    """Print a token that the local gateway accepts as `Authorization: Bearer …`."""
    from local.tokens import token_issuer

    if "@" not in email:
        raise typer.BadParameter("an address has an @", param_hint="--email")
    for option, text in {"--email": email, "--name": name, "--locale": locale}.items():
        if message := flaw(text or ""):
            raise typer.BadParameter(message, param_hint=option)
    with plain_errors():
        issuer = token_issuer(known_secrets().signing_key)
    print(issuer.issue(email, name=name, locale=locale, expires_in=timedelta(seconds=expires_in)))


if __name__ == "__main__":
    app()
