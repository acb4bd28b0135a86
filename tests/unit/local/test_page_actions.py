"""What the page's desks ask for, and what they refuse to ask."""

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from werkzeug import Request, Response
from werkzeug.serving import make_server

from emulator.functions.function import InvocationFailed
from emulator.gateway.problems import Refused
from emulator.switches import Switches
from local.chaos import Switch
from local.page.actions import ChaosDesk, OnCallDesk, WebhookDesk
from local.webhook_delivery import Signer
from skincare.payments.errors import SignatureInvalid
from skincare.payments.gateways import GATEWAYS
from skincare.payments.gateways.webhooks import READERS
from skincare.payments.models import Webhook
from tests.support.webhooks import OTHER_SECRETS, SECRETS

REDRIVE = {
    "operation": "redrive",
    "deaths": [{"job_id": "0198c0de-0000-7000-8000-000000000001", "dead_letter_no": 1}],
}


class FakeOnCall:
    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[Any] = []

    def invoke(self, payload: bytes, **_: Any) -> bytes:
        self.asked.append(json.loads(payload))
        if isinstance(self.answer, InvocationFailed):
            raise self.answer
        return json.dumps(self.answer).encode()


def refusal(code: str) -> Any:
    return {"ok": False, "error": {"code": code, "message": "Not now.", "fields": {"deaths": "is missing"}}}


class TestTheOnCallDesk:
    def test_asks_what_the_page_wants_in_its_own_name(self) -> None:
        oncall = FakeOnCall({"ok": True, "answer": {"changed": 1}})
        assert OnCallDesk(oncall)(REDRIVE | {"claimed_identity": "somebody"}) == oncall.answer
        assert oncall.asked == [REDRIVE | {"claimed_identity": "local page"}]

    def test_claims_nothing_where_nothing_is_changed(self) -> None:
        oncall = FakeOnCall({"ok": True, "answer": {}})
        OnCallDesk(oncall)({"operation": "find_dead"})
        assert oncall.asked == [{"operation": "find_dead"}]

    @pytest.mark.parametrize("operation", ["refund", "cancel", "", None, 1, ["redrive"]])
    def test_asks_for_nothing_else(self, operation: Any) -> None:
        oncall = FakeOnCall({"ok": True})
        with pytest.raises(Refused) as refused:
            OnCallDesk(oncall)({"operation": operation})
        assert (refused.value.status, oncall.asked) == (422, [])

    @pytest.mark.parametrize(
        ("answer", "status", "detail"),
        [
            (refusal("request_malformed"), 422, "deaths is missing."),
            (refusal("not_found"), 404, "Not now."),
            (refusal("database_unavailable"), 503, "Not now."),
            (
                InvocationFailed("Runtime.ExitError", "secret"),
                503,
                "The on-call function gave no answer (Runtime.ExitError).",
            ),
        ],
    )
    def test_tells_why_there_is_no_answer(self, answer: Any, status: int, detail: str) -> None:
        with pytest.raises(Refused) as refused:
            OnCallDesk(FakeOnCall(answer))(REDRIVE)
        assert (refused.value.status, refused.value.detail) == (status, detail)


class TestTheSwitches:
    def test_are_turned_one_by_one_and_all_off(self, tmp_path: Path) -> None:
        desk = ChaosDesk(Switches(tmp_path / "switches"))
        assert on(desk({"switch": "mail_down", "on": True})) == ["mail_down"]
        assert on(desk({"switch": "sqs_down", "on": True})) == ["mail_down", "sqs_down"]
        assert on(desk({"switch": "mail_down", "on": False})) == ["sqs_down"]
        assert on(desk({"switch": "all", "on": False})) == []

    @pytest.mark.parametrize(
        "wishes", [{"switch": "../x", "on": True}, {"switch": "all", "on": True}, {"switch": "mail_down", "on": 1}, {}]
    )
    def test_that_nobody_has_are_refused(self, tmp_path: Path, wishes: dict[str, Any]) -> None:
        switches = Switches(tmp_path / "switches")
        with pytest.raises(Refused):
            ChaosDesk(switches)(wishes)
        assert switches.on() == frozenset()
        assert not switches.folder.exists()

    def test_are_seen_by_whoever_looks_at_the_same_folder(self, tmp_path: Path) -> None:
        ours, theirs = Switches(tmp_path), Switches(tmp_path)
        assert theirs.on_since(Switch.MAIL_DOWN) is None
        ours.turn(Switch.MAIL_DOWN, on=True)
        since = theirs.on_since(Switch.MAIL_DOWN)
        ours.turn(Switch.MAIL_DOWN, on=True)
        assert theirs.on_since(Switch.MAIL_DOWN) == since is not None
        assert not theirs.is_on(Switch.SQS_DOWN)
        ours.all_off()
        assert theirs.on() == frozenset()


def on(answer: Any) -> list[str]:
    return [switch["name"] for switch in answer["switches"] if switch["on"]]


class Shop:
    """Answers as the API does: 200 for a webhook of the gateway that its path names, 401 for any other."""

    def __init__(self) -> None:
        self.events: list[Any] = []

    def __call__(self, environ: Any, start_response: Any) -> Any:
        request = Request(environ)
        name = request.path.removeprefix("/v1/payments/webhook").strip("/") or "standard_webhooks"
        headers = {key.lower(): value for key, value in request.headers.items()}
        try:
            webhook = Webhook(request.get_data(), headers, request.path)
            self.events.append(READERS[name].read(webhook, (SECRETS[name],), datetime.now(UTC)))
            response = Response("{}")
        except SignatureInvalid:
            response = Response("{}", 401)
        return response(environ, start_response)


@pytest.fixture
def shop() -> Iterator[tuple[Shop, WebhookDesk]]:
    shop = Shop()
    server = make_server("127.0.0.1", 0, shop, threaded=True)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    signers = {name: Signer(name, SECRETS[name], OTHER_SECRETS[name]) for name in GATEWAYS}
    yield shop, WebhookDesk(signers, shop_url=f"http://127.0.0.1:{server.port}", note=lambda _, what: what)
    server.shutdown()
    server.server_close()


WEBHOOK = {
    "gateway": "standard_webhooks",
    "order_number": "SKN-4T9QX-0M7KD",
    "status": "paid",
    "amount_rupiah": 1000,
    "delivery": "once",
}


class TestTheWebhookDesk:
    @pytest.mark.parametrize("gateway", list(GATEWAYS))
    @pytest.mark.parametrize(("delivery", "statuses"), [("once", [200]), ("twice", [200, 200]), ("forged", [401])])
    def test_sends_as_each_gateway_would(
        self, shop: tuple[Shop, WebhookDesk], gateway: str, delivery: str, statuses: list[int]
    ) -> None:
        seen, desk = shop
        answer = desk(WEBHOOK | {"gateway": gateway, "delivery": delivery})
        assert [reported["status"] for reported in answer["answers"]] == statuses
        assert len({event.key for event in seen.events}) == min(1, statuses.count(200))

    def test_sends_late_what_has_a_time(self, shop: tuple[Shop, WebhookDesk]) -> None:
        _, desk = shop
        assert [reported["status"] for reported in desk(WEBHOOK | {"delivery": "late"})["answers"]] == [401]
        with pytest.raises(Refused, match="xendit signs no time"):
            desk(WEBHOOK | {"delivery": "late", "gateway": "xendit"})

    @pytest.mark.parametrize(
        "wrong",
        [
            {"gateway": "stripe"},
            {"order_number": ""},
            {"order_number": "a\nb"},
            {"status": None},
            {"amount_rupiah": -1},
            {"amount_rupiah": True},
            {"amount_rupiah": 1.5},
            {"delivery": "never"},
        ],
    )
    def test_sends_nothing_that_it_does_not_understand(
        self, shop: tuple[Shop, WebhookDesk], wrong: dict[str, Any]
    ) -> None:
        seen, desk = shop
        with pytest.raises(Refused, match="cannot be used"):
            desk(WEBHOOK | wrong)
        assert seen.events == []
