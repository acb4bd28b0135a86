"""DOKU, its non-SNAP notifications: https://developers.doku.com/get-started-with-doku-api/signature-component/non-snap."""

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from skincare.payments import json_fields
from skincare.payments.errors import SignatureInvalid
from skincare.payments.gateways.doku.settings import SETTINGS
from skincare.payments.models import EventStatus, GatewayEvent, Report, Webhook, attempt_named
from skincare.payments.ports import Gateway
from skincare.payments.signatures import check_time, matches_any, plain_header

_CLIENT, _REQUEST, _TIME, _SIGNATURE = "client-id", "request-id", "request-timestamp", "signature"

# https://developers.doku.com/getting-started-with-doku-api/check-status-api/non-snap
_STATUSES = {
    "PENDING": EventStatus.PENDING,
    # Both wait for the final word.
    "REDIRECT": EventStatus.PENDING,
    "TIMEOUT": EventStatus.PENDING,
    "SUCCESS": EventStatus.PAID,
    "FAILED": EventStatus.FAILED,
    "EXPIRED": EventStatus.EXPIRED,
    "REFUNDED": EventStatus.REFUNDED,
}


def sign(secret: str, body: bytes, *, client_id: str, request_id: str, timestamp: str, path: str) -> str:
    """Return the header `Signature`; `path` is the one that DOKU called."""
    digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
    signed = (
        f"Client-Id:{client_id}\nRequest-Id:{request_id}\nRequest-Timestamp:{timestamp}\n"
        f"Request-Target:{path}\nDigest:{digest}"
    )
    key = secret.encode("utf-8", "surrogatepass")
    return "HMACSHA256=" + base64.b64encode(hmac.digest(key, signed.encode(), hashlib.sha256)).decode()


class Doku:
    """Notifications that are signed with the secret key of our account."""

    name = SETTINGS.name
    status_is_signed = True

    def read(self, webhook: Webhook, secrets: Sequence[str], now: datetime) -> GatewayEvent:
        client_id, request_id, timestamp = (plain_header(webhook, name) for name in (_CLIENT, _REQUEST, _TIME))
        given = plain_header(webhook, _SIGNATURE)
        check_time(_moment(timestamp), now)
        expected = [
            sign(
                secret, webhook.body, client_id=client_id, request_id=request_id, timestamp=timestamp, path=webhook.path
            ).encode()
            for secret in secrets
            if secret
        ]
        if not matches_any(given.encode(), expected):
            raise SignatureInvalid(f"the header {_SIGNATURE} is not of ours")
        headers = {_CLIENT: client_id, _REQUEST: request_id, _TIME: timestamp}
        try:
            content = json_fields.signed(webhook.body)
        except json_fields.InvalidField as flaw:
            key = f"sha256:{json_fields.digest(webhook.body)}"
            return GatewayEvent(key, headers, None, str(flaw), merchant_id=client_id)
        try:
            return GatewayEvent(request_id, headers, _report(content), merchant_id=client_id)
        except json_fields.InvalidField as flaw:
            return GatewayEvent(request_id, headers, None, str(flaw), merchant_id=client_id)


READER: Gateway = Doku()


def _moment(timestamp: str) -> datetime:
    try:
        sent_at = json_fields.moment({"time": timestamp}, "time")
    except json_fields.InvalidField:
        sent_at = None
    if sent_at is None:
        raise SignatureInvalid(f"the header {_TIME} is not a time")
    return sent_at


def _report(content: Mapping[str, Any]) -> Report:
    order, transaction = json_fields.inner(content, "order"), json_fields.inner(content, "transaction")
    reported = json_fields.text(transaction, "status", longest=64)
    status = _STATUSES.get(reported)
    order_number, attempt_no = attempt_named(json_fields.text(order, "invoice_number", longest=64))
    return Report(
        order_number=order_number,
        transaction_id=json_fields.text(transaction, "original_request_id", longest=128),
        reported_status=reported,
        status=status,
        amount_rupiah=json_fields.rupiah(order, "amount"),
        currency=json_fields.text({"currency": "IDR"} | order, "currency", longest=8),
        occurred_at=json_fields.moment(transaction, "date"),
        # It names no refund and tells the order's amount: a transaction is refunded once, as a whole.
        refund_key=reported if status is EventStatus.REFUNDED else None,
        attempt_no=attempt_no,
    )
