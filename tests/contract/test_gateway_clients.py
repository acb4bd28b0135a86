"""The clients of payment gateways and the fake keep one contract; the real ones over real sockets."""

import contextlib
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from werkzeug import Request, Response
from werkzeug.serving import make_server

from emulator.gateway.problems import Refused
from emulator.log.logbook import LogBook
from local.payment_gateway import PaymentSite
from local.payment_gateway.book import Book
from local.payment_gateway.sender import Sender
from local.settings import PAYMENT_API
from local.webhook_delivery import Signer
from skincare.adapters.gateways.midtrans import MidtransClient
from skincare.adapters.gateways.standard_webhooks import StandardWebhooksClient
from skincare.adapters.gateways.xendit import XenditClient
from skincare.payments.errors import GatewayRefused, GatewayUnavailable
from skincare.payments.models import Attempt
from skincare.payments.ports import GatewayClient
from tests.contract.gateway_client_contract import Bench, GatewayClientContract, new_attempt
from tests.fakes.gateway_client import FakeGatewayClient
from tests.webhooks import OTHER_SECRETS, SECRETS, FixedSecrets

API_KEY = "xnd_development_EXAMPLE"
KEYS = FixedSecrets({**{gateway: (secret,) for gateway, secret in SECRETS.items()}, "xendit_api": (API_KEY,)})
NOBODY = "http://127.0.0.1:1"
OURS = "standard_webhooks"


class TestTheFake(GatewayClientContract):
    @pytest.fixture
    def bench(self) -> Bench:
        client, unreachable = FakeGatewayClient(), FakeGatewayClient()
        for _ in range(3):
            unreachable.fail_next(GatewayUnavailable(OURS, "timeout"))
        return Bench(client, client.pay, unreachable)


@contextlib.contextmanager
def payment_gateways(folder: Path) -> Iterator[tuple[str, Book]]:
    """Serve the gateways of the local system; yield the address of their APIs and what they know."""
    book = Book(folder / "payments.json")
    log = LogBook(folder, None)
    signers = {name: Signer(name, SECRETS[name], OTHER_SECRETS[name]) for name in SECRETS}
    keys = {name: SECRETS[name] for name in (OURS, "midtrans")} | {"xendit": API_KEY}
    site = PaymentSite(book, Sender(NOBODY, signers), shop_url=NOBODY, api_keys=keys, log=log)

    @Request.application
    def serve(request: Request) -> Response:
        try:
            return site.answer(request) or Response(status=404)
        except Refused as refusal:
            return refusal.response("request-1")

    server = make_server("127.0.0.1", 0, serve, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.port}{PAYMENT_API}", book
    server.shutdown()
    server.server_close()
    log.close()


class TestOurOwnGateway(GatewayClientContract):
    @pytest.fixture
    def bench(self, tmp_path: Path) -> Iterator[Bench]:
        with payment_gateways(tmp_path) as (url, book):
            yield Bench(
                StandardWebhooksClient(url, secrets=KEYS),
                lambda attempt: pay(book, attempt),
                StandardWebhooksClient(NOBODY, secrets=KEYS),
            )


class TestMidtrans(GatewayClientContract):
    @pytest.fixture
    def bench(self, tmp_path: Path) -> Iterator[Bench]:
        with payment_gateways(tmp_path) as (apis, book):
            url = f"{apis}/midtrans"
            yield Bench(
                MidtransClient(url, url, secrets=KEYS),
                lambda attempt: pay(book, attempt),
                MidtransClient(NOBODY, NOBODY, secrets=KEYS),
            )

    def test_a_reference_that_was_paid_gets_no_other_page(self, bench: Bench) -> None:
        attempt = new_attempt()
        bench.client.start(attempt)
        bench.pay(attempt)
        with pytest.raises(GatewayRefused, match="status 400"):
            bench.client.start(attempt)


class TestXendit(GatewayClientContract):
    TestGivingBack = None  # type: ignore[assignment]
    TestAGatewayThatDoesNotAnswer = None  # type: ignore[assignment]

    @pytest.fixture
    def bench(self, tmp_path: Path) -> Iterator[Bench]:
        with payment_gateways(tmp_path) as (url, book):
            yield Bench(
                XenditClient(f"{url}/xendit", secrets=KEYS),
                lambda attempt: pay(book, attempt),
                XenditClient(NOBODY, secrets=KEYS),
            )

    def test_that_does_not_answer_may_answer_later(self, bench: Bench) -> None:
        for call in (bench.unreachable.start, bench.unreachable.transactions):
            with pytest.raises(GatewayUnavailable):
                call(new_attempt())


@pytest.mark.parametrize("gateway", ["midtrans", "xendit", OURS])
def test_a_gateway_answers_nobody_without_its_own_key(tmp_path: Path, gateway: str) -> None:
    wrong = FixedSecrets(dict.fromkeys([*SECRETS, "xendit_api"], ("another",)))
    with payment_gateways(tmp_path) as (url, _):
        clients: dict[str, GatewayClient] = {
            "midtrans": MidtransClient(f"{url}/midtrans", f"{url}/midtrans", secrets=wrong),
            "xendit": XenditClient(f"{url}/xendit", secrets=wrong),
            OURS: StandardWebhooksClient(url, secrets=wrong),
        }
        with pytest.raises((GatewayRefused, GatewayUnavailable), match="401"):
            clients[gateway].start(new_attempt())


def pay(book: Book, attempt: Attempt) -> None:
    # What was written down is what is known after a restart.
    book.happen(attempt.reference, "paid")
