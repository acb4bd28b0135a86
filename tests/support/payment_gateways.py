"""The payment gateways of the local system alone, on a loopback port: our own, Midtrans and Xendit."""

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from werkzeug import Request, Response
from werkzeug.serving import make_server

from emulator.gateway.problems import Refused
from emulator.log.logbook import LogBook
from local.payment_gateway import PaymentSite
from local.payment_gateway.occurrences import Occurrences
from local.payment_gateway.payment_store import PaymentStore
from local.payment_gateway.sender import Sender
from local.webhook_delivery import Signer
from tests.support.webhooks import OTHER_SECRETS, SECRETS, FixedSecrets

NOBODY = "http://127.0.0.1:1"
"""Where nobody answers."""
SHOP = "http://127.0.0.1:8000"

API_KEYS = {
    "standard_webhooks": SECRETS["standard_webhooks"],
    "midtrans": SECRETS["midtrans"],
    "xendit": "xnd_development_EXAMPLE",
}
"""By gateway, as it knows them; of Xendit that is not the token of its webhooks."""
KEYS = FixedSecrets({**{name: (secret,) for name, secret in SECRETS.items()}, "xendit_api": (API_KEYS["xendit"],)})
"""The same, as the shop keeps them."""


@contextlib.contextmanager
def payment_gateways(
    folder: Path,
    *,
    api_keys: Mapping[str, str] = API_KEYS,
    occurrences: Callable[[PaymentStore], Occurrences] | None = None,
) -> Iterator[tuple[str, PaymentStore]]:
    """Serve them; yield the address without a path and what they know. Their webhooks reach nobody."""
    store, log = PaymentStore(folder / "payments.json"), LogBook(folder, None)
    signers = {name: Signer(name, SECRETS[name], OTHER_SECRETS[name]) for name in SECRETS}
    site = PaymentSite(
        store,
        Sender(NOBODY, signers),
        shop_url=SHOP,
        api_keys=api_keys,
        log=log,
        occurrences=occurrences(store) if occurrences else None,
    )

    @Request.application
    def serve(request: Request) -> Response:
        try:
            return site.answer(request) or Response(status=404)
        except Refused as refusal:
            return refusal.response("request-1")

    server = make_server("127.0.0.1", 0, serve, threaded=True)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.port}", store
    finally:
        server.shutdown()
        server.server_close()
        log.close()
