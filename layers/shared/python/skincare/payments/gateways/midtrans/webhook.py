"""Midtrans: https://docs.midtrans.com/docs/https-notification-webhooks.

Its signature covers neither the status nor a time, so an event of Midtrans is a hint: it must be confirmed
before money moves.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

from skincare.payments import json_fields
from skincare.payments.errors import SignatureInvalid
from skincare.payments.gateways.midtrans.settings import SETTINGS
from skincare.payments.models import REFUNDS, EventStatus, GatewayEvent, Report, Webhook, attempt_named
from skincare.payments.ports import Gateway
from skincare.payments.signatures import matches_any

JAKARTA = timezone(timedelta(hours=7))

# What the button "Test notification URL" of the dashboard sends, truly signed, with an order_id of its own.
_TEST_PREFIX = "payment_notif_test_"

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

    name = SETTINGS.name
    status_is_signed = False

    def read(self, webhook: Webhook, secrets: Sequence[str], now: datetime) -> GatewayEvent:  # noqa: ARG002  no time is signed
        content = json_fields.parse(webhook.body)
        order_id, status_code, gross_amount, given = (
            _as_sent(content, name) for name in ("order_id", "status_code", "gross_amount", "signature_key")
        )
        expected = [sign(secret, order_id, status_code, gross_amount).encode() for secret in secrets]
        if not matches_any(given.encode("utf-8", "surrogatepass"), expected):
            raise SignatureInvalid("signature_key is not of ours")
        # Anybody who saw one notification can change its status and send it again. The key names these very
        # bytes, so that a forged event never takes the place of the true one.
        fingerprint = json_fields.digest(webhook.body)
        merchant_id = content.get("merchant_id")
        merchant_id = merchant_id if isinstance(merchant_id, str) else None
        if order_id.startswith(_TEST_PREFIX):
            return GatewayEvent(f"sha256:{fingerprint}", {}, None, merchant_id=merchant_id)
        try:
            report = _report(content)
        except json_fields.InvalidField as flaw:
            return GatewayEvent(f"sha256:{fingerprint}", {}, None, str(flaw), merchant_id=merchant_id)
        if report is None:
            return GatewayEvent(f"sha256:{fingerprint}", {}, None, merchant_id=merchant_id)
        key = f"{report.transaction_id}:{report.reported_status}:{fingerprint}"
        return GatewayEvent(key, {}, report, merchant_id=merchant_id)


READER: Gateway = Midtrans()


def _as_sent(content: Mapping[str, Any], name: str) -> str:
    value = content.get(name)
    if not isinstance(value, str):
        raise SignatureInvalid(f"{name} is missing")
    return value


def _report(content: dict[str, Any]) -> Report | None:
    """Return what a notification says, None where it is about a fee of Midtrans alone; raises `InvalidField`."""
    reported, status = meaning(content)
    refund_key, amount = None, price(content)
    if status in REFUNDS:
        # Some notifications report their refund at the top level alone.
        newest = (refunds(content) or refunds(content | {"refunds": [content]}))[-1]
        if newest.amount_rupiah <= 0 < newest.reported_rupiah:
            return None
        refund_key, amount = newest.key, newest.amount_rupiah
    order_number, attempt_no = attempt_named(json_fields.text(content, "order_id", longest=64))
    return Report(
        order_number=order_number,
        transaction_id=json_fields.text(content, "transaction_id", longest=128),
        reported_status=reported,
        status=status,
        amount_rupiah=amount,
        currency=json_fields.text({"currency": "IDR"} | content, "currency", longest=8),
        occurred_at=happened_at(content),
        refund_key=refund_key,
        attempt_no=attempt_no,
    )


def meaning(content: Mapping[str, Any]) -> tuple[str, EventStatus | None]:
    """Return the word of a transaction and what it means; raises `InvalidField`.

    A transaction under review says `capture` as well: then money has not arrived.
    """
    reported = json_fields.text(content, "transaction_status", longest=64)
    status = _STATUSES.get(reported)
    if status is EventStatus.PAID and not _succeeded(content):
        status = EventStatus.PENDING
    return reported, status


def happened_at(content: Mapping[str, Any]) -> datetime | None:
    """Return when a transaction was settled or else made; raises `InvalidField`."""
    return json_fields.moment(content, "settlement_time", zone=JAKARTA) or json_fields.moment(
        content, "transaction_time", zone=JAKARTA
    )


def _succeeded(content: Mapping[str, Any]) -> bool:
    return content.get("status_code") == "200" and content.get("fraud_status", "accept") == "accept"


def price(content: Mapping[str, Any]) -> int:
    """Return what was paid for the order, in rupiah: a fee that Midtrans put on top is between it and the customer.

    `gross_amount` is with the fee. Where the breakdown does not add up, it is the gross amount; raises `InvalidField`.
    https://docs.midtrans.com/docs/snap-advanced-feature#automatic-fee-imposition
    """
    gross = json_fields.rupiah(content, "gross_amount")
    for place in (content, json_fields.inner(content, "metadata")):
        reported = json_fields.inner(json_fields.inner(place, "extra_info"), "gross_amount_info")
        try:
            original = json_fields.rupiah(reported, "original_amount")
            fee = json_fields.rupiah(reported, "customer_imposed_payment_fee")
        except json_fields.InvalidField:
            continue
        if original > 0 and fee >= 0 and original + fee == gross:
            return original
    return gross


@dataclass(frozen=True)
class ReportedRefund:
    """One refund. Of `reported_rupiah`, `amount_rupiah` is what belongs to the order and not to a fee on top."""

    key: str
    reported_rupiah: int
    amount_rupiah: int
    created_at: datetime | None


def refunds(content: Mapping[str, Any]) -> tuple[ReportedRefund, ...]:
    """Return the entries of `refunds`, oldest first; raises `InvalidField`.

    The top level tells only the sum of all. A fee is given back last, so that all refunds together are never more
    than the order's price where all together are no more than was paid.
    """
    entries = content.get("refunds")
    left = price(content)
    fee_left = json_fields.rupiah(content, "gross_amount") - left
    found: list[ReportedRefund] = []
    for entry in entries if isinstance(entries, list) else []:
        if not isinstance(entry, dict):
            raise json_fields.InvalidField("refunds is not a list of objects")
        reported = json_fields.rupiah(entry, "refund_amount")
        # Of more than there ever was nothing is taken away: the books tell that it does not fit.
        of_fee = reported - left if 0 < reported - left <= fee_left else 0
        left, fee_left = max(0, left - reported), fee_left - of_fee
        found.append(
            ReportedRefund(
                key=json_fields.text(entry, "refund_key", longest=128),
                reported_rupiah=reported,
                amount_rupiah=reported - of_fee,
                created_at=json_fields.moment(entry, "created_at", zone=JAKARTA),
            )
        )
    return tuple(found)
