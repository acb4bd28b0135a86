"""Whatever a gateway's fields hold, a signed webhook is kept or refused with the right answer, and nothing breaks."""

import base64
import copy
import itertools
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import Connection

from oncall.payment_requests import ShowPayments
from skincare.app import App
from skincare.payments.errors import WebhookMalformed
from skincare.payments.gateways import GATEWAYS
from skincare.payments.gateways.midtrans.webhook import sign
from skincare.payments.gateways.samples import Occurrence, signed
from skincare.payments.json_fields import parse
from skincare.payments.models import EventStatus, Webhook
from tests.support.http import call, http_event
from tests.support.jobs import run_due
from tests.support.oncall import ask
from tests.support.payments import new_order
from tests.support.webhooks import SECRETS, SENDERS

HOLE = "@@HOLE@@"
# One of each kind that looks like nothing, acts unseen, cannot be stored, is too long, or reads as something else.
TEXTS = [
    "",
    "\t",
    "canary\x00",
    "\x1b[31m",
    "\x85",
    "\xa0",
    "\u200b",
    "\u2028",
    "\u202e1",
    "\u2066x",
    "\u3164",
    "\ufeff",
    "\uffff",
    "\ud800",
    "\U000e0041",
    "\u0660\u0661",
    "a\u0301" * 40,
    "x" * 65,
    "x" * 501,
    "\U0001f600" * 64,
    "'; DROP TABLE orders; --",
    "%s%(x)s",
    "\\u0000",
    "1e3",
    " 1",
    "9" * 19,
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59-23:59",
    "2026-02-30",
]
NOT_TEXTS = [
    "-0",
    "0.1",
    "1E400",
    "150000.001",
    "9223372036854775808",
    "1" + "0" * 5000,
    "true",
    "null",
    "[]",
    "{}",
    '[{"refund_key":"x"}]',
    '{"a":1,"a":2}',
    "[" * 20 + "]" * 20,
    '{"a":' * 2000 + "1" + "}" * 2000,
    "NaN",
    "01",
    "",
    '"x","x":"y","x":"z"',
    '"' + "x" * 70_000 + '"',
    '"\\ud83d"',
]
HOSTILE = [json.dumps(text) for text in TEXTS] + NOT_TEXTS

STATUSES = (EventStatus.PAID, EventStatus.REFUNDED, EventStatus.PARTIALLY_REFUNDED, EventStatus.PENDING)
# What a gateway may say and our samples do not.
MORE: dict[str, dict[str, Any]] = {
    "standard_webhooks": {"refund_id": "refund-1"},
    "midtrans": {
        "settlement_time": "2026-01-15 10:00:00",
        "fraud_status": "accept",
        "merchant_id": "M-1",
        "refunds": [{"refund_key": "x", "refund_amount": "1.00", "created_at": "2026-01-15 10:00:00"}],
        "metadata": {
            "extra_info": {"gross_amount_info": {"original_amount": "1", "customer_imposed_payment_fee": "1"}}
        },
    },
    "xendit": {"paid_at": "2026-01-15T03:00:00Z", "paid_amount": 150_000},
    "doku": {},
}

numbers = itertools.count(1)
Path = tuple[str | int, ...]


def sample(gateway: str, status: EventStatus, order_number: str) -> dict[str, Any]:
    number = next(numbers)
    at = datetime.now(UTC)
    what = Occurrence(f"event-{number}", order_number, f"transaction-{number}", status, 150_000, at)
    request = signed(gateway, what, secret=SECRETS[gateway], sent_at=at)
    content: dict[str, Any] = json.loads(request.body)
    content.pop("signature_key", None)
    return content | copy.deepcopy(MORE.get(gateway, {}))


def leaves(content: Any, path: Path = ()) -> Iterator[Path]:
    """Return the way to each member, those that hold others as well."""
    if path:
        yield path
    inside = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for name, value in inside:
        yield from leaves(value, (*path, name))


def body_with(content: dict[str, Any], changes: dict[Path, str]) -> bytes:
    """Return the JSON text with raw JSON, or what is none, in these places."""
    content = copy.deepcopy(content)
    raws: list[str] = []
    for path, raw in changes.items():
        inside: Any = content
        try:
            for name in path[:-1]:
                inside = inside[name]
            inside[path[-1]] = f"{HOLE}{len(raws)}"
        except (TypeError, KeyError, IndexError):
            continue  # an earlier change has taken its parent away
        raws.append(raw)
    text = json.dumps(content)
    for number, raw in enumerate(raws):
        text = text.replace(f'"{HOLE}{number}"', raw)
    return text.encode()


def signed_by(gateway: str, body: bytes) -> Webhook:
    """Sign a body truly, as far as its gateway's signature can be found in it."""
    at = datetime.now(UTC)
    if gateway != "midtrans":
        name = {"standard_webhooks": "message_id", "doku": "request_id"}.get(gateway)
        options = {} if name is None else {name: f"message-{next(numbers)}"}
        webhook = SENDERS[gateway](body, secret=SECRETS[gateway], at=at, **options)
        if name is None:
            webhook = Webhook(body, {**webhook.headers, "webhook-id": f"message-{next(numbers)}"}, webhook.path)
        return webhook
    try:
        content = parse(body)
        parts = [content[name] for name in ("order_id", "status_code", "gross_amount")]
        signature = sign(SECRETS[gateway], *parts) if all(isinstance(part, str) for part in parts) else "x"
    except (WebhookMalformed, KeyError):
        signature = "x"
    end = body.rindex(b"}")
    return Webhook(
        body[:end] + f',"signature_key":"{signature}"'.encode() + body[end:], {}, "/v1/payments/webhook/midtrans"
    )


def send(app: App, webhook: Webhook) -> int:
    event = http_event("POST", webhook.path, headers=webhook.headers)
    event |= {"body": base64.b64encode(webhook.body).decode(), "isBase64Encoded": True}
    return call(app, event).status


def assert_kept_or_refused(app: App, conn: Connection, gateway: str, webhook: Webhook) -> None:
    status = send(app, webhook)
    kept = conn.execute("SELECT state FROM payment_events WHERE body = %s", [webhook.body]).fetchall()
    if len(webhook.body) > 65_536:
        assert (status, kept) == (413, [])
    elif status == 200:
        assert kept, webhook.body[:300]
    else:
        # Only Midtrans signs inside of the body: where that cannot be read, there is no signature.
        assert (gateway, kept) == ("midtrans", []), webhook.body[:300]
        assert status in {400, 401}


def assert_jobs_hold(app: App, conn: Connection) -> None:
    """Whatever was kept is applied or waits: no error of ours, and people can look at it."""
    run_due(app, conn, of_type="process_payment")
    errors = conn.execute("SELECT DISTINCT error_class FROM jobs WHERE error_class IS NOT NULL").fetchall()
    assert {name for (name,) in errors} <= {"EventUnconfirmed"}
    assert ask(app, ShowPayments())


@pytest.mark.parametrize("gateway", list(GATEWAYS))
class TestAField:
    def test_of_any_kind_of_value_loses_no_body_and_breaks_nothing(
        self, app: App, conn: Connection, gateway: str
    ) -> None:
        number = new_order(conn)
        known = list(leaves(sample(gateway, EventStatus.PAID, number)))
        assert len(known) >= 5
        for path, raw in itertools.product(known, HOSTILE):
            body = body_with(sample(gateway, EventStatus.PAID, number), {path: raw})
            assert_kept_or_refused(app, conn, gateway, signed_by(gateway, body))
        assert_jobs_hold(app, conn)

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25)
    @given(data=st.data())
    def test_beside_others_of_any_kind_loses_no_body_and_breaks_nothing(
        self, app: App, conn: Connection, gateway: str, data: st.DataObject
    ) -> None:
        content = sample(gateway, data.draw(st.sampled_from(STATUSES)), "SKN-00000-00000")
        raws = st.sampled_from(HOSTILE) | st.text().map(json.dumps) | st.integers().map(str) | st.floats().map(str)
        changes = data.draw(st.dictionaries(st.sampled_from(list(leaves(content))), raws, min_size=2, max_size=5))
        assert_kept_or_refused(app, conn, gateway, signed_by(gateway, body_with(content, changes)))
        assert_jobs_hold(app, conn)

    @pytest.mark.parametrize(
        "wrapped", [b"\xef\xbb\xbf%s", b"%s\x00", b"\xff%s", b"[%s]", b"%s%s", b" \n%s\t ", b"%s//"]
    )
    def test_in_a_body_that_is_not_quite_json_is_kept_or_refused(
        self, app: App, conn: Connection, gateway: str, wrapped: bytes
    ) -> None:
        body = json.dumps(sample(gateway, EventStatus.PAID, new_order(conn))).encode()
        assert_kept_or_refused(app, conn, gateway, signed_by(gateway, wrapped.replace(b"%s", body)))


@pytest.mark.parametrize("gateway", [name for name in GATEWAYS if name != "midtrans"])
class TestAHeader:
    def test_of_any_text_is_refused_or_taken_and_breaks_nothing(self, app: App, conn: Connection, gateway: str) -> None:
        body = json.dumps(sample(gateway, EventStatus.PAID, new_order(conn))).encode()
        webhook = signed_by(gateway, body)
        for name, text in itertools.product(webhook.headers, [*TEXTS, "a,b", "v1," * 3000, "\u00e9", "a b"]):
            changed = Webhook(body, {**webhook.headers, name: text}, webhook.path)
            assert send(app, changed) in {200, 401}
        assert send(app, webhook) == 200
