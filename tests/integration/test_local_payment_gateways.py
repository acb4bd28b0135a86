"""Midtrans and Xendit of the local system with the shop's own clients: what they tell is believed, and nothing else."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from psycopg import Connection
from werkzeug import Request, Response
from werkzeug.serving import make_server

from emulator.gateway.problems import Refused
from emulator.log.logbook import LogBook
from emulator.loopback.client import LoopbackClient
from local.payment_gateway import PaymentSite
from local.payment_gateway.book import Book
from local.payment_gateway.happening import Happenings
from local.payment_gateway.sender import Sender
from local.settings import PAYMENT_API
from local.webhook_delivery import Signer, note_at_gateway
from local.webhooks import Occurrence, signed
from skincare.adapters.gateways.midtrans import MidtransClient
from skincare.adapters.gateways.xendit import XenditClient
from skincare.app import App
from skincare.identifiers import OrderNumber, uuid7
from skincare.payments.attempts import repository as attempts
from skincare.payments.errors import EventUnconfirmed
from skincare.payments.models import Webhook
from skincare.payments.service import receive
from tests.payments import anomalies, new_order, order_status, run_jobs
from tests.webhooks import OTHER_SECRETS, SECRETS, FixedSecrets

NOBODY = "http://127.0.0.1:1"
API_KEYS = {"standard_webhooks": "unused", "midtrans": SECRETS["midtrans"], "xendit": "xnd_development_EXAMPLE"}
KEYS = FixedSecrets({**{name: (secret,) for name, secret in SECRETS.items()}, "xendit_api": (API_KEYS["xendit"],)})
ASKED = pytest.mark.parametrize("gateway", ["midtrans", "xendit"])


class Street:
    """The shop and the two gateways, over real sockets."""

    def __init__(self, app: App, url: str, book: Book) -> None:
        self.client = LoopbackClient(url)
        self.book = book
        api = f"{url}{PAYMENT_API}"
        clients = (
            MidtransClient(f"{api}/midtrans", f"{api}/midtrans", secrets=KEYS),
            XenditClient(f"{api}/xendit", secrets=KEYS),
        )
        self.app = replace(app, gateways={client.name: client for client in clients})

    def send(self, gateway: str, what: Occurrence) -> None:
        """Take in the true webhook about an occurrence, and apply it."""
        request = signed(gateway, what, secret=SECRETS[gateway], sent_at=what.occurred_at)
        receive(
            gateway,
            Webhook(request.body, request.headers, request.path),
            secrets=KEYS,
            database=self.app.database,
            publisher=self.app.publisher,
            request_id="request-1",
            now=datetime.now(UTC),
        )
        run_jobs(self.app)

    def happens(self, gateway: str, number: OrderNumber, status: str, amount_rupiah: int = 150_000) -> None:
        """Do what `skincare webhook send` does."""
        what = occurrence(number, status, amount_rupiah, transaction_id=f"{gateway}-{number}")
        self.send(gateway, note_at_gateway(self.client, gateway, what, key=API_KEYS[gateway]))


def occurrence(number: OrderNumber, status: str, amount_rupiah: int = 150_000, *, transaction_id: str) -> Occurrence:
    return Occurrence(str(uuid7()), number, transaction_id, status, amount_rupiah, datetime.now(UTC))


@pytest.fixture
def street(app: App, tmp_path: Path) -> Iterator[Street]:
    book, log = Book(tmp_path / "payments.json"), LogBook(tmp_path, None)
    signers = {name: Signer(name, SECRETS[name], OTHER_SECRETS[name]) for name in SECRETS}
    site = PaymentSite(
        book,
        Sender(NOBODY, signers),
        shop_url="http://127.0.0.1:8000",
        api_keys=API_KEYS,
        log=log,
        happenings=Happenings(book, app.database),
    )

    @Request.application
    def serve(request: Request) -> Response:
        try:
            return site.answer(request) or Response(status=404)
        except Refused as refusal:
            return refusal.response("request-1")

    server = make_server("127.0.0.1", 0, serve, threaded=True)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield Street(app, f"http://127.0.0.1:{server.port}", book)
    server.shutdown()
    server.server_close()
    log.close()


class TestAPaidWebhook:
    @ASKED
    def test_about_an_order_that_nobody_started_to_pay_there_ends_with_a_paid_order(
        self, street: Street, conn: Connection, gateway: str
    ) -> None:
        number = new_order(conn)
        street.happens(gateway, number, "paid")
        assert (order_status(conn, number), anomalies(conn)) == ("paid", [])

    @ASKED
    def test_after_the_customer_was_sent_there_is_about_that_very_attempt(
        self, street: Street, conn: Connection, gateway: str
    ) -> None:
        number = new_order(conn)
        with street.app.database.connection() as shop, shop.transaction():
            row = shop.execute("SELECT id FROM orders WHERE order_number = %s", [number]).fetchone()
            assert row is not None
            attempt = attempts.open_next(shop, row[0], gateway=gateway).attempt
        page = street.app.gateways[gateway].start(attempt)
        assert page == f"http://127.0.0.1:8000/_local/pay/?reference={attempt.reference}"
        payment, entry = street.book.happen(attempt.reference, "paid")
        what = Occurrence(entry.event_id, attempt.reference, entry.transaction_id, "paid", 150_000, datetime.now(UTC))
        street.send(gateway, what)
        assert (order_status(conn, number), payment.gateway) == ("paid", gateway)
        assert len(attempts.of_order(conn, number, gateway=gateway)) == 1

    @ASKED
    def test_that_the_gateway_knows_nothing_of_pays_nothing(
        self, street: Street, conn: Connection, gateway: str
    ) -> None:
        number = new_order(conn)
        with pytest.raises(EventUnconfirmed):
            street.send(gateway, occurrence(number, "paid", transaction_id="forged"))
        assert order_status(conn, number) == "pending"

    @ASKED
    def test_of_another_amount_pays_nothing(self, street: Street, conn: Connection, gateway: str) -> None:
        number = new_order(conn)
        street.happens(gateway, number, "paid", 149_999)
        assert order_status(conn, number) == "pending"
        assert anomalies(conn) != []

    def test_about_no_order_is_refused(self, street: Street) -> None:
        with pytest.raises(Exception, match="There is no order of this number"):
            street.happens("midtrans", OrderNumber("SKN-00000-00000"), "paid")


class TestOtherWebhooks:
    @pytest.mark.parametrize(
        ("gateway", "status"),
        # Xendit sends no webhook about an invoice that waits.
        [("midtrans", "pending"), *((name, word) for name in ("midtrans", "xendit") for word in ("failed", "expired"))],
    )
    def test_leave_the_order_unpaid(self, street: Street, conn: Connection, gateway: str, status: str) -> None:
        number = new_order(conn)
        street.happens(gateway, number, status)
        assert order_status(conn, number) == "pending"

    @pytest.mark.parametrize(
        ("status", "amount", "expected"),
        [("partially_refunded", 50_000, "partially_refunded"), ("refunded", 150_000, "refunded")],
    )
    def test_give_back_what_midtrans_gave_back(
        self, street: Street, conn: Connection, status: str, amount: int, expected: str
    ) -> None:
        number = new_order(conn)
        street.happens("midtrans", number, "paid")
        street.happens("midtrans", number, status, amount)
        assert order_status(conn, number) == expected


class TestWhoMayLetThingsHappen:
    @pytest.mark.parametrize("gateway", ["midtrans", "xendit", "standard_webhooks"])
    def test_needs_the_key(self, street: Street, gateway: str) -> None:
        assert street.client.call("POST", f"{PAYMENT_API}/{gateway}/happenings", b"{}").status == 401
