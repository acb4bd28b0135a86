"""Midtrans and Xendit of the local system with the shop's own clients: what they tell is believed, and nothing else."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from psycopg import Connection

from emulator.loopback.client import LoopbackClient
from local.errors import LocalSystemError
from local.payment_gateway.occurrences import Occurrences
from local.payment_gateway.payment_store import PaymentStore
from local.settings import PAYMENT_API
from local.webhook_delivery import note_at_gateway
from skincare.app import App
from skincare.identifiers import OrderNumber, uuid7
from skincare.payments.attempts import repository as attempts
from skincare.payments.errors import EventUnconfirmed, OrderMaybePaid
from skincare.payments.gateways.midtrans.client import MidtransClient
from skincare.payments.gateways.samples import Occurrence, signed
from skincare.payments.gateways.xendit.client import XenditClient
from skincare.payments.models import Webhook
from skincare.payments.service import receive
from tests.support.payment_gateways import API_KEYS, KEYS, payment_gateways
from tests.support.payments import anomalies, new_order, order_status, payments, run_jobs
from tests.support.timers import expire
from tests.support.webhooks import SECRETS

ASKED = pytest.mark.parametrize("gateway", ["midtrans", "xendit"])


class Street:
    """The shop and the two gateways, over real sockets."""

    def __init__(self, app: App, url: str, store: PaymentStore) -> None:
        self.client = LoopbackClient(url)
        self.store = store
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

    def happens(
        self, gateway: str, number: OrderNumber, status: str, amount_rupiah: int = 150_000, *, fee_rupiah: int = 0
    ) -> None:
        """Do what `skincare webhook send` does."""
        what = occurrence(number, status, amount_rupiah, transaction_id=f"{gateway}-{number}")
        what = replace(what, fee_rupiah=fee_rupiah)
        self.send(gateway, note_at_gateway(self.client, gateway, what, key=API_KEYS[gateway]))


def occurrence(number: OrderNumber, status: str, amount_rupiah: int = 150_000, *, transaction_id: str) -> Occurrence:
    return Occurrence(str(uuid7()), number, transaction_id, status, amount_rupiah, datetime.now(UTC))


@pytest.fixture
def street(app: App, tmp_path: Path) -> Iterator[Street]:
    with payment_gateways(tmp_path, occurrences=lambda store: Occurrences(store, app.database)) as (url, store):
        yield Street(app, url, store)


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
            started = attempts.open_next(shop, row[0], gateway=gateway)
        assert started is not None
        attempt = started.attempt
        page = street.app.gateways[gateway].start(attempt)
        assert page == f"http://127.0.0.1:8000/_local/pay/?reference={attempt.reference}"
        payment, entry = street.store.happen(attempt.reference, "paid")
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

    def test_with_a_fee_on_top_of_the_price_pays_the_order_and_gives_back_the_price(
        self, street: Street, conn: Connection
    ) -> None:
        number = new_order(conn)
        street.happens("midtrans", number, "paid", fee_rupiah=705)
        assert (order_status(conn, number), anomalies(conn)) == ("paid", [])
        assert payments(conn)[0][2] == 150_000
        street.happens("midtrans", number, "refunded")
        assert (order_status(conn, number), anomalies(conn)) == ("refunded", [])

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


class TestAnOrderThatNobodyPaid:
    """Its timer goes off after its payment's time, which the local gateways then close."""

    def started(self, street: Street, conn: Connection, number: OrderNumber, gateway: str) -> str:
        """Send the customer to a gateway; return the reference there."""
        with street.app.database.connection() as shop, shop.transaction():
            row = shop.execute("SELECT id FROM orders WHERE order_number = %s", [number]).fetchone()
            assert row is not None
            started = attempts.open_next(shop, row[0], gateway=gateway)
        assert started is not None
        street.app.gateways[gateway].start(started.attempt)
        return started.attempt.reference

    def end(self, conn: Connection) -> None:
        conn.execute("UPDATE payment_attempts SET expires_at = now()")

    @pytest.mark.parametrize(
        ("gateway", "chosen", "closed"), [("midtrans", True, True), ("midtrans", False, False), ("xendit", False, True)]
    )
    def test_expires_once_what_waits_for_money_is_closed(
        self, street: Street, conn: Connection, gateway: str, chosen: bool, closed: bool
    ) -> None:
        number = new_order(conn)
        reference = self.started(street, conn, number, gateway)
        if chosen:
            street.store.happen(reference, "pending")
        self.end(conn)
        expire(street.app, number)
        assert order_status(conn, number) == "expired"
        assert (street.store.find(reference).state == "closed") is closed

    @ASKED
    def test_is_paid_by_what_no_webhook_told(self, street: Street, conn: Connection, gateway: str) -> None:
        number = new_order(conn)
        reference = self.started(street, conn, number, gateway)
        street.store.happen(reference, "paid")
        self.end(conn)
        with pytest.raises(OrderMaybePaid):
            expire(street.app, number)
        run_jobs(street.app)
        assert order_status(conn, number) == "paid"

    def test_gets_its_payment_started_no_more(self, street: Street, conn: Connection) -> None:
        number = new_order(conn)
        conn.execute("UPDATE orders SET created_at = now() - interval '2 hours', expires_at = now()")
        with pytest.raises(LocalSystemError, match="time to be paid is over"):
            street.happens("midtrans", number, "paid")


class TestWhoMayLetThingsHappen:
    @pytest.mark.parametrize("gateway", ["midtrans", "xendit", "standard_webhooks"])
    def test_needs_the_key(self, street: Street, gateway: str) -> None:
        assert street.client.call("POST", f"{PAYMENT_API}/{gateway}/happenings", b"{}").status == 401
