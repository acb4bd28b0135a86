"""What goes over the wire to a payment gateway, and what its answers mean: nothing secret is ever said again."""

import ssl
import time
from base64 import b64decode
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from skincare.adapters.gateways import connections
from skincare.adapters.gateways import http as gateway_http
from skincare.adapters.gateways.http import GatewayHttp
from skincare.adapters.gateways.midtrans import MidtransClient
from skincare.adapters.gateways.standard_webhooks import StandardWebhooksClient
from skincare.adapters.gateways.xendit import XenditClient
from skincare.errors import ConfigurationError
from skincare.payments.errors import GatewayRefused, GatewayUnavailable, GatewayUnknown
from skincare.payments.models import Attempt, EventStatus, Refund, Report
from skincare.payments.ports import GatewayClient
from tests.scripted_service import Reply, ScriptedService, http
from tests.webhooks import FixedSecrets

CANARY = "canary-server-key"
KEYS = FixedSecrets(dict.fromkeys(("midtrans", "standard_webhooks", "xendit_api"), (CANARY,)))
NOW = datetime(2026, 1, 15, 3, 0, tzinfo=UTC)
ATTEMPT = Attempt("SKN-4T9QX-0M7KD", 2, 150_000, NOW + timedelta(minutes=60))
REFUND = Refund("SKN-4T9QX-0M7KD", "trx/1", 50_000, "refund-1", "too dry")
SNAP = http(201, {"token": "t", "redirect_url": "https://app.sandbox.midtrans.com/snap/v4/redirection/t"})

STATUS: dict[str, Any] = {
    "status_code": "200",
    "transaction_id": "trx-1",
    "order_id": ATTEMPT.reference,
    "gross_amount": "150000.00",
    "currency": "IDR",
    "transaction_time": "2026-01-15 09:59:58",
    "transaction_status": "settlement",
    "fraud_status": "accept",
}
INVOICE: dict[str, Any] = {
    "id": "invoice-1",
    "external_id": ATTEMPT.reference,
    "status": "PAID",
    "amount": 150_000,
    "paid_amount": 150_000,
    "currency": "IDR",
    "paid_at": "2026-01-15T02:59:58.000Z",
}


@pytest.fixture
def service() -> Iterator[ScriptedService]:
    with ScriptedService() as service:
        yield service


def midtrans(url: str, keys: FixedSecrets = KEYS) -> MidtransClient:
    return MidtransClient(url, f"{url}/snap-host", secrets=keys, clock=lambda: NOW)


def asked(service: ScriptedService) -> list[tuple[str, str]]:
    return [
        (request.line, b64decode(request.headers["authorization"].removeprefix("Basic ")).decode())
        for request in service.requests
    ]


class TestMidtransIsAsked:
    def test_for_a_page_by_the_reference_the_total_and_the_time_that_is_left(self, service: ScriptedService) -> None:
        service.replies = [SNAP]
        url = midtrans(service.url).start(ATTEMPT)
        assert url == "https://app.sandbox.midtrans.com/snap/v4/redirection/t"
        assert asked(service) == [("POST /snap-host/snap/v1/transactions", f"{CANARY}:")]
        assert service.requests[0].json == {
            "transaction_details": {"order_id": "SKN-4T9QX-0M7KD.2", "gross_amount": 150_000},
            "credit_card": {"secure": True},
            "expiry": {"start_time": "2026-01-15 10:00:00 +0700", "unit": "minute", "duration": 60},
        }
        assert service.requests[0].headers["content-type"] == "application/json"

    def test_for_the_status(self, service: ScriptedService) -> None:
        service.replies = [http(200, STATUS)]
        midtrans(service.url).transactions(ATTEMPT)
        assert asked(service) == [("GET /v2/SKN-4T9QX-0M7KD.2/status", f"{CANARY}:")]

    def test_for_a_refund_by_its_key(self, service: ScriptedService) -> None:
        service.replies = [http(200, {"status_code": "200"})]
        midtrans(service.url).refund(REFUND)
        assert asked(service) == [("POST /v2/trx%2F1/refund", f"{CANARY}:")]
        assert service.requests[0].json == {"refund_key": "refund-1", "amount": 50_000, "reason": "too dry"}


def reports(service: ScriptedService, **changes: Any) -> list[tuple[EventStatus | None, int, str | None]]:
    service.replies = [http(200, STATUS | changes)]
    return [
        (report.status, report.amount_rupiah, report.refund_key)
        for report in midtrans(service.url).transactions(ATTEMPT)
    ]


class TestMidtransSays:
    @pytest.mark.parametrize(
        ("changes", "status"),
        [
            ({}, EventStatus.PAID),
            ({"transaction_status": "capture"}, EventStatus.PAID),
            ({"transaction_status": "capture", "fraud_status": "challenge", "status_code": "201"}, EventStatus.PENDING),
            ({"transaction_status": "pending", "status_code": "201"}, EventStatus.PENDING),
            ({"transaction_status": "deny", "status_code": "202"}, EventStatus.FAILED),
            ({"transaction_status": "cancel"}, EventStatus.FAILED),
            ({"transaction_status": "expire", "status_code": "407"}, EventStatus.EXPIRED),
            ({"transaction_status": "authorize"}, None),
        ],
    )
    def test_one_thing_of_a_transaction(
        self, service: ScriptedService, changes: dict[str, Any], status: EventStatus | None
    ) -> None:
        assert reports(service, **changes) == [(status, 150_000, None)]

    def test_that_what_was_given_back_was_paid_before(self, service: ScriptedService) -> None:
        refunds = [
            {"refund_key": "a", "refund_amount": "50000.00", "created_at": "2026-01-16 09:00:00"},
            {"refund_key": "b", "refund_amount": "100000.00"},
        ]
        assert reports(service, transaction_status="refund", refund_amount="150000.00", refunds=refunds) == [
            (EventStatus.PAID, 150_000, None),
            (EventStatus.REFUNDED, 50_000, "a"),
            (EventStatus.REFUNDED, 100_000, "b"),
        ]

    def test_that_what_was_charged_back_was_paid_before(self, service: ScriptedService) -> None:
        assert reports(service, transaction_status="chargeback") == [
            (EventStatus.PAID, 150_000, None),
            (EventStatus.CHARGEBACK, 150_000, None),
        ]

    @pytest.mark.parametrize(
        "reply",
        [
            http(404, {"status_code": "404", "status_message": "Transaction doesn't exist."}),
            http(200, {"status_code": "404", "status_message": "Transaction doesn't exist."}),
        ],
    )
    def test_nothing_of_what_it_does_not_know(self, service: ScriptedService, reply: Reply) -> None:
        service.replies = [reply]
        assert midtrans(service.url).transactions(ATTEMPT) == ()

    @pytest.mark.parametrize(
        "changes",
        [
            {"order_id": "SKN-4T9QX-0M7KD.1"},
            {"order_id": None},
            {"gross_amount": "150000.50"},
            {"transaction_id": 7},
            {"transaction_status": "refund", "refunds": ["canary"]},
            {"transaction_status": "refund", "refunds": [{"refund_amount": "1.00"}]},
        ],
    )
    def test_nothing_that_can_be_used_where_a_part_is_amiss(
        self, service: ScriptedService, changes: dict[str, Any]
    ) -> None:
        with pytest.raises(GatewayUnavailable) as refused:
            reports(service, **changes)
        assert "canary" not in str(refused.value)

    @pytest.mark.parametrize(
        ("code", "error"), [("412", GatewayRefused), ("500", GatewayUnavailable), (None, GatewayUnavailable)]
    )
    def test_by_its_own_code_that_it_does_not_give_back(
        self, service: ScriptedService, code: str | None, error: type[Exception]
    ) -> None:
        service.replies = [http(200, {"status_code": code})]
        with pytest.raises(error):
            midtrans(service.url).refund(REFUND)


class TestXendit:
    def told(self, service: ScriptedService, value: object) -> list[Report]:
        service.replies = [http(200, value)]
        return list(XenditClient(service.url, secrets=KEYS).transactions(ATTEMPT))

    def test_is_asked_with_its_secret_key_for_the_invoices_of_a_reference(self, service: ScriptedService) -> None:
        other = INVOICE | {"external_id": "SKN-4T9QX-0M7KD.1"}
        (report,) = self.told(service, [INVOICE, other, INVOICE | {"status": "PENDING"}])
        assert asked(service) == [("GET /v2/invoices?external_id=SKN-4T9QX-0M7KD.2", f"{CANARY}:")]
        assert (report.transaction_id, report.status, report.attempt_no) == ("invoice-1", EventStatus.PAID, 2)

    @pytest.mark.parametrize("value", [{"error": 1}, ["canary"], [INVOICE | {"amount": None, "paid_amount": None}]])
    def test_that_answers_something_else_may_answer_later(self, service: ScriptedService, value: object) -> None:
        with pytest.raises(GatewayUnavailable):
            self.told(service, value)

    def test_is_asked_for_an_invoice_by_the_reference_the_total_and_the_time_that_is_left(
        self, service: ScriptedService
    ) -> None:
        service.replies = [http(200, []), http(200, {"id": "i", "invoice_url": "https://checkout.xendit.co/web/i"})]
        client: GatewayClient = XenditClient(service.url, secrets=KEYS, clock=lambda: NOW)
        assert client.start(ATTEMPT) == "https://checkout.xendit.co/web/i"
        assert [line for line, _ in asked(service)][1] == "POST /v2/invoices"
        assert service.requests[1].json == {
            "external_id": "SKN-4T9QX-0M7KD.2",
            "amount": 150_000,
            "currency": "IDR",
            "description": "SKN-4T9QX-0M7KD",
            "invoice_duration": 3600,
        }

    def test_makes_no_second_invoice_while_one_is_open(self, service: ScriptedService) -> None:
        url = "https://checkout.xendit.co/web/first"
        service.replies = [
            http(200, [INVOICE | {"status": "EXPIRED"}, INVOICE | {"status": "PENDING", "invoice_url": url}])
        ]
        assert XenditClient(service.url, secrets=KEYS).start(ATTEMPT) == url
        assert len(service.requests) == 1

    def test_gives_nothing_back(self) -> None:
        with pytest.raises(GatewayRefused):
            XenditClient("https://api.example.com", secrets=KEYS).refund(REFUND)


class TestOurOwnGateway:
    @pytest.mark.parametrize(
        "value", [[], {"transactions": {}}, {"transactions": [1]}, {"transactions": [{"status": "paid"}]}]
    )
    def test_that_answers_something_else_may_answer_later(self, service: ScriptedService, value: object) -> None:
        service.replies = [http(200, value)]
        with pytest.raises(GatewayUnavailable):
            StandardWebhooksClient(service.url, secrets=KEYS).transactions(ATTEMPT)


PAGES = pytest.mark.parametrize(
    "url",
    [None, "javascript:alert(1)", "http://pay.example.com/x", "https://a@b.example.com", f"https://e/{'x' * 2000}"],
)


class TestAnyAnswer:
    @pytest.mark.parametrize(
        ("reply", "error"),
        [
            (http(500, b"<html>canary</html>"), GatewayUnavailable),
            (http(503, b""), GatewayUnavailable),
            (http(429, {}), GatewayUnavailable),
            (http(400, {"error_messages": ["canary"]}), GatewayRefused),
            (http(404, {}), GatewayRefused),
            (http(401, {}), GatewayRefused),
            (http(302, b"", {"Location": "/elsewhere"}), GatewayRefused),
            (http(201, b"canary"), GatewayUnavailable),
            (http(201, b"\xff"), GatewayUnavailable),
            (http(201, b"[" * 100_000), GatewayUnavailable),
            (http(201, b'"' + b"x" * 1_000_001 + b'"'), GatewayUnavailable),
            (http(201, b"{}", {"Content-Length": "10"}), GatewayUnavailable),
            (Reply(b"canary\r\n\r\n", hang_up=True), GatewayUnavailable),
            (Reply(hang_up=True), GatewayUnavailable),
        ],
    )
    def test_says_whether_asking_again_may_help_and_is_asked_for_once(
        self, service: ScriptedService, reply: Reply, error: type[Exception]
    ) -> None:
        service.replies = [reply]
        with pytest.raises(error) as refused:
            midtrans(service.url).start(ATTEMPT)
        assert len(service.requests) == 1
        assert "canary" not in str(refused.value)
        assert refused.value.__cause__ is None
        assert refused.value.__context__ is None or refused.value.__suppress_context__

    @PAGES
    def test_leads_no_customer_to_an_unsafe_page(self, service: ScriptedService, url: str | None) -> None:
        service.replies = [http(201, {"redirect_url": url})]
        with pytest.raises(GatewayUnavailable):
            midtrans(service.url).start(ATTEMPT)

    def test_that_takes_too_long_is_not_waited_for(
        self, service: ScriptedService, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert gateway_http.CALL_S <= 4
        monkeypatch.setattr(connections, "READ_S", 0.2)
        service.replies = [Reply()]
        began = time.monotonic()
        with pytest.raises(GatewayUnavailable, match="ReadTimeoutError"):
            midtrans(service.url).start(ATTEMPT)
        assert time.monotonic() - began < 3

    def test_of_a_certificate_that_nobody_vouches_for_is_not_read(self, certificate: Path) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        with ScriptedService(SNAP, tls=context) as service:
            with pytest.raises(GatewayUnavailable, match="SSLError"):
                midtrans(service.url).start(ATTEMPT)
            assert service.requests == []


class TestTheKey:
    def test_is_looked_up_once_more_when_it_is_refused(self, service: ScriptedService) -> None:
        service.replies = [http(401, {}), SNAP]
        midtrans(service.url, FixedSecrets({"midtrans": ("old",)}, renewed={"midtrans": ("new", "old")})).start(ATTEMPT)
        assert [key for _, key in asked(service)] == ["old:", "new:"]

    def test_that_is_configured_nowhere_is_named(self, service: ScriptedService) -> None:
        class NoSecrets:
            def secrets(self, gateway: str, *, fresh: bool = False) -> tuple[str, ...]:
                raise GatewayUnknown

        with pytest.raises(ConfigurationError, match="WEBHOOK_SECRET_ID_XENDIT_API"):
            XenditClient(service.url, secrets=NoSecrets()).transactions(ATTEMPT)


class TestTheAddress:
    @pytest.mark.parametrize(
        "url",
        [
            "http://api.example.com",
            "https://",
            "https://user@api.example.com",
            "ftp://x",
            "https://x?y",
            "https://[",
            "",
        ],
    )
    def test_that_is_not_safe_is_refused(self, url: str) -> None:
        with pytest.raises(ConfigurationError, match="GATEWAY_URL_MIDTRANS"):
            GatewayHttp("midtrans", url, secrets=KEYS)
