"""Xendit: https://developers.xendit.co/api-reference/#webhooks (invoices).

A webhook carries a shared token and no signature: whoever knows the token can say anything, so an event of
Xendit must be confirmed before money moves.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from skincare.payments import json_fields
from skincare.payments.errors import SignatureInvalid
from skincare.payments.gateways.xendit.settings import SETTINGS
from skincare.payments.models import EventStatus, GatewayEvent, Report, Webhook, attempt_named
from skincare.payments.ports import Gateway
from skincare.payments.signatures import matches_any, plain_header

_TOKEN, _ID = "x-callback-token", "webhook-id"

# The `external_id` of the sample that the dashboard's button "Test and save" sends for invoices.
_TEST_INVOICE = "invoice_123124123"

_STATUSES = {
    "PENDING": EventStatus.PENDING,
    "PAID": EventStatus.PAID,
    # The money reached our balance at Xendit: the same payment, reported again.
    "SETTLED": EventStatus.PAID,
    "EXPIRED": EventStatus.EXPIRED,
    "FAILED": EventStatus.FAILED,
}


class Xendit:
    """Invoice callbacks with the token of our account."""

    name = SETTINGS.name
    status_is_signed = False

    def read(self, webhook: Webhook, secrets: Sequence[str], now: datetime) -> GatewayEvent:  # noqa: ARG002  no time is signed
        token = webhook.headers.get(_TOKEN, "").encode("utf-8", "surrogatepass")
        # An empty secret would be matched by a header that is missing.
        if not matches_any(token, [secret.encode("utf-8", "surrogatepass") for secret in secrets if secret]):
            raise SignatureInvalid(f"the header {_TOKEN} is not ours")
        key = plain_header(webhook, _ID)
        headers = {_ID: key}
        try:
            content = json_fields.signed(webhook.body)
        except json_fields.InvalidField as flaw:
            return GatewayEvent(f"sha256:{json_fields.digest(webhook.body)}", headers, None, str(flaw))
        if content.get("external_id", _TEST_INVOICE) == _TEST_INVOICE:
            # Other products of Xendit call the same address, and its test button reports an invoice of nobody.
            return GatewayEvent(key, headers, None)
        try:
            return GatewayEvent(key, headers, report_of(content))
        except json_fields.InvalidField as flaw:
            return GatewayEvent(key, headers, None, str(flaw))


READER: Gateway = Xendit()


def report_of(content: Mapping[str, Any]) -> Report:
    """Return what an invoice says, in a webhook or an answer; raises `InvalidField`."""
    reported = json_fields.text(content, "status", longest=64)
    order_number, attempt_no = attempt_named(json_fields.text(content, "external_id", longest=64))
    return Report(
        order_number=order_number,
        transaction_id=json_fields.text(content, "id", longest=128),
        reported_status=reported,
        status=meaning(reported),
        amount_rupiah=json_fields.rupiah(content, "paid_amount" if "paid_amount" in content else "amount"),
        currency=json_fields.text(content, "currency", longest=8),
        occurred_at=json_fields.moment(content, "paid_at") or json_fields.moment(content, "updated"),
        attempt_no=attempt_no,
    )


def meaning(reported: object) -> EventStatus | None:
    """Return what the status of an invoice means, None for a word that means nothing to us."""
    return _STATUSES.get(reported) if isinstance(reported, str) else None
