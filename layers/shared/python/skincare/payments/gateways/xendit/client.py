"""Xendit's invoices over its own API: https://developers.xendit.co/api-reference/#create-invoice.

Refunds are not built: their webhooks have another form, so that we would never hear of their end.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NoReturn
from urllib.parse import quote

from skincare.payments import json_fields
from skincare.payments.errors import GatewayRefused, GatewayUnavailable
from skincare.payments.gateways.http import Answer, GatewayHttp
from skincare.payments.gateways.xendit.settings import SETTINGS
from skincare.payments.gateways.xendit.webhook import meaning, report_of
from skincare.payments.models import Attempt, Closing, EventStatus, Refund, Report
from skincare.payments.ports import GatewayClient, SecretStore

_OPEN = "PENDING"
_SHORTEST_S = 60


class XenditClient:
    """Matches `skincare.payments.ports.GatewayClient`."""

    name = SETTINGS.name

    def __init__(
        self, base_url: str, *, secrets: SecretStore, clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._api = GatewayHttp(self.name, base_url, secrets=secrets, secret_name=SETTINGS.asked_with)
        self._clock = clock

    def start(self, attempt: Attempt) -> str:
        """Make an invoice, or find the one that an earlier call made: Xendit would take the same reference twice.

        Two calls at the same moment can make two. Only one of their addresses is ever shown to anybody.
        """
        for invoice in self._invoices(attempt):
            if invoice.get("status") == _OPEN and invoice.get("invoice_url"):
                return self._api.page(Answer(200, invoice), "invoice_url")
        answer = self._api.post(
            "/v2/invoices",
            {
                "external_id": attempt.reference,
                "amount": attempt.amount_rupiah,
                "currency": "IDR",
                "description": attempt.order_number,
                # Seconds.
                "invoice_duration": max(_SHORTEST_S, math.floor((attempt.expires_at - self._clock()).total_seconds())),
            },
        )
        return self._api.page(answer, "invoice_url")

    def transactions(self, attempt: Attempt, transaction_ids: Collection[str] = ()) -> Sequence[Report]:
        """Ask what became of the invoices of a reference. An open one is no transaction yet."""
        try:
            return tuple(
                report_of(each) for each in self._invoices(attempt, transaction_ids) if each.get("status") != _OPEN
            )
        except json_fields.InvalidField as flaw:
            raise GatewayUnavailable(self.name, str(flaw)) from None

    def close(self, attempt: Attempt, transaction_ids: Collection[str] = ()) -> Closing:
        """Expire the open invoices of a reference: https://developers.xendit.co/api-reference/#expire-invoice."""
        invoices = self._invoices(attempt, transaction_ids)
        if not invoices:
            return Closing.UNKNOWN
        for invoice in invoices:
            if invoice.get("status") != _OPEN:
                continue
            try:
                self._api.post(f"/invoices/{quote(str(invoice.get('id')), safe='')}/expire!", {})
            except GatewayRefused:
                # Paid, or expired by itself, in this moment.
                return self._closing_by(self._invoices(attempt, transaction_ids))
        return self._closing_by([each for each in invoices if each.get("status") != _OPEN])

    def _closing_by(self, invoices: Sequence[dict[str, Any]]) -> Closing:
        statuses = {meaning(each.get("status")) for each in invoices}
        if EventStatus.PAID in statuses:
            return Closing.PAID
        return Closing.CLOSED if statuses <= {EventStatus.EXPIRED, EventStatus.FAILED} else Closing.UNDER_WAY

    def refund(self, refund: Refund) -> NoReturn:  # noqa: ARG002  the port's shape
        raise GatewayRefused(self.name, "we give nothing back there")

    def _invoices(self, attempt: Attempt, transaction_ids: Collection[str] = ()) -> list[dict[str, Any]]:
        answer = self._api.get(f"/v2/invoices?external_id={quote(attempt.reference, safe='')}")
        reported = [] if answer is None else answer.value
        if not isinstance(reported, list) or not all(isinstance(each, dict) for each in reported):
            raise GatewayUnavailable(self.name, "its answer is no list of invoices")
        found = list(reported)
        for missing in set(transaction_ids) - {each.get("id") for each in reported}:
            answer = self._api.get(f"/v2/invoices/{quote(missing, safe='')}")
            if answer is not None and isinstance(answer.value, dict):
                found.append(answer.value)
        # Whatever else it may report is not about this attempt.
        return [each for each in found if each.get("external_id") == attempt.reference]


def connect(urls: Mapping[str, str], secrets: SecretStore) -> GatewayClient:
    """Return the client at the address that is set."""
    return XenditClient(urls[SETTINGS.name], secrets=secrets)
