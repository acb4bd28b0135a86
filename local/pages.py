"""The pages of the local system, put together: the shop's with its desks, and the payment gateway's."""

from collections.abc import Callable
from contextlib import ExitStack

from werkzeug import Request, Response

from emulator.functions.function import Function
from emulator.gateway.answered import Answered
from emulator.gateway.tokens import TokenIssuer
from emulator.log.logbook import LogBook
from emulator.switches import Switches
from local.functions import LocalEnvironment
from local.page import Site, SystemState
from local.page.actions import ChaosDesk, OnCallDesk, WebhookDesk
from local.page.health import Health
from local.page.site import CsrfToken
from local.payment_gateway import PaymentSite
from local.payment_gateway.occurrences import Occurrences
from local.payment_gateway.payment_store import PaymentStore
from local.payment_gateway.sender import Sender
from local.state import Secrets, StateFolder
from local.webhook_delivery import Signer
from local.webhook_secrets import api_keys
from skincare.adapters.aws import AwsSession
from skincare.database.connection import Database, StaticCredentials
from skincare.payments.gateways import GATEWAYS


def pages(
    undo: ExitStack,
    state: StateFolder,
    environment: LocalEnvironment,
    *,
    database_url: str,
    url: str,
    tokens: TokenIssuer,
    secrets: Secrets,
    oncall: Function,
    missing: Callable[[], list[str]],
    answered: Answered,
    log: LogBook,
) -> Callable[[Request], Response | None]:
    """Return what answers below `/_local/`, None where there is nothing; `undo` ends it."""
    switches = Switches(state.switches)
    shown = SystemState(
        database_url,
        aws=AwsSession(environment.aws_endpoint_url),
        aws_endpoint_url=environment.aws_endpoint_url,
        presence=state.workers,
        mailbox=state.mailbox,
        logs=state.logs,
        switches=switches,
        health=Health(missing, log=log),
        answered=answered,
    )
    undo.callback(shown.close)
    csrf = CsrfToken()
    store = PaymentStore(state.payments)
    writing = Database(StaticCredentials(database_url))
    undo.callback(writing.close)
    occurrences = Occurrences(store, writing)
    signers = {gateway: Signer.of(gateway, secrets) for gateway in GATEWAYS}
    site = Site(
        tokens=tokens,
        state=shown.read,
        actions={
            "/_local/oncall": OnCallDesk(oncall),
            "/_local/chaos": ChaosDesk(switches),
            "/_local/webhooks": WebhookDesk(signers, shop_url=url, note=occurrences.note),
        },
        files_origin=environment.aws_endpoint_url,
        csrf=csrf,
    )
    payments = PaymentSite(
        store,
        Sender(url, signers),
        shop_url=url,
        api_keys=api_keys(secrets),
        log=log,
        occurrences=occurrences,
        csrf=csrf,
    )
    return lambda request: payments.answer(request) or site.answer(request)
