"""A gateway that speaks our own body, over the API that docs/payments.md describes."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from skincare.payments import json_fields
from skincare.payments.errors import GatewayRefused, GatewayUnavailable
from skincare.payments.gateways.http import GatewayHttp
from skincare.payments.gateways.standard_webhooks.settings import SETTINGS
from skincare.payments.gateways.standard_webhooks.webhook import report_of
from skincare.payments.models import Attempt, Closing, EventStatus, Refund, Report
from skincare.payments.ports import GatewayClient, SecretStore


class StandardWebhooksClient:
    """Matches `skincare.payments.ports.GatewayClient`."""

    name = SETTINGS.name

    def __init__(self, base_url: str, *, secrets: SecretStore) -> None:
        self._api = GatewayHttp(self.name, base_url, secrets=secrets)

    def start(self, attempt: Attempt) -> str:
        """Make a payment; the same reference is the same payment."""
        answer = self._api.post(
            "/payments",
            {
                "reference": attempt.reference,
                "amount_rupiah": attempt.amount_rupiah,
                "currency": "IDR",
                "expires_at": attempt.expires_at.isoformat(),
            },
            is_taken=_is_taken,
        )
        return self._api.page(answer, "url")

    def transactions(self, attempt: Attempt, transaction_ids: Collection[str] = ()) -> Sequence[Report]:  # noqa: ARG002
        """Ask what became of a payment. Its reference finds all of it: this API has no other way to pay."""
        answer = self._api.get(f"/payments/{quote(attempt.reference, safe='')}/transactions")
        if answer is None:
            return ()
        reported = answer.value.get("transactions") if isinstance(answer.value, dict) else None
        if not isinstance(reported, list) or not all(isinstance(each, dict) for each in reported):
            raise GatewayUnavailable(self.name, "its answer has no list of transactions")
        try:
            reports = tuple(report_of(each) for each in reported)
        except json_fields.InvalidField as flaw:
            raise GatewayUnavailable(self.name, str(flaw)) from None
        if any((each.order_number, each.attempt_no) != (attempt.order_number, attempt.attempt_no) for each in reports):
            raise GatewayUnavailable(self.name, "its answer is about something else")
        return reports

    def close(self, attempt: Attempt, transaction_ids: Collection[str] = ()) -> Closing:  # noqa: ARG002
        """Close a payment; one that is closed already is closed again."""
        try:
            answer = self._api.post_if_there(f"/payments/{quote(attempt.reference, safe='')}/close", {})
        except GatewayRefused as refusal:
            if refusal.status != _CONFLICT:
                raise
            return _closing_by(self.transactions(attempt))
        return Closing.UNKNOWN if answer is None else Closing.CLOSED

    def refund(self, refund: Refund) -> None:
        """Ask for a refund; the same `refund_id` is the same refund."""
        self._api.post(
            f"/transactions/{quote(refund.transaction_id, safe='')}/refunds",
            {"refund_id": refund.key, "amount_rupiah": refund.amount_rupiah, "reason": refund.reason},
        )


_CONFLICT = 409


def _is_taken(status: int, _: Any) -> bool:
    return status == _CONFLICT


def _closing_by(reports: Sequence[Report]) -> Closing:
    """Say why a payment is not closed: somebody has paid it, or is about to."""
    paid = any(report.status is EventStatus.PAID for report in reports)
    return Closing.PAID if paid else Closing.UNDER_WAY


def connect(urls: Mapping[str, str], secrets: SecretStore) -> GatewayClient:
    """Return the client at the address that is set."""
    return StandardWebhooksClient(urls[SETTINGS.name], secrets=secrets)
