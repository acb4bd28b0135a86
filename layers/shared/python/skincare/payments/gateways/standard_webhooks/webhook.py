"""Standard Webhooks: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md."""

import base64
import hashlib
import hmac
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from skincare.payments import json_fields
from skincare.payments.errors import SignatureInvalid
from skincare.payments.gateways.standard_webhooks.settings import SETTINGS
from skincare.payments.models import REFUNDS, EventStatus, GatewayEvent, Report, Webhook, attempt_named
from skincare.payments.ports import Gateway
from skincare.payments.signatures import base64_bytes, check_time, matches_any, plain_header, seconds_since_1970

_ID, _TIME, _SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"
_SECRET_PREFIX = "whsec_"  # noqa: S105  what secrets begin with


def sign(secret: str, message_id: str, timestamp: str, body: bytes) -> str:
    """Return the entry of the header `webhook-signature`; raises `ValueError` for a malformed secret."""
    key = base64_bytes(secret.removeprefix(_SECRET_PREFIX))
    # The specification asks for 24 to 64 bytes: an empty key would let everybody sign.
    if key is None or not 24 <= len(key) <= 64:
        raise ValueError("a secret is whsec_ and the base64 of 24 to 64 bytes")
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


class StandardWebhooks:
    """The scheme of gateways that speak our own body: `{event_id, order_number, status, …}`."""

    name = SETTINGS.name
    status_is_signed = True

    def read(self, webhook: Webhook, secrets: Sequence[str], now: datetime) -> GatewayEvent:
        message_id, timestamp = plain_header(webhook, _ID), plain_header(webhook, _TIME)
        if "." in message_id:
            # With dots the same signed text could be cut in two ways.
            raise SignatureInvalid(f"the header {_ID} is malformed")
        check_time(seconds_since_1970(timestamp), now)
        expected = list(_signatures(secrets, message_id, timestamp, webhook.body))
        given = webhook.headers.get(_SIGNATURE, "").encode("utf-8", "surrogatepass").split(b" ")
        if any(entry.count(b",") > 1 for entry in given):
            raise SignatureInvalid(f"the header {_SIGNATURE} is repeated")
        if not any(matches_any(entry, expected) for entry in given):
            raise SignatureInvalid(f"no entry of {_SIGNATURE} is of ours")
        return _event(webhook.body, {_ID: message_id, _TIME: timestamp})


READER: Gateway = StandardWebhooks()


def _signatures(secrets: Sequence[str], message_id: str, timestamp: str, body: bytes) -> Iterator[bytes]:
    for secret in secrets:
        try:
            yield sign(secret, message_id, timestamp, body).encode()
        except ValueError:
            continue


def _event(body: bytes, headers: Mapping[str, str]) -> GatewayEvent:
    try:
        content = json_fields.signed(body)
        # The event and not the message is what may happen only once: a sender may wrap it anew.
        return GatewayEvent(json_fields.text(content, "event_id", longest=255), headers, report_of(content))
    except json_fields.InvalidField as flaw:
        return GatewayEvent(f"sha256:{json_fields.digest(body)}", headers, None, str(flaw))


def report_of(content: Mapping[str, Any]) -> Report:
    """Return what an event says, in a webhook or an answer; raises `InvalidField`."""
    reported = json_fields.text(content, "status", longest=64)
    refund = "refund_id" if content.get("refund_id") is not None else "event_id"
    order_number, attempt_no = attempt_named(json_fields.text(content, "order_number", longest=64))
    return Report(
        order_number=order_number,
        transaction_id=json_fields.text(content, "transaction_id", longest=128),
        reported_status=reported,
        status=EventStatus(reported) if reported in EventStatus else None,
        amount_rupiah=json_fields.rupiah(content, "amount_rupiah"),
        currency=json_fields.text(content, "currency", longest=8),
        occurred_at=json_fields.moment(content, "occurred_at"),
        refund_key=json_fields.text(content, refund, longest=128) if reported in REFUNDS else None,
        attempt_no=attempt_no,
    )
