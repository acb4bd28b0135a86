"""Midtrans over its own API: https://docs.midtrans.com/reference/backend-integration and …/get-transaction-status."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from skincare.adapters.gateways.http import GatewayHttp
from skincare.payments import members
from skincare.payments.errors import GatewayRefused, GatewayUnavailable
from skincare.payments.gateways.midtrans import JAKARTA, Midtrans, happened_at, meaning
from skincare.payments.models import Attempt, EventStatus, Refund, Report
from skincare.payments.ports import SecretStore

_REFUNDS = {EventStatus.REFUNDED, EventStatus.PARTIALLY_REFUNDED}
_MADE_OF_A_PAYMENT = {*_REFUNDS, EventStatus.CHARGEBACK}
_SHORTEST_MINUTES = 1


class MidtransClient:
    """Matches `skincare.payments.ports.GatewayClient`. Snap and the API for everything else have two addresses."""

    name = Midtrans.name

    def __init__(
        self,
        base_url: str,
        snap_url: str,
        *,
        secrets: SecretStore,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._api = GatewayHttp(self.name, base_url, secrets=secrets)
        self._snap = GatewayHttp(self.name, snap_url, secrets=secrets)
        self._clock = clock

    def start(self, attempt: Attempt) -> str:
        """Make a Snap page; asked again while nobody has paid at the first one, another page for the same money.

        Once somebody has, Midtrans refuses the reference as taken.
        """
        now = self._clock()
        answer = self._snap.post(
            "/snap/v1/transactions",
            {
                "transaction_details": {"order_id": attempt.reference, "gross_amount": attempt.amount_rupiah},
                # Without it a card may be charged that nobody asked the holder about.
                "credit_card": {"secure": True},
                "expiry": {
                    "start_time": now.astimezone(JAKARTA).strftime("%Y-%m-%d %H:%M:%S +0700"),
                    "unit": "minute",
                    "duration": max(_SHORTEST_MINUTES, math.floor((attempt.expires_at - now).total_seconds() / 60)),
                },
            },
        )
        return self._snap.page(answer, "redirect_url")

    def transactions(self, attempt: Attempt) -> Sequence[Report]:
        """Ask for the status. Where nobody has chosen how to pay, Midtrans does not know the reference."""
        answer = self._api.get(f"/v2/{quote(attempt.reference, safe='')}/status")
        content = answer.value if answer else None
        # Its own status code counts: it answers 200 over HTTP with a 404 inside.
        if not isinstance(content, dict) or content.get("status_code") == "404":
            return ()
        if content.get("order_id") != attempt.reference:
            raise GatewayUnavailable(self.name, "its answer is about something else")
        try:
            return tuple(_reports(attempt, content))
        except members.MemberFlawed as flaw:
            raise GatewayUnavailable(self.name, str(flaw)) from None

    def refund(self, refund: Refund) -> None:
        """Ask for a refund; a repetition with the same key is the same refund."""
        answer = self._api.post(
            f"/v2/{quote(refund.transaction_id, safe='')}/refund",
            {"refund_key": refund.key, "amount": refund.amount_rupiah, "reason": refund.reason},
        )
        code = answer.value.get("status_code") if isinstance(answer.value, dict) else None
        if not isinstance(code, str):
            raise GatewayUnavailable(self.name, "its answer has no status_code")
        if code.startswith("5") or code == "429":
            raise GatewayUnavailable(self.name, f"status {code[:3]}")
        if not code.startswith("2"):
            raise GatewayRefused(self.name, f"status {code[:3]}")


def _reports(attempt: Attempt, content: Mapping[str, Any]) -> Iterator[Report]:
    """Read a status, which tells the newest state only: what was refunded or charged back was paid before."""
    reported, status = meaning(content)
    newest = Report(
        order_number=attempt.order_number,
        transaction_id=members.text(content, "transaction_id", longest=128),
        reported_status=reported,
        status=status,
        amount_rupiah=members.rupiah(content, "gross_amount"),
        currency=members.text({"currency": "IDR"} | dict(content), "currency", longest=8),
        occurred_at=happened_at(content),
        attempt_no=attempt.attempt_no,
    )
    if status not in _MADE_OF_A_PAYMENT:
        yield newest
        return
    yield replace(newest, status=EventStatus.PAID)
    if status is EventStatus.CHARGEBACK:
        yield replace(newest, occurred_at=None)
    refunds = content.get("refunds")
    for refund in refunds if isinstance(refunds, list) else []:
        if not isinstance(refund, dict):
            raise members.MemberFlawed("refunds is not a list of objects")
        yield replace(
            newest,
            status=status if status in _REFUNDS else EventStatus.PARTIALLY_REFUNDED,
            amount_rupiah=members.rupiah(refund, "refund_amount"),
            occurred_at=members.moment(refund, "created_at", zone=JAKARTA),
            refund_key=members.text(refund, "refund_key", longest=128),
        )
