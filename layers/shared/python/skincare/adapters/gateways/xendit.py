"""Xendit's invoices over its own API: https://developers.xendit.co/api-reference/#list-all-invoices.

It is asked and nothing more. An invoice's `external_id` is not unique there, so that a repeated start could make a
second debt; and how a repeated refund is recognised is not certain enough from its public pages.
"""

from collections.abc import Sequence
from typing import NoReturn
from urllib.parse import quote

from skincare.adapters.gateways.http import GatewayHttp
from skincare.payments import members
from skincare.payments.errors import GatewayRefused, GatewayUnavailable
from skincare.payments.gateways.xendit import Xendit, report_of
from skincare.payments.models import Attempt, Refund, Report
from skincare.payments.ports import SecretStore

API_KEY = "xendit_api"
"""The name of its secret key in the store of secrets; `xendit` is the token of its webhooks."""


class XenditClient:
    """Matches `skincare.payments.ports.GatewayClient`."""

    name = Xendit.name

    def __init__(self, base_url: str, *, secrets: SecretStore) -> None:
        self._api = GatewayHttp(self.name, base_url, secrets=secrets, secret_name=API_KEY)

    def start(self, attempt: Attempt) -> NoReturn:  # noqa: ARG002  the port's shape
        raise GatewayRefused(self.name, "we start no payments there")

    def transactions(self, attempt: Attempt) -> Sequence[Report]:
        """Ask for the invoices of a reference: the one that was paid is a transaction like the one that expired."""
        answer = self._api.get(f"/v2/invoices?external_id={quote(attempt.reference, safe='')}")
        told = [] if answer is None else answer.value
        if not isinstance(told, list) or not all(isinstance(each, dict) for each in told):
            raise GatewayUnavailable(self.name, "its answer is no list of invoices")
        # Whatever else it may list is not about this attempt.
        invoices = [each for each in told if each.get("external_id") == attempt.reference]
        try:
            return tuple(report_of(each) for each in invoices)
        except members.MemberFlawed as flaw:
            raise GatewayUnavailable(self.name, str(flaw)) from None

    def refund(self, refund: Refund) -> NoReturn:  # noqa: ARG002  the port's shape
        raise GatewayRefused(self.name, "we give nothing back there")
