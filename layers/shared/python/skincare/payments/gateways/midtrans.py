"""Midtrans: https://docs.midtrans.com/docs/https-notification-webhooks.

Its signature covers neither the status nor a time, so an event of Midtrans is a hint: it must be confirmed
before money moves.
"""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

from skincare.payments import members
from skincare.payments.errors import SignatureInvalid
from skincare.payments.models import EventStatus, GatewayEvent, Report, Webhook, attempt_named
from skincare.payments.signatures import matches_any

JAKARTA = timezone(timedelta(hours=7))

_STATUSES = {
    "authorize": None,
    "capture": EventStatus.PAID,
    "settlement": EventStatus.PAID,
    "pending": EventStatus.PENDING,
    "deny": EventStatus.FAILED,
    # Final from whatever came before: of a pending payment nothing comes any more, a captured one was voided.
    "cancel": EventStatus.VOIDED,
    "failure": EventStatus.FAILED,
    "expire": EventStatus.EXPIRED,
    "refund": EventStatus.REFUNDED,
    "partial_refund": EventStatus.PARTIALLY_REFUNDED,
    "chargeback": EventStatus.CHARGEBACK,
    "partial_chargeback": EventStatus.CHARGEBACK,
}


def sign(secret: str, order_id: str, status_code: str, gross_amount: str) -> str:
    """Return the member `signature_key`; the parts are taken as they stand in the body."""
    signed = f"{order_id}{status_code}{gross_amount}{secret}"
    return hashlib.sha512(signed.encode("utf-8", "surrogatepass")).hexdigest()


class Midtrans:
    """Notifications that are signed in their body, with the server key."""

    name = "midtrans"
    status_is_signed = False

    def read(self, webhook: Webhook, secrets: Sequence[str], now: datetime) -> GatewayEvent:  # noqa: ARG002  no time is signed
        content = members.parse(webhook.body)
        order_id, status_code, gross_amount, given = (
            _as_sent(content, name) for name in ("order_id", "status_code", "gross_amount", "signature_key")
        )
        expected = [sign(secret, order_id, status_code, gross_amount).encode() for secret in secrets]
        if not matches_any(given.encode("utf-8", "surrogatepass"), expected):
            raise SignatureInvalid("signature_key is not of ours")
        # Anybody who saw one notification can change its status and send it again. The key names these very
        # bytes, so that a forged event never takes the place of the true one.
        fingerprint = members.digest(webhook.body)
        merchant_id = content.get("merchant_id")
        merchant_id = merchant_id if isinstance(merchant_id, str) else None
        try:
            report = _report(content)
        except members.MemberFlawed as flaw:
            return GatewayEvent(f"sha256:{fingerprint}", {}, None, str(flaw), merchant_id=merchant_id)
        key = f"{report.transaction_id}:{report.reported_status}:{fingerprint}"
        return GatewayEvent(key, {}, report, merchant_id=merchant_id)


def _as_sent(content: Mapping[str, Any], name: str) -> str:
    value = content.get(name)
    if not isinstance(value, str):
        raise SignatureInvalid(f"{name} is missing")
    return value


def _report(content: dict[str, Any]) -> Report:
    reported, status = meaning(content)
    refund_key, amount_name = None, "gross_amount"
    if status in {EventStatus.REFUNDED, EventStatus.PARTIALLY_REFUNDED}:
        content = content | _newest_refund(content)
        refund_key, amount_name = members.text(content, "refund_key", longest=128), "refund_amount"
    order_number, attempt_no = attempt_named(members.text(content, "order_id", longest=64))
    return Report(
        order_number=order_number,
        transaction_id=members.text(content, "transaction_id", longest=128),
        reported_status=reported,
        status=status,
        amount_rupiah=members.rupiah(content, amount_name),
        currency=members.text({"currency": "IDR"} | content, "currency", longest=8),
        occurred_at=happened_at(content),
        refund_key=refund_key,
        attempt_no=attempt_no,
    )


def meaning(content: Mapping[str, Any]) -> tuple[str, EventStatus | None]:
    """Return the word of a transaction and what it means; raises `MemberFlawed`.

    A transaction under review says `capture` as well: then money has not arrived.
    """
    reported = members.text(content, "transaction_status", longest=64)
    status = _STATUSES.get(reported)
    if status is EventStatus.PAID and not _succeeded(content):
        status = EventStatus.PENDING
    return reported, status


def happened_at(content: Mapping[str, Any]) -> datetime | None:
    """Return when a transaction was settled or else made; raises `MemberFlawed`."""
    return members.moment(content, "settlement_time", zone=JAKARTA) or members.moment(
        content, "transaction_time", zone=JAKARTA
    )


def _succeeded(content: Mapping[str, Any]) -> bool:
    return content.get("status_code") == "200" and content.get("fraud_status", "accept") == "accept"


def _newest_refund(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the last entry of `refunds`, whose amount is its own; the top level tells the sum of all."""
    refunds = content.get("refunds")
    newest = refunds[-1] if isinstance(refunds, list) and refunds else {}
    return newest if isinstance(newest, dict) else {}
