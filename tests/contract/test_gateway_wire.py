"""What goes over the wire to a payment gateway, and what its answers mean: nothing secret is ever said again."""

import ssl
import time
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from local.settings import PAYMENT_API
from skincare.errors import ConfigurationError, TransientError
from skincare.http_client import Timeouts
from skincare.payments.deadline import within
from skincare.payments.errors import (
    GatewayMisconfigured,
    GatewayRefused,
    GatewayUnavailable,
    GatewayUnknown,
    ReferenceTaken,
    RefundTooEarly,
)
from skincare.payments.gateways import http as gateway_http
from skincare.payments.gateways.http import GatewayHttp
from skincare.payments.gateways.midtrans.client import MidtransClient
from skincare.payments.gateways.standard_webhooks.client import StandardWebhooksClient
from skincare.payments.gateways.xendit.client import XenditClient
from skincare.payments.models import Attempt, Closing, EventStatus, Refund, Report
from skincare.payments.ports import GatewayClient
from tests.support.endless_service import endless
from tests.support.log import recorded_log
from tests.support.payment_gateways import payment_gateways
from tests.support.scripted_service import Reply, ScriptedService, http
from tests.support.webhooks import FixedSecrets

CANARY = "canary-server-key"
KEYS = FixedSecrets(dict.fromkeys(("midtrans", "standard_webhooks", "xendit_api"), (CANARY,)))
NOW = datetime(2026, 1, 15, 3, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
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
            "page_expiry": {"unit": "minute", "duration": 60},
        }
        assert service.requests[0].headers["content-type"] == "application/json"

    @pytest.mark.parametrize(("left", "payment", "page"), [(59, 1, 5), (299, 4, 5), (301, 5, 5), (-1, 1, 5)])
    def test_for_a_page_that_ends_with_the_attempt_as_far_as_it_lets_us(
        self, service: ScriptedService, left: int, payment: int, page: int
    ) -> None:
        service.replies = [SNAP]
        midtrans(service.url).start(replace(ATTEMPT, expires_at=NOW + timedelta(seconds=left)))
        asked_for = service.requests[0].json
        assert (asked_for["expiry"]["duration"], asked_for["page_expiry"]["duration"]) == (payment, page)

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
            ({"transaction_status": "cancel"}, EventStatus.VOIDED),
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

    def test_the_price_where_a_fee_was_put_on_top(self, service: ScriptedService) -> None:
        info = {"original_amount": "150000", "gross_amount": "150705", "customer_imposed_payment_fee": "705"}
        reported = {"gross_amount": "150705.00", "metadata": {"extra_info": {"gross_amount_info": info}}}
        assert reports(service, **reported) == [(EventStatus.PAID, 150_000, None)]
        whole = [{"refund_key": "a", "refund_amount": "150705.00"}]
        assert reports(service, **reported, transaction_status="refund", refunds=whole) == [
            (EventStatus.PAID, 150_000, None),
            (EventStatus.REFUNDED, 150_000, "a"),
        ]
        both = [{"refund_key": "a", "refund_amount": "150000"}, {"refund_key": "b", "refund_amount": "705"}]
        assert reports(service, **reported, transaction_status="refund", refunds=both) == [
            (EventStatus.PAID, 150_000, None),
            (EventStatus.REFUNDED, 150_000, "a"),
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
        service.replies = [http(200, {"status_code": code}), http(200, STATUS)]
        with pytest.raises(error):
            midtrans(service.url).refund(REFUND)


class TestMidtransByTransaction:
    """DANA and the banks of BI-SNAP: found by their transaction alone, with its identifier as `order_id`."""

    UNKNOWN = http(404, {"status_code": "404"})

    def asked_by(self, service: ScriptedService, *replies: Reply) -> list[Report]:
        service.replies = list(replies)
        return list(midtrans(service.url).transactions(ATTEMPT, ["trx-1"]))

    @pytest.mark.parametrize("order_id", [ATTEMPT.reference, "trx-1"])
    def test_is_asked_where_the_reference_finds_nothing(self, service: ScriptedService, order_id: str) -> None:
        (report,) = self.asked_by(service, self.UNKNOWN, http(200, STATUS | {"order_id": order_id}))
        assert [line for line, _ in asked(service)] == [
            f"GET /v2/{ATTEMPT.reference}/status",
            "GET /v2/trx-1/status",
        ]
        assert (report.order_number, report.attempt_no, report.status) == (ATTEMPT.order_number, 2, EventStatus.PAID)

    @pytest.mark.parametrize(
        "changes",
        [
            {"order_id": "SKN-4T9QX-0M7KD.1"},
            {"order_id": "SKN-00000-00000.2"},
            {"order_id": None},
            {"order_id": "trx-2", "transaction_id": "trx-2"},
            {"order_id": "trx-1", "transaction_id": "trx-2"},
        ],
    )
    def test_leaves_out_what_is_of_something_else(self, service: ScriptedService, changes: dict[str, Any]) -> None:
        assert self.asked_by(service, self.UNKNOWN, http(200, STATUS | changes)) == []

    def test_is_not_asked_again_where_the_reference_found_it(self, service: ScriptedService) -> None:
        assert len(self.asked_by(service, http(200, STATUS))) == 1
        assert len(service.requests) == 1

    def test_finds_the_payment_beside_one_that_the_reference_found(self, service: ScriptedService) -> None:
        failed = STATUS | {"transaction_id": "trx-0", "transaction_status": "deny", "status_code": "202"}
        reports = self.asked_by(service, http(200, failed), http(200, STATUS | {"order_id": "trx-1"}))
        assert [report.status for report in reports] == [EventStatus.FAILED, EventStatus.PAID]


CHANGED = {"status_code": "412", "status_message": "Merchant cannot modify the status of the transaction"}


class TestMidtransCloses:
    @pytest.mark.parametrize(
        ("replies", "closing"),
        [
            ([http(407, {"status_code": "407"})], Closing.CLOSED),
            ([http(200, {"status_code": "407", "transaction_status": "expire"})], Closing.CLOSED),
            ([http(200, {"status_code": "404"})], Closing.UNKNOWN),
            ([http(404, {"status_code": "404"})], Closing.UNKNOWN),
            ([http(200, CHANGED), http(200, STATUS)], Closing.PAID),
            ([http(412, CHANGED), http(200, STATUS)], Closing.PAID),
            ([http(200, CHANGED), http(200, STATUS | {"transaction_status": "refund"})], Closing.PAID),
            ([http(200, CHANGED), http(200, STATUS | {"transaction_status": "expire"})], Closing.CLOSED),
            ([http(200, CHANGED), http(200, STATUS | {"transaction_status": "cancel"})], Closing.CLOSED),
            ([http(200, CHANGED), http(200, STATUS | {"transaction_status": "pending"})], Closing.UNDER_WAY),
            ([http(200, CHANGED), http(200, STATUS | {"transaction_status": "authorize"})], Closing.UNDER_WAY),
            ([http(200, CHANGED), http(404, {})], Closing.UNDER_WAY),
        ],
    )
    def test_what_waits_for_money(self, service: ScriptedService, replies: list[Reply], closing: Closing) -> None:
        service.replies = replies
        assert midtrans(service.url).close(ATTEMPT) is closing
        assert asked(service)[0] == (f"POST /v2/{ATTEMPT.reference}/expire", f"{CANARY}:")

    @pytest.mark.parametrize(
        ("reply", "error"),
        [
            (http(500, {}), GatewayUnavailable),
            (http(200, {"status_code": "503"}), GatewayUnavailable),
            (http(200, {}), GatewayUnavailable),
            (http(200, {"status_code": "400"}), GatewayRefused),
            (http(200, {"status_code": "401"}), GatewayMisconfigured),
        ],
    )
    def test_nothing_where_it_does_not_say_so(
        self, service: ScriptedService, reply: Reply, error: type[Exception]
    ) -> None:
        service.replies = [reply]
        with pytest.raises(error):
            midtrans(service.url).close(ATTEMPT)

    def test_also_what_only_its_transaction_names(self, service: ScriptedService) -> None:
        service.replies = [http(200, {"status_code": "404"}), http(200, CHANGED), http(200, STATUS)]
        assert midtrans(service.url).close(ATTEMPT, ["trx-1"]) is Closing.PAID


class TestMidtransGivesBack:
    def test_a_card_of_the_same_day_once_it_is_settled(self, service: ScriptedService) -> None:
        service.replies = [http(200, CHANGED), http(200, STATUS | {"transaction_status": "capture"})]
        with pytest.raises(RefundTooEarly) as early:
            midtrans(service.url).refund(REFUND)
        assert early.value.retry_after == timedelta(minutes=15)
        assert "settled" in str(early.value)
        service.replies = [http(200, {"status_code": "200"})]
        midtrans(service.url).refund(REFUND)

    @pytest.mark.parametrize("status", ["settlement", "refund", "cancel", "chargeback"])
    def test_nothing_of_what_cannot_be_changed_any_more(self, service: ScriptedService, status: str) -> None:
        service.replies = [http(200, CHANGED), http(200, STATUS | {"transaction_status": status})]
        with pytest.raises(GatewayRefused, match="412"):
            midtrans(service.url).refund(REFUND)


class TestAStartThatIsRefused:
    TAKEN = http(400, {"error_messages": ["transaction_details.order_id has already been taken"]})
    TOO_LITTLE = http(400, {"error_messages": ["transaction_details.gross_amount is below the minimum"]})

    @pytest.mark.parametrize(
        ("reply", "taken"),
        [
            (TAKEN, True),
            (http(406, {}), True),
            (TOO_LITTLE, False),
            (http(400, {"error_messages": "order_id"}), False),
            (http(400, {"error_messages": [7, None]}), False),
            (http(400, []), False),
            (http(400, b"order_id"), False),
        ],
    )
    def test_by_midtrans_is_told_apart(self, service: ScriptedService, reply: Reply, taken: bool) -> None:
        service.replies = [reply]
        with pytest.raises(GatewayRefused) as refused:
            midtrans(service.url).start(ATTEMPT)
        assert isinstance(refused.value, ReferenceTaken) is taken

    @pytest.mark.parametrize(("status", "taken"), [(409, True), (400, False), (422, False)])
    def test_by_our_own_gateway_is_told_apart(self, service: ScriptedService, status: int, taken: bool) -> None:
        service.replies = [http(status, {})]
        with pytest.raises(GatewayRefused) as refused:
            StandardWebhooksClient(service.url, secrets=KEYS).start(ATTEMPT)
        assert isinstance(refused.value, ReferenceTaken) is taken


class TestXenditCloses:
    OPEN = INVOICE | {"status": "PENDING"}

    @pytest.mark.parametrize(
        ("replies", "closing", "requests"),
        [
            ([http(200, [])], Closing.UNKNOWN, 1),
            ([http(200, [OPEN]), http(200, OPEN | {"status": "EXPIRED"})], Closing.CLOSED, 2),
            ([http(200, [INVOICE])], Closing.PAID, 1),
            ([http(200, [INVOICE | {"status": "EXPIRED"}])], Closing.CLOSED, 1),
            ([http(200, [OPEN]), http(400, {"error_code": "x"}), http(200, [INVOICE])], Closing.PAID, 3),
            ([http(200, [OPEN]), http(400, {}), http(200, [OPEN | {"status": "EXPIRED"}])], Closing.CLOSED, 3),
            ([http(200, [OPEN]), http(400, {}), http(200, [OPEN])], Closing.UNDER_WAY, 3),
            ([http(200, [INVOICE, OPEN | {"id": "invoice-2"}]), http(200, {})], Closing.PAID, 2),
            ([http(200, [INVOICE | {"status": "NEW_WORD"}])], Closing.UNDER_WAY, 1),
        ],
    )
    def test_the_open_invoices_of_a_reference(
        self, service: ScriptedService, replies: list[Reply], closing: Closing, requests: int
    ) -> None:
        service.replies = list(replies)
        assert XenditClient(service.url, secrets=KEYS).close(ATTEMPT) is closing
        assert len(service.requests) == requests
        if requests > 1:
            assert asked(service)[1][0].startswith("POST /invoices/invoice-")
            assert asked(service)[1][0].endswith("/expire!")

    @pytest.mark.parametrize(("external_id", "found"), [(ATTEMPT.reference, 1), ("SKN-4T9QX-0M7KD.1", 0), (None, 0)])
    def test_is_asked_by_the_invoice_of_an_event_as_well(
        self, service: ScriptedService, external_id: str | None, found: int
    ) -> None:
        service.replies = [http(200, []), http(200, INVOICE | {"external_id": external_id})]
        client = XenditClient(service.url, secrets=KEYS)
        assert len(client.transactions(ATTEMPT, ["invoice-1"])) == found
        assert asked(service)[1][0] == "GET /v2/invoices/invoice-1"


class TestXendit:
    def reported(self, service: ScriptedService, value: object) -> list[Report]:
        service.replies = [http(200, value)]
        return list(XenditClient(service.url, secrets=KEYS).transactions(ATTEMPT))

    def test_is_asked_with_its_secret_key_for_the_invoices_of_a_reference(self, service: ScriptedService) -> None:
        other = INVOICE | {"external_id": "SKN-4T9QX-0M7KD.1"}
        (report,) = self.reported(service, [INVOICE, other, INVOICE | {"status": "PENDING"}])
        assert asked(service) == [("GET /v2/invoices?external_id=SKN-4T9QX-0M7KD.2", f"{CANARY}:")]
        assert (report.transaction_id, report.status, report.attempt_no) == ("invoice-1", EventStatus.PAID, 2)

    @pytest.mark.parametrize("value", [{"error": 1}, ["canary"], [INVOICE | {"amount": None, "paid_amount": None}]])
    def test_that_answers_something_else_may_answer_later(self, service: ScriptedService, value: object) -> None:
        with pytest.raises(GatewayUnavailable):
            self.reported(service, value)

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
    [
        None,
        "javascript:alert(1)",
        "http://pay.example.com/x",
        "https://a@b.example.com",
        f"https://e/{'x' * 2000}",
        "https://pay.example.com/\r\nSet-Cookie: a=b",
        "https://pay.example.com/a\tb",
        "\nhttps://pay.example.com/",
        "https://pay.example.com/a b",
        "https://pay.example.com/\x00",
        "https://pay.example.com/\x7f",
        "https://pay.example.com/\u202egnp.exe",
        "https://pay.example.com/\u2066x",
        "https://pay\u200b.example.com/",
        "https://p\u0430y.example.com/",
        "https://pay.example.com\\@evil.example.com/",
        "//pay.example.com/",
        "HTTPS:pay.example.com",
    ],
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
            (http(401, {}), GatewayMisconfigured),
            (http(403, {}), GatewayMisconfigured),
            (http(302, b"", {"Location": "/elsewhere"}), GatewayMisconfigured),
            (http(308, b"", {"Location": "https://canary.example.com"}), GatewayMisconfigured),
            (http(201, {"status_code": "401", "status_message": "canary"}), GatewayMisconfigured),
            (http(400, b"\xff canary"), GatewayRefused),
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
        monkeypatch.setattr(gateway_http, "TIMEOUTS", Timeouts(connect=SECOND, read=SECOND / 5))
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


class TestASlowAnswer:
    def test_is_cut_off_at_the_end_of_the_calls_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(gateway_http, "CALL_S", 0.3)
        with endless(opening=b"HTTP/1.1 201 Created\r\n", repeats=b"x", every_s=0.02) as url:
            began = time.monotonic()
            with pytest.raises(GatewayUnavailable, match="Deadline"):
                midtrans(url).start(ATTEMPT)
            assert 0.25 < time.monotonic() - began < 2

    def test_over_tls_is_cut_off_as_well(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A handshake without an end is part of the call."""
        monkeypatch.setattr(gateway_http, "CALL_S", 0.3)
        monkeypatch.setattr(gateway_http, "TIMEOUTS", Timeouts(connect=5 * SECOND, read=SECOND))
        with endless(opening=b"\x16\x03\x03\x40\x00", repeats=b"\x02", every_s=0.02) as url:
            began = time.monotonic()
            with pytest.raises(GatewayUnavailable, match="Deadline"):
                midtrans(url.replace("http:", "https:")).start(ATTEMPT)
            assert 0.25 < time.monotonic() - began < 2

    def test_leaves_less_time_to_the_next_call_of_the_same_operation(self, service: ScriptedService) -> None:
        service.replies = [Reply(), http(200, [])]
        began = time.monotonic()
        with within(0.3):
            for _ in range(2):
                with pytest.raises(GatewayUnavailable):
                    XenditClient(service.url, secrets=KEYS).transactions(ATTEMPT)
        assert time.monotonic() - began < 2
        assert len(service.requests) == 1
        assert list(XenditClient(service.url, secrets=KEYS).transactions(ATTEMPT)) == []

    def test_of_one_call_does_not_end_the_connection_of_the_next(self, service: ScriptedService) -> None:
        service.replies = [http(200, []), http(200, [])]
        client = XenditClient(service.url, secrets=KEYS)
        with within(0.2):
            client.transactions(ATTEMPT)
        with within(5):
            client.transactions(ATTEMPT)
        assert service.connections == 1


def keys_tried(service: ScriptedService) -> list[str]:
    return [key.removesuffix(":") for _, key in asked(service)]


class TestTheKey:
    @pytest.mark.parametrize("status", [401, 403])
    @pytest.mark.parametrize("known", [("new", "old"), ("old", "new")])
    def test_is_whichever_of_the_known_ones_the_gateway_takes(
        self, service: ScriptedService, known: tuple[str, ...], status: int
    ) -> None:
        """While one replaces the other, either may be the one that works."""
        service.replies = [http(status, {}), SNAP, SNAP]
        client = midtrans(service.url, FixedSecrets({"midtrans": known}))
        client.start(ATTEMPT)
        client.start(ATTEMPT)
        assert keys_tried(service) == [known[0], known[1], known[1]]

    def test_is_found_again_when_the_gateway_changes_it_meanwhile(self, service: ScriptedService) -> None:
        client = midtrans(service.url, FixedSecrets({"midtrans": ("old", "new")}))
        service.replies = [SNAP, http(401, {}), SNAP, SNAP]
        for _ in range(3):
            client.start(ATTEMPT)
        assert keys_tried(service) == ["old", "old", "new", "new"]

    def test_that_is_refused_whatever_it_is_rings_and_may_help_later(self, service: ScriptedService) -> None:
        secrets = FixedSecrets({"midtrans": ("one", "two")}, renewed={"midtrans": ("two", "three")})
        service.replies = [http(401, {})] * 3
        with recorded_log() as log, pytest.raises(GatewayMisconfigured) as refused:
            midtrans(service.url, secrets).refund(REFUND)
        assert keys_tried(service) == ["one", "two", "three"]
        assert isinstance(refused.value, TransientError)
        (line,) = log.lines
        assert (line["message"], line["level"]) == ("payment.gateway_misconfigured", "ERROR")
        assert not any(key in log.text + str(refused.value) for key in ("one", "two", "three"))

    @pytest.mark.parametrize("call", ["start", "transactions", "close", "refund"])
    def test_is_taken_at_each_moment_of_a_change_in_the_documented_order(self, tmp_path: Path, call: str) -> None:
        """docs/deploy.md: both into the secret, the change at the gateway, and a day later the new one alone.

        What a container still remembers may be any of the secret's earlier contents.
        """
        secret = [("old",), ("old", "new"), ("old", "new"), ("new",)]
        at_the_gateway = ["old", "old", "new", "new"]
        for moment, known_there in enumerate(at_the_gateway):
            for age, remembered in enumerate(secret[: moment + 1]):
                secrets = FixedSecrets({"midtrans": remembered}, renewed={"midtrans": secret[moment]})
                folder = tmp_path / f"{moment}.{age}"
                folder.mkdir()
                with payment_gateways(folder, api_keys={"midtrans": known_there}) as (home, store):
                    url = f"{home}{PAYMENT_API}/midtrans"
                    client = MidtransClient(url, url, secrets=secrets)
                    MidtransClient(url, url, secrets=FixedSecrets({"midtrans": (known_there,)})).start(ATTEMPT)
                    _, paid = store.happen(ATTEMPT.reference, "paid")
                    match call:
                        case "start":
                            assert client.start(replace(ATTEMPT, attempt_no=3))
                        case "transactions":
                            assert client.transactions(ATTEMPT)
                        case "close":
                            assert client.close(ATTEMPT) is Closing.PAID
                        case _:
                            client.refund(replace(REFUND, transaction_id=paid.transaction_id))

    def test_is_not_tried_again_after_any_other_answer(self, service: ScriptedService) -> None:
        for reply in (http(500, {}), http(400, {}), http(302, b"")):
            service.replies = [reply]
            with pytest.raises((GatewayUnavailable, GatewayRefused)):
                midtrans(service.url, FixedSecrets({"midtrans": ("one", "two")})).start(ATTEMPT)
        assert keys_tried(service) == ["one"] * 3

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
