"""The clients of payment gateways and the fake keep one contract; the real ones over real sockets."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from werkzeug import Request, Response
from werkzeug.serving import make_server

from local.logbook import LogBook
from local.payment_gateway import PaymentSite
from local.payment_gateway.book import Book
from local.payment_gateway.sender import Sender
from local.problems import Refused
from local.settings import PAYMENT_API
from skincare.adapters.gateways.midtrans import MidtransClient
from skincare.adapters.gateways.standard_webhooks import StandardWebhooksClient
from skincare.payments.errors import GatewayUnavailable
from skincare.payments.models import Attempt, EventStatus
from tests.contract.gateway_client_contract import Bench, GatewayClientContract
from tests.fakes.gateway_client import FakeGatewayClient, report_of
from tests.midtrans_stub import MidtransStub
from tests.webhooks import OTHER_SECRETS, SECRETS, FixedSecrets

KEYS = FixedSecrets({gateway: (secret,) for gateway, secret in SECRETS.items()})
NOBODY = "http://127.0.0.1:1"
OURS = "standard_webhooks"


class TestTheFake(GatewayClientContract):
    @pytest.fixture
    def bench(self) -> Bench:
        client, unreachable = FakeGatewayClient(), FakeGatewayClient()
        for _ in range(4):
            unreachable.fail_next(GatewayUnavailable(OURS, "timeout"))
        return Bench(
            client,
            client.pay,
            unreachable,
            lambda attempt: client.tell(attempt.reference, report_of(attempt.reference, status=EventStatus.PENDING)),
        )


class TestOurOwnGateway(GatewayClientContract):
    @pytest.fixture
    def bench(self, tmp_path: Path) -> Iterator[Bench]:
        book = Book(tmp_path / "payments.json")
        log = LogBook(tmp_path, None)
        sender = Sender(NOBODY, secret=SECRETS[OURS], other_secret=OTHER_SECRETS[OURS])
        site = PaymentSite(book, sender, shop_url=NOBODY, api_key=SECRETS[OURS], log=log)

        @Request.application
        def serve(request: Request) -> Response:
            try:
                return site.answer(request) or Response(status=404)
            except Refused as refusal:
                return refusal.response("request-1")

        server = make_server("127.0.0.1", 0, serve, threaded=True)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        client = StandardWebhooksClient(f"http://127.0.0.1:{server.port}{PAYMENT_API}", secrets=KEYS)

        def pay(attempt: Attempt) -> None:
            # What was written down is what is known after a restart.
            book.happen(attempt.reference, "paid")

        yield Bench(client, pay, StandardWebhooksClient(NOBODY, secrets=KEYS))
        server.shutdown()
        server.server_close()
        log.close()


class TestMidtrans(GatewayClientContract):
    @pytest.fixture
    def bench(self) -> Iterator[Bench]:
        with MidtransStub(SECRETS["midtrans"]) as stub:
            yield Bench(
                MidtransClient(stub.url, stub.url, secrets=KEYS),
                lambda attempt: stub.settle(attempt.reference),
                MidtransClient(NOBODY, NOBODY, secrets=KEYS),
                lambda attempt: stub.settle(attempt.reference, transaction_status="pending", status_code="201"),
            )
