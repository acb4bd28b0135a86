"""A gateway that speaks our own body, over the API that docs/payments.md describes."""

from collections.abc import Sequence
from urllib.parse import quote

from skincare.adapters.gateways.http import GatewayHttp
from skincare.payments import members
from skincare.payments.errors import GatewayUnavailable
from skincare.payments.gateways.standard_webhooks import StandardWebhooks, report_of
from skincare.payments.models import Attempt, Refund, Report
from skincare.payments.ports import SecretStore


class StandardWebhooksClient:
    """Matches `skincare.payments.ports.GatewayClient`."""

    name = StandardWebhooks.name

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
        )
        return self._api.page(answer, "url")

    def transactions(self, attempt: Attempt) -> Sequence[Report]:
        """Ask what became of a payment."""
        answer = self._api.get(f"/payments/{quote(attempt.reference, safe='')}/transactions")
        if answer is None:
            return ()
        told = answer.value.get("transactions") if isinstance(answer.value, dict) else None
        if not isinstance(told, list) or not all(isinstance(each, dict) for each in told):
            raise GatewayUnavailable(self.name, "its answer has no list of transactions")
        try:
            reports = tuple(report_of(each) for each in told)
        except members.MemberFlawed as flaw:
            raise GatewayUnavailable(self.name, str(flaw)) from None
        if any((each.order_number, each.attempt_no) != (attempt.order_number, attempt.attempt_no) for each in reports):
            raise GatewayUnavailable(self.name, "its answer is about something else")
        return reports

    def refund(self, refund: Refund) -> None:
        """Ask for a refund; the same `refund_id` is the same refund."""
        self._api.post(
            f"/transactions/{quote(refund.transaction_id, safe='')}/refunds",
            {"refund_id": refund.key, "amount_rupiah": refund.amount_rupiah, "reason": refund.reason},
        )
