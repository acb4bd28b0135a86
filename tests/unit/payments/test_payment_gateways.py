"""How each gateway signs, and what its words mean to us."""

import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skincare.payments.errors import SignatureInvalid, WebhookMalformed
from skincare.payments.gateways.doku import webhook as doku
from skincare.payments.gateways.midtrans import webhook as midtrans
from skincare.payments.gateways.standard_webhooks import webhook as standard_webhooks
from skincare.payments.gateways.webhooks import READERS
from skincare.payments.models import EventState, EventStatus, GatewayEvent, Report, Webhook
from tests.support.webhooks import (
    BODIES,
    NOW,
    ORDER,
    OTHER_SECRETS,
    SECRETS,
    SENDERS,
    body_of,
    standard,
    webhook_of,
    with_header,
    without_header,
)

every_gateway = pytest.mark.parametrize("gateway", list(READERS))
TIMED = ["standard_webhooks", "doku"]


def read(gateway: str, webhook: Webhook, *secrets: str, now: datetime = NOW) -> GatewayEvent:
    return READERS[gateway].read(webhook, secrets or (SECRETS[gateway],), now)


class TestThePublishedVector:
    def test_of_standard_webhooks_passes(self) -> None:
        body = b'{"test": 2432232314}'
        headers = {
            "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
            "webhook-timestamp": "1614265330",
            "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
        }
        event = read("standard_webhooks", Webhook(body, headers, "/"), now=datetime.fromtimestamp(1614265330, UTC))
        assert event.state is EventState.QUARANTINED

    def test_of_midtrans_passes(self) -> None:
        assert midtrans.sign("askvnoibnosifnboseofinbofinfgbiufglnbfg", "1111", "200", "100000.00") == (
            "edc076b21793ebe3e17926350f5b8ae67d902fe657b3d0aa31b932d5c127e237"
            "5d308a2bc94f3265ac2d80a1f181a79b997ac178a236fcff35af263fc4d4c231"
        )

    def test_of_doku_passes(self) -> None:
        body = b'{"order":{"invoice_number":"SKN-0001","amount":150000},"transaction":{"status":"SUCCESS"}}'
        headers = {
            "client-id": "MCH-EXAMPLE-1",
            "request-id": "req-0001",
            "request-timestamp": "2026-01-15T03:00:00Z",
            "signature": "HMACSHA256=QTrT49vJip7LIqejIsSZGJjPN3S4SKYT3IOVmhMiLgY=",
        }
        assert read("doku", Webhook(body, headers, "/v1/payments/webhook/doku")).key == "req-0001"


@every_gateway
class TestATrueEvent:
    def test_says_the_same_whoever_sends_it(self, gateway: str) -> None:
        event = read(gateway, webhook_of(gateway))
        assert event.state is EventState.RECEIVED
        assert event.report == Report(
            order_number=ORDER,
            transaction_id="transaction-1",
            reported_status=event.report.reported_status if event.report else "",
            status=EventStatus.PAID,
            amount_rupiah=150_000,
            currency="IDR",
            occurred_at=NOW - timedelta(seconds=2),
        )

    @pytest.mark.parametrize(
        ("reference", "attempt_no"),
        [
            (ORDER, None),
            (f"{ORDER}.1", 1),
            (f"{ORDER}.12", 12),
            (f"{ORDER}.0", None),
            (f"{ORDER}.1.", None),
            (".2", None),
        ],
    )
    def test_names_the_attempt_beside_the_order(self, gateway: str, reference: str, attempt_no: int | None) -> None:
        named: dict[str, dict[str, Any]] = {
            "standard_webhooks": {"order_number": reference},
            "midtrans": {"order_id": reference},
            "xendit": {"external_id": reference},
            "doku": {"order": {"invoice_number": reference, "amount": 150_000}},
        }
        report = read(gateway, webhook_of(gateway, **named[gateway])).report
        assert report is not None
        assert (report.order_number, report.attempt_no) == (reference if attempt_no is None else ORDER, attempt_no)

    def test_has_the_same_key_when_it_comes_again(self, gateway: str) -> None:
        first, second = (read(gateway, webhook_of(gateway)) for _ in range(2))
        assert first.key == second.key
        assert 1 <= len(first.key) <= 500

    def test_passes_during_a_roll_of_secrets(self, gateway: str) -> None:
        for secrets in ([OTHER_SECRETS[gateway], SECRETS[gateway]], [SECRETS[gateway], OTHER_SECRETS[gateway]]):
            assert read(gateway, webhook_of(gateway), *secrets).state is EventState.RECEIVED

    def test_may_have_members_that_we_do_not_know(self, gateway: str) -> None:
        event = read(gateway, webhook_of(gateway, new_field={"a": [1.5, None, "\x00"]}))
        assert event.state is EventState.RECEIVED

    def test_keeps_no_secret_among_its_headers(self, gateway: str) -> None:
        event = read(gateway, webhook_of(gateway))
        assert SECRETS[gateway] not in json.dumps(dict(event.headers))
        assert "signature" not in json.dumps(dict(event.headers))


@every_gateway
class TestAForgery:
    def test_with_another_key_is_refused(self, gateway: str) -> None:
        with pytest.raises(SignatureInvalid):
            read(gateway, webhook_of(gateway, secret=OTHER_SECRETS[gateway]))

    def test_is_refused_while_we_know_no_secret(self, gateway: str) -> None:
        with pytest.raises(SignatureInvalid):
            READERS[gateway].read(webhook_of(gateway), [], NOW)

    @pytest.mark.parametrize("secret", ["", "whsec_", "whsec_AAAA", "not base64 é", "whsec_" + "A" * 400])
    def test_is_refused_by_a_secret_that_is_none(self, gateway: str, secret: str) -> None:
        webhook = webhook_of(gateway)
        for name in webhook.headers:
            with pytest.raises(SignatureInvalid):
                READERS[gateway].read(with_header(webhook, name, ""), [secret], NOW)
        with pytest.raises(SignatureInvalid):
            READERS[gateway].read(webhook, [secret], NOW)

    def test_with_any_header_changed_is_refused(self, gateway: str) -> None:
        webhook = webhook_of(gateway)
        for name, value in webhook.headers.items():
            if (gateway, name) == ("xendit", "webhook-id"):
                continue  # The token proves the sender and covers nothing else.
            for changed in single_changes(value):
                with pytest.raises(SignatureInvalid):
                    read(gateway, with_header(webhook, name, changed))

    def test_with_a_header_missing_or_repeated_is_refused(self, gateway: str) -> None:
        webhook = webhook_of(gateway)
        for name, value in webhook.headers.items():
            with pytest.raises(SignatureInvalid):
                read(gateway, without_header(webhook, name))
            for repeated in (f"{value},{value}", f"{value},evil", f"evil,{value}", f"{value}, {value}"):
                with pytest.raises(SignatureInvalid):
                    read(gateway, with_header(webhook, name, repeated))

    def test_with_a_key_that_differs_in_one_character_is_refused(self, gateway: str) -> None:
        webhook = webhook_of(gateway)
        start = len("whsec_") if gateway == "standard_webhooks" else 0
        for changed in single_changes(SECRETS[gateway][start:]):
            with pytest.raises(SignatureInvalid):
                read(gateway, webhook, SECRETS[gateway][:start] + changed)

    @given(data=st.data())
    def test_of_anything_raises_nothing_else(self, gateway: str, data: st.DataObject) -> None:
        names = [*webhook_of(gateway).headers, "x-callback-token", "webhook-id"]
        headers = data.draw(st.dictionaries(st.sampled_from(names), st.text()))
        body = data.draw(st.binary() | st.text().map(lambda text: json.dumps(text).encode()))
        with pytest.raises((SignatureInvalid, WebhookMalformed)):
            read(gateway, Webhook(body, headers, "/"))


def single_changes(text: str) -> list[str]:
    """Every text that differs in one character, by a flipped lowest bit, another case, a blank or a comma."""
    changed = []
    for index, character in enumerate(text):
        for other in {chr(ord(character) ^ 1), character.swapcase(), " ", ",", "é", "\ud800"} - {character}:
            changed.append(text[:index] + other + text[index + 1 :])
    return changed


class TestABody:
    @pytest.mark.parametrize("gateway", TIMED)
    @pytest.mark.parametrize("bit", [0, 5, 7])
    def test_that_differs_in_one_bit_is_refused(self, gateway: str, bit: int) -> None:
        webhook = webhook_of(gateway)
        for index in range(len(webhook.body)):
            changed = bytearray(webhook.body)
            changed[index] ^= 1 << bit
            with pytest.raises(SignatureInvalid):
                read(gateway, replace(webhook, body=bytes(changed)))

    @pytest.mark.parametrize("name", ["order_id", "status_code", "gross_amount", "signature_key"])
    def test_of_midtrans_is_refused_once_a_signed_member_differs(self, name: str) -> None:
        webhook = webhook_of("midtrans")
        content = json.loads(webhook.body)
        for changed in single_changes(content[name]):
            with pytest.raises(SignatureInvalid):
                read("midtrans", replace(webhook, body=json.dumps(content | {name: changed}).encode()))

    @pytest.mark.parametrize("gateway", ["standard_webhooks", "xendit", "doku"])
    def test_is_verified_in_the_bytes_that_came(self, gateway: str) -> None:
        for body in (
            body_of(gateway).replace(b": ", b" \t:\r\n  "),
            body_of(gateway, note="é").replace(rb"\u00e9", "é".encode()),
            body_of(gateway, link="a/b").replace(b"a/b", rb"a\/b"),
        ):
            assert read(gateway, SENDERS[gateway](body, secret=SECRETS[gateway])).state is EventState.RECEIVED

    @every_gateway
    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"canary",
            b"[]",
            b"null",
            b'"canary"',
            b"{",
            b'{"a":NaN}',
            b'{"a":1,"a":2}',
            b'{"a":"\xff"}',
            b"\xef\xbb\xbf{}",
            b"order%5Binvoice_number%5D=SKN-1&transaction%5Bstatus%5D=SUCCESS",
            b"[" * 60_000,
            b'{"a":' * 33 + b"1" + b"}" * 33,
        ],
    )
    def test_that_is_no_json_object_is_kept_for_a_person_where_it_is_signed(self, gateway: str, body: bytes) -> None:
        if gateway == "midtrans":
            # Its signature stands inside: nobody can say who sent it.
            with pytest.raises(WebhookMalformed) as refused:
                read(gateway, Webhook(body, {}, "/"))
            assert "canary" not in str(refused.value)
            return
        event = read(gateway, SENDERS[gateway](body, secret=SECRETS[gateway]))
        assert (event.state, event.report) == (EventState.QUARANTINED, None)
        assert event.flaw is not None
        assert "canary" not in event.flaw
        assert len(event.flaw) <= 200
        # The true event may come under the same identifier.
        assert event.key == f"sha256:{hashlib.sha256(body).hexdigest()}"
        with pytest.raises(SignatureInvalid):
            read(gateway, SENDERS[gateway](body, secret=OTHER_SECRETS[gateway]))

    @every_gateway
    @pytest.mark.parametrize("text", ["canary\x00", "canary\ud800", "canary\n", "", "x" * 300, 5, None, [], {}, True])
    def test_with_hostile_text_waits_for_a_person(self, gateway: str, text: object) -> None:
        name = {"xendit": "id", "doku": "transaction"}.get(gateway, "transaction_id")
        change: dict[str, Any] = {name: text}
        event = read(gateway, webhook_of(gateway, **change))
        assert (event.state, event.report) == (EventState.QUARANTINED, None)
        assert event.flaw is not None
        assert "canary" not in event.flaw + event.key
        assert event.key == read(gateway, webhook_of(gateway, **change)).key

    @pytest.mark.parametrize("amount", ["150000.50", "1,000.00", "1e5", 0.1, "", None, "٣", 10**18, "150000.000"])
    def test_with_an_amount_that_is_no_whole_rupiah_waits_for_a_person(self, amount: object) -> None:
        event = read("standard_webhooks", webhook_of("standard_webhooks", amount_rupiah=amount))
        assert event.flaw == "amount_rupiah is not an amount of whole rupiah"

    @pytest.mark.parametrize("amount", [149_999, 0, -150_000])
    def test_tells_any_amount_as_it_is(self, amount: int) -> None:
        report = read("standard_webhooks", webhook_of("standard_webhooks", amount_rupiah=amount)).report
        assert report is not None
        assert report.amount_rupiah == amount


class TestATime:
    @pytest.mark.parametrize("gateway", TIMED)
    @pytest.mark.parametrize("seconds", [-300, -299, 0, 30, 60])
    def test_within_the_window_passes(self, gateway: str, seconds: int) -> None:
        read(gateway, webhook_of(gateway, at=NOW + timedelta(seconds=seconds)))

    @pytest.mark.parametrize("gateway", TIMED)
    @pytest.mark.parametrize("seconds", [-86_400, -301, 61, 600])
    def test_outside_of_it_is_refused(self, gateway: str, seconds: int) -> None:
        with pytest.raises(SignatureInvalid, match="too far from ours"):
            read(gateway, webhook_of(gateway, at=NOW + timedelta(seconds=seconds)))

    @pytest.mark.parametrize("text", ["abc", "1e309", "-1", "", " 1", "1.5", "٣", "9" * 11, "9" * 200, "0x1", "+1"])
    def test_that_is_none_is_refused(self, text: str) -> None:
        for gateway, name in (("standard_webhooks", "webhook-timestamp"), ("doku", "request-timestamp")):
            with pytest.raises(SignatureInvalid):
                read(gateway, with_header(webhook_of(gateway), name, text))


class TestStandardWebhooks:
    def test_passes_if_any_entry_of_the_signature_is_right(self) -> None:
        webhook = webhook_of("standard_webhooks")
        good = webhook.headers["webhook-signature"]
        for header in (f"v1,AAAA {good}", f"{good} v1,AAAA", f"nonsense v1 , v1,é!! v2,x  {good}"):
            read("standard_webhooks", with_header(webhook, "webhook-signature", header))

    @pytest.mark.parametrize("header", ["", " ", "v1", "v1,", ",", "v1,é", "v1,====", "v1,AAAA", "\ud800"])
    def test_takes_malformed_entries_for_forgeries(self, header: str) -> None:
        with pytest.raises(SignatureInvalid):
            read("standard_webhooks", with_header(webhook_of("standard_webhooks"), "webhook-signature", header))

    def test_refuses_a_signature_of_another_scheme(self) -> None:
        webhook = webhook_of("standard_webhooks")
        other = webhook.headers["webhook-signature"].replace("v1,", "v2,")
        with pytest.raises(SignatureInvalid):
            read("standard_webhooks", with_header(webhook, "webhook-signature", other))

    def test_refuses_an_identifier_with_a_dot(self) -> None:
        with pytest.raises(SignatureInvalid):
            read("standard_webhooks", standard(b"{}", secret=SECRETS["standard_webhooks"], message_id="a.b"))

    def test_knows_an_event_again_in_another_message(self) -> None:
        body = body_of("standard_webhooks")
        keys = {
            read("standard_webhooks", standard(body, secret=SECRETS["standard_webhooks"], message_id=message)).key
            for message in ("message-1", "message-2")
        }
        assert keys == {"event-1"}

    def test_signs_with_no_malformed_secret(self) -> None:
        with pytest.raises(ValueError, match="24 to 64 bytes"):
            standard_webhooks.sign("whsec_AAAA", "a", "1", b"")

    @pytest.mark.parametrize(
        ("status", "known"), [*((each.value, each) for each in EventStatus), ("authorize", None), ("zzz", None)]
    )
    def test_knows_its_statuses_and_ignores_others(self, status: str, known: EventStatus | None) -> None:
        event = read("standard_webhooks", webhook_of("standard_webhooks", status=status))
        assert event.report is not None
        assert (event.report.status, event.report.reported_status) == (known, status)
        assert event.state is (EventState.RECEIVED if known else EventState.IGNORED)

    @pytest.mark.parametrize(
        ("changes", "key"), [({}, "event-1"), ({"refund_id": "refund-1"}, "refund-1"), ({"refund_id": None}, "event-1")]
    )
    def test_tells_refunds_apart(self, changes: dict[str, Any], key: str) -> None:
        event = read("standard_webhooks", webhook_of("standard_webhooks", status="partially_refunded", **changes))
        assert event.report is not None
        assert event.report.refund_key == key


class TestMidtrans:
    @pytest.mark.parametrize(
        ("changes", "status"),
        [
            ({"transaction_status": "settlement"}, EventStatus.PAID),
            ({"transaction_status": "capture"}, EventStatus.PAID),
            ({"transaction_status": "capture", "fraud_status": "challenge"}, EventStatus.PENDING),
            ({"transaction_status": "capture", "status_code": "201"}, EventStatus.PENDING),
            ({"transaction_status": "settlement", "fraud_status": "deny"}, EventStatus.PENDING),
            ({"transaction_status": "pending", "status_code": "201"}, EventStatus.PENDING),
            ({"transaction_status": "deny"}, EventStatus.FAILED),
            ({"transaction_status": "cancel"}, EventStatus.VOIDED),
            ({"transaction_status": "failure"}, EventStatus.FAILED),
            ({"transaction_status": "expire"}, EventStatus.EXPIRED),
            ({"transaction_status": "chargeback"}, EventStatus.CHARGEBACK),
            ({"transaction_status": "authorize"}, None),
            ({"transaction_status": "zzz"}, None),
        ],
    )
    def test_means_by_its_words(self, changes: dict[str, Any], status: EventStatus | None) -> None:
        report = read("midtrans", webhook_of("midtrans", **changes)).report
        assert report is not None
        assert report.status is status

    @pytest.mark.parametrize("amount", ["0150000.00", 150_000, "150000"])
    def test_signs_the_amount_as_it_is_written(self, amount: object) -> None:
        report = read("midtrans", webhook_of("midtrans", gross_amount=amount)).report
        assert report is not None
        assert report.amount_rupiah == 150_000
        other = json.loads(webhook_of("midtrans", gross_amount=amount).body) | {"gross_amount": "150000.00"}
        with pytest.raises(SignatureInvalid):
            read("midtrans", Webhook(json.dumps(other).encode(), {}, "/"))

    def test_tells_what_the_newest_refund_gives_back(self) -> None:
        refunds = [
            {"refund_key": "one", "refund_amount": "30000.00"},
            {"refund_key": "two", "refund_amount": "50000.00"},
        ]
        webhook = webhook_of("midtrans", transaction_status="partial_refund", refund_amount="80000.00", refunds=refunds)
        report = read("midtrans", webhook).report
        assert report is not None
        assert (report.refund_key, report.amount_rupiah) == ("two", 50_000)

    @pytest.mark.parametrize("refunds", [None, [], ["x"], {}, "x"])
    def test_that_names_no_refund_waits_for_a_person(self, refunds: object) -> None:
        event = read("midtrans", webhook_of("midtrans", transaction_status="refund", refunds=refunds))
        assert event.state is EventState.QUARANTINED

    def test_keeps_an_event_apart_from_a_forged_one(self) -> None:
        true = webhook_of("midtrans")
        forged = replace(true, body=true.body.replace(b"02:59", b"02:58") + b" ")
        assert read("midtrans", true).key != read("midtrans", forged).key

    def test_tells_the_states_of_one_transaction_apart(self) -> None:
        keys = {
            read("midtrans", webhook_of("midtrans", transaction_status=status)).key
            for status in ("pending", "settlement", "expire")
        }
        assert len(keys) == 3

    FEE: ClassVar[dict[str, Any]] = {
        "original_amount": "10000",
        "gross_amount": 10071,
        "customer_imposed_payment_fee": "71",
    }

    @pytest.mark.parametrize("place", ["notification", "status"])
    def test_takes_the_price_where_a_fee_was_put_on_top(self, place: str) -> None:
        reported: dict[str, Any] = {"extra_info": {"gross_amount_info": self.FEE}}
        report = read(
            "midtrans",
            webhook_of(
                "midtrans", gross_amount="10071.00", **(reported if place == "notification" else {"metadata": reported})
            ),
        ).report
        assert report is not None
        assert (report.status, report.amount_rupiah) == (EventStatus.PAID, 10_000)

    @pytest.mark.parametrize(
        "changes",
        [
            {"original_amount": "9999"},
            {"customer_imposed_payment_fee": "70"},
            {"original_amount": "10072", "customer_imposed_payment_fee": "-1"},
            {"original_amount": "0", "customer_imposed_payment_fee": "10071"},
            {"original_amount": "-5", "customer_imposed_payment_fee": "10076"},
            {"original_amount": None},
            {"original_amount": [10000]},
            {"customer_imposed_payment_fee": "1e1"},
        ],
    )
    def test_takes_the_gross_amount_where_the_breakdown_does_not_add_up(self, changes: dict[str, Any]) -> None:
        info: dict[str, Any] = {"extra_info": {"gross_amount_info": self.FEE | changes}}
        report = read("midtrans", webhook_of("midtrans", gross_amount="10071.00", **info)).report
        assert report is not None
        assert report.amount_rupiah == 10_071

    @pytest.mark.parametrize("info", [None, "x", [], {"gross_amount_info": "x"}, {"gross_amount_info": None}])
    def test_takes_the_gross_amount_where_there_is_no_breakdown(self, info: object) -> None:
        report = read("midtrans", webhook_of("midtrans", extra_info=info, metadata=info)).report
        assert report is not None
        assert report.amount_rupiah == 150_000

    @given(price=st.integers(1, 10**7), fee=st.integers(0, 10**5), data=st.data())
    def test_never_tells_of_more_given_back_than_the_price_where_no_more_went_back_than_came(
        self, price: int, fee: int, data: st.DataObject
    ) -> None:
        left = price + fee
        parts: list[int] = []
        while left and len(parts) < 6:
            parts.append(data.draw(st.integers(1, left)))
            left -= parts[-1]
        content = {
            "gross_amount": f"{price + fee}.00",
            "extra_info": {
                "gross_amount_info": {"original_amount": str(price), "customer_imposed_payment_fee": str(fee)}
            },
            "refunds": [{"refund_key": str(key), "refund_amount": str(part)} for key, part in enumerate(parts)],
        }
        amounts = [each.amount_rupiah for each in midtrans.refunds(content)]
        assert all(0 <= amount <= part for amount, part in zip(amounts, parts, strict=True))
        assert sum(amounts) == min(price, sum(parts))

    def test_shows_that_more_went_back_than_ever_came(self) -> None:
        content = {
            "gross_amount": "10071.00",
            "extra_info": {"gross_amount_info": self.FEE},
            "refunds": [{"refund_key": "a", "refund_amount": "10071"}, {"refund_key": "b", "refund_amount": "71"}],
        }
        assert [each.amount_rupiah for each in midtrans.refunds(content)] == [10_000, 71]

    def test_ignores_a_refund_of_the_fee_alone(self) -> None:
        refunds = [{"refund_key": "a", "refund_amount": "10000"}, {"refund_key": "b", "refund_amount": "71"}]
        webhook = webhook_of(
            "midtrans",
            transaction_status="refund",
            gross_amount="10071.00",
            extra_info={"gross_amount_info": self.FEE},
            refunds=refunds,
        )
        assert read("midtrans", webhook).state is EventState.IGNORED

    @pytest.mark.parametrize(
        "order_id",
        ["payment_notif_test_M00000000_0b8f9a53-6e2e-4c6c-9f0e-1b1f4d1a7c11", "payment_notif_test_G1_x"],
    )
    def test_ignores_what_the_button_of_its_dashboard_sends(self, order_id: str) -> None:
        assert read("midtrans", webhook_of("midtrans", order_id=order_id)).state is EventState.IGNORED
        with pytest.raises(SignatureInvalid):
            read("midtrans", webhook_of("midtrans", order_id=order_id, secret=OTHER_SECRETS["midtrans"]))


class TestXendit:
    def test_ignores_what_the_button_of_its_dashboard_sends(self) -> None:
        webhook = webhook_of("xendit", id="579c8d61f23fa4ca35e52da4", external_id="invoice_123124123")
        assert read("xendit", webhook).state is EventState.IGNORED
        assert read("xendit", webhook_of("xendit", external_id="invoice_1231241234")).state is EventState.RECEIVED

    def test_ignores_what_is_not_about_an_invoice(self) -> None:
        webhook = SENDERS["xendit"](b'{"event":"payout.succeeded","data":{}}', secret=SECRETS["xendit"])
        assert read("xendit", webhook).state is EventState.IGNORED

    def test_takes_what_was_paid_and_not_what_was_asked(self) -> None:
        report = read("xendit", webhook_of("xendit", paid_amount=149_000)).report
        assert report is not None
        assert report.amount_rupiah == 149_000


class TestDoku:
    def test_signs_the_path_that_it_called(self) -> None:
        with pytest.raises(SignatureInvalid):
            read("doku", replace(webhook_of("doku"), path="/prod/v1/payments/webhook/doku"))

    def test_has_a_path_in_its_signature(self) -> None:
        at = "2026-01-15T03:00:00Z"
        one, other = (
            doku.sign("key", b"", client_id="client", request_id="request", timestamp=at, path=path)
            for path in ("/a", "/b")
        )
        assert one != other


class TestTheList:
    def test_names_every_gateway_as_its_path_does(self) -> None:
        assert list(READERS) == list(BODIES) == ["standard_webhooks", "midtrans", "xendit", "doku"]
