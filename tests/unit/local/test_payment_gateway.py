"""The payment gateway of the local system: what it lets happen, how it tells the shop, and whom it answers."""

import base64
import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from werkzeug import Request, Response
from werkzeug.serving import BaseWSGIServer, make_server
from werkzeug.test import Client, TestResponse

from emulator.gateway.gateway import Gateway
from emulator.gateway.tokens import new_signing_key
from emulator.log.logbook import LogBook
from local.http_api import http_api
from local.payment_gateway import PaymentSite
from local.payment_gateway.payment_store import PaymentStore
from local.payment_gateway.sender import Sender
from local.settings import PAYMENT_API
from local.tokens import token_issuer
from local.webhook_delivery import Signer
from skincare.payments.errors import SignatureInvalid
from skincare.payments.gateways.standard_webhooks.webhook import StandardWebhooks
from skincare.payments.models import GatewayEvent, Webhook
from tests.support.shop import wait_until
from tests.support.webhooks import OTHER_SECRETS, SECRETS

NAME = "standard_webhooks"
KEY = SECRETS[NAME]
HOME = "http://127.0.0.1:8000"
REFERENCE = "SKN-4T9QX-0M7KD.1"
SOON = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
NO_KEY: dict[str, str] = {}


class NoFunction:
    def invoke(self, payload: bytes, **_: Any) -> bytes:
        raise AssertionError("the gateway is no business of the API's function")


class Shop:
    """Takes webhooks as the API does: 200 for a true one, 401 for any other."""

    def __init__(self) -> None:
        self.events: list[GatewayEvent] = []

    def __call__(self, environ: Any, start_response: Any) -> Any:
        request = Request(environ)
        headers = {name.lower(): value for name, value in request.headers.items()}
        try:
            webhook = Webhook(request.get_data(), headers, request.path)
            self.events.append(StandardWebhooks().read(webhook, (KEY,), datetime.now(UTC)))
            response = Response('{"status":"ok"}')
        except SignatureInvalid as refusal:
            response = Response(json.dumps({"detail": str(refusal)}), 401)
        return response(environ, start_response)

    @property
    def reported(self) -> list[tuple[str, int, str | None]]:
        reports = [event.report for event in self.events if event.report]
        return [(report.reported_status, report.amount_rupiah, report.refund_key) for report in reports]


class Visitor:
    """The shop and its customer before the gateway."""

    def __init__(self, folder: Path, shop: Shop, server: BaseWSGIServer) -> None:
        self.shop = shop
        self.file = folder / "payments.json"
        self.log = LogBook(folder, None)
        signers = {name: Signer(name, SECRETS[name], OTHER_SECRETS[name]) for name in SECRETS}
        sender = Sender(f"http://127.0.0.1:{server.port}", signers)
        keys = {name: SECRETS[name] for name in (NAME, "midtrans", "xendit")}
        site = PaymentSite(PaymentStore(self.file), sender, shop_url=HOME, api_keys=keys, log=self.log)
        gateway = Gateway(
            NoFunction(),
            api=http_api(),
            tokens=token_issuer(new_signing_key()),
            missing=list,
            mails=list,
            page=site.answer,
            log=self.log,
        )
        gateway.open.set()
        self._client = Client(gateway)

    def call(self, method: str, path: str, body: object = None, *, base: str = HOME, **headers: str) -> TestResponse:
        content = {} if body is None else {"data": json.dumps(body), "content_type": "application/json"}
        return self._client.open(path, method=method, base_url=base, headers=headers, **content)  # type: ignore[arg-type]

    def api(self, method: str, path: str, body: object = None, *, key: str = KEY) -> TestResponse:
        authorization = "Basic " + base64.b64encode(f"{key}:".encode()).decode()
        return self.call(method, PAYMENT_API + path, body, Authorization=authorization)

    def open(self, **changes: Any) -> TestResponse:
        payment = {"reference": REFERENCE, "amount_rupiah": 150_000, "currency": "IDR", "expires_at": SOON}
        return self.api("POST", "/payments", payment | changes)

    def csrf_token(self) -> str:
        return str(self.call("GET", f"/_local/pay/state?reference={REFERENCE}").json["csrf_token"])  # type: ignore[index]

    def act(self, action: str, delivery: str = "once", /, **changes: Any) -> TestResponse:
        wishes = {"reference": REFERENCE, "action": action, "delivery": delivery} | changes
        return self.call("POST", "/_local/pay/act", wishes, **{"X-CSRF-Token": self.csrf_token()})

    def transactions(self) -> list[dict[str, Any]]:
        answer = self.api("GET", f"/payments/{REFERENCE}/transactions")
        return list(answer.json["transactions"])  # type: ignore[index]


@pytest.fixture
def visitor(tmp_path: Path) -> Iterator[Visitor]:
    shop = Shop()
    server = make_server("127.0.0.1", 0, shop, threaded=True)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    visitor = Visitor(tmp_path, shop, server)
    yield visitor
    server.shutdown()
    server.server_close()
    visitor.log.close()


def statuses(response: TestResponse) -> list[int]:
    assert response.status_code == 200, response.text
    return [answer["status"] for answer in response.json["answers"]]  # type: ignore[index]


class TestAPayment:
    def test_has_a_page_of_its_own_however_often_it_is_opened(self, visitor: Visitor) -> None:
        answers = [visitor.open(), visitor.open()]
        assert [answer.status_code for answer in answers] == [201, 201]
        assert {answer.json["url"] for answer in answers} == {f"{HOME}/_local/pay/?reference={REFERENCE}"}  # type: ignore[index]

    def test_keeps_its_amount(self, visitor: Visitor) -> None:
        visitor.open()
        assert visitor.open(amount_rupiah=1).status_code == 409

    def test_that_is_made_is_told_to_the_shop_and_to_who_asks(self, visitor: Visitor) -> None:
        visitor.open()
        assert statuses(visitor.act("pay")) == [200]
        assert visitor.shop.reported == [("paid", 150_000, None)]
        assert [(each["status"], each["order_number"]) for each in visitor.transactions()] == [("paid", REFERENCE)]

    def test_is_made_once(self, visitor: Visitor) -> None:
        visitor.open()
        visitor.act("pay")
        assert [visitor.act(action).status_code for action in ("pay", "fail", "expire")] == [409, 409, 409]

    def test_that_failed_can_be_made_after_all(self, visitor: Visitor) -> None:
        visitor.open()
        visitor.act("fail")
        visitor.act("pay")
        assert [status for status, *_ in visitor.shop.reported] == ["failed", "paid"]
        assert len({each["transaction_id"] for each in visitor.transactions()}) == 2

    @pytest.mark.parametrize("how", ["closed", "run out"])
    def test_that_is_over_cannot_be_made(self, visitor: Visitor, how: str) -> None:
        visitor.open(expires_at=SOON if how == "closed" else datetime.now(UTC).isoformat())
        if how == "closed":
            visitor.act("expire")
        assert visitor.act("pay").status_code == 409

    def test_outlives_a_restart(self, visitor: Visitor) -> None:
        visitor.open()
        visitor.act("pay")
        assert PaymentStore(visitor.file).find(REFERENCE).state == "paid"


class TestClosingAPayment:
    PATH = f"/payments/{REFERENCE}/close"

    def test_lets_nobody_pay_it_any_more(self, visitor: Visitor) -> None:
        visitor.open()
        answers = [visitor.api("POST", self.PATH, {}) for _ in range(2)]
        assert [(answer.status_code, answer.json) for answer in answers] == [(200, {"state": "closed"})] * 2
        assert [visitor.act(action).status_code for action in ("pay", "fail", "expire")] == [409, 409, 409]
        assert visitor.transactions() == []

    def test_opens_it_never_again(self, visitor: Visitor) -> None:
        visitor.open()
        visitor.api("POST", self.PATH, {})
        assert visitor.open().status_code == 409

    def test_outlives_a_restart(self, visitor: Visitor) -> None:
        visitor.open()
        visitor.api("POST", self.PATH, {})
        assert PaymentStore(visitor.file).find(REFERENCE).state == "closed"

    def test_comes_too_late_for_what_is_paid(self, visitor: Visitor) -> None:
        visitor.open()
        visitor.act("pay")
        assert visitor.api("POST", self.PATH, {}).status_code == 409
        assert visitor.act("refund").status_code == 200

    def test_finds_no_payment_that_nobody_started(self, visitor: Visitor) -> None:
        assert visitor.api("POST", self.PATH, {}).status_code == 404

    def test_needs_the_key_of_the_shop(self, visitor: Visitor) -> None:
        visitor.open()
        assert visitor.api("POST", self.PATH, {}, key="other").status_code == 401
        assert visitor.act("pay").status_code == 200


class TestARefund:
    def test_asked_for_by_the_shop_is_told_to_it(self, visitor: Visitor) -> None:
        visitor.open()
        visitor.act("pay")
        path = f"/transactions/{visitor.transactions()[0]['transaction_id']}/refunds"
        for _ in range(2):
            assert visitor.api("POST", path, {"refund_id": "r-1", "amount_rupiah": 50_000}).status_code == 201
        assert visitor.api("POST", path, {"refund_id": "r-2", "amount_rupiah": 100_001}).status_code == 409
        wait_until(lambda: len(visitor.shop.reported) == 2)
        assert visitor.shop.reported[1] == ("partially_refunded", 50_000, "r-1")

    def test_pressed_by_a_person_gives_back_what_is_left(self, visitor: Visitor) -> None:
        visitor.open()
        visitor.act("pay")
        visitor.act("refund")
        assert [(status, amount) for status, amount, _ in visitor.shop.reported] == [
            ("paid", 150_000),
            ("refunded", 150_000),
        ]
        assert visitor.act("refund").status_code == 409


class TestTellingTheShop:
    def test_twice_is_the_same_event(self, visitor: Visitor) -> None:
        visitor.open()
        assert statuses(visitor.act("pay", "twice")) == [200, 200]
        assert len({event.key for event in visitor.shop.events}) == 1

    @pytest.mark.parametrize("delivery", ["late", "forged"])
    def test_badly_is_refused_and_can_be_made_good(self, visitor: Visitor, delivery: str) -> None:
        visitor.open()
        assert statuses(visitor.act("pay", delivery)) == [401]
        assert visitor.shop.reported == []
        assert statuses(visitor.act("again")) == [200]
        assert visitor.shop.reported == [("paid", 150_000, None)]

    def test_before_anything_happened_is_refused(self, visitor: Visitor) -> None:
        visitor.open()
        assert visitor.act("again").status_code == 409


class TestWhoMayAsk:
    def test_the_api_needs_the_key_of_the_shop(self, visitor: Visitor) -> None:
        visitor.open()
        for key in ("", "other"):
            assert visitor.api("GET", f"/payments/{REFERENCE}/transactions", key=key).status_code == 401
        assert visitor.call("GET", f"{PAYMENT_API}/payments/{REFERENCE}/transactions").status_code == 401

    def test_a_button_needs_the_token_of_the_page(self, visitor: Visitor) -> None:
        visitor.open()
        for token in (NO_KEY, {"X-CSRF-Token": "x"}):
            wishes = {"reference": REFERENCE, "action": "pay", "delivery": "once"}
            assert visitor.call("POST", "/_local/pay/act", wishes, **token).status_code == 403
        assert visitor.shop.reported == []

    @pytest.mark.parametrize("path", ["/_local/pay/", "/_local/pay/state", f"{PAYMENT_API}/payments"])
    def test_another_name_of_this_machine_is_refused(self, visitor: Visitor, path: str) -> None:
        assert visitor.call("GET", path, base="http://shop.example.com").status_code == 403

    def test_the_page_may_load_nothing_from_elsewhere(self, visitor: Visitor) -> None:
        response = visitor.call("GET", "/_local/pay/")
        assert "default-src 'self'" in response.headers["Content-Security-Policy"]
        assert response.content_type == "text/html; charset=utf-8"


class TestARequestThatIsAmiss:
    @pytest.mark.parametrize(
        "changes",
        [
            {"reference": ""},
            {"reference": "x" * 129},
            {"amount_rupiah": 0},
            {"amount_rupiah": True},
            {"amount_rupiah": "1"},
            {"expires_at": "soon"},
            {"expires_at": "2026-01-15T03:00:00"},
        ],
    )
    def test_of_the_shop_is_refused(self, visitor: Visitor, changes: dict[str, Any]) -> None:
        assert visitor.open(**changes).status_code == 422

    @pytest.mark.parametrize("changes", [{"action": "steal"}, {"delivery": "never"}, {"action": None}])
    def test_of_the_page_is_refused(self, visitor: Visitor, changes: dict[str, Any]) -> None:
        visitor.open()
        assert visitor.act("pay", **changes).status_code == 422
        assert visitor.transactions() == []

    def test_for_what_is_not_there_finds_nothing(self, visitor: Visitor) -> None:
        assert visitor.api("GET", "/payments/none/transactions").status_code == 404
        assert visitor.api("GET", "/none").status_code == 404
        assert visitor.call("GET", "/_local/pay/state?reference=none").status_code == 404
        assert visitor.call("GET", "/_local/pay/site.py").status_code == 404
