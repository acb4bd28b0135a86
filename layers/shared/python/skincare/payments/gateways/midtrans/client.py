"""Midtrans over its own API: https://docs.midtrans.com/reference/backend-integration and …/get-transaction-status."""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from skincare.payments import json_fields
from skincare.payments.errors import GatewayRefused, GatewayUnavailable, RefundTooEarly
from skincare.payments.gateways.http import GatewayHttp
from skincare.payments.gateways.midtrans.settings import SETTINGS
from skincare.payments.gateways.midtrans.webhook import JAKARTA, happened_at, meaning, price, refunds
from skincare.payments.models import REFUNDS, Attempt, Closing, EventStatus, Refund, Report
from skincare.payments.ports import GatewayClient, SecretStore

_MADE_OF_A_PAYMENT = {*REFUNDS, EventStatus.CHARGEBACK}
_SHORTEST_MINUTES = 1
_SHORTEST_PAGE_MINUTES = 5
"""https://docs.midtrans.com/reference/expire-a-snap-session"""

# Codes of its own, in the body: https://docs.midtrans.com/reference/code-statuses.
_EXPIRED, _UNKNOWN, _TAKEN, _UNCHANGEABLE = "407", "404", 406, "412"
_NOT_LET_IN = "401"

_CLOSINGS = (Closing.PAID, Closing.UNDER_WAY, Closing.CLOSED, Closing.UNKNOWN)
"""By what weighs most where several transactions of one attempt end differently."""


class MidtransClient:
    """Matches `skincare.payments.ports.GatewayClient`. Snap and the API for everything else have two addresses."""

    name = SETTINGS.name

    def __init__(
        self,
        base_url: str,
        snap_url: str,
        *,
        secrets: SecretStore,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._api = GatewayHttp(self.name, base_url, secrets=secrets, status_inside=_status_inside)
        self._snap = GatewayHttp(self.name, snap_url, secrets=secrets, status_inside=_status_inside)
        self._clock = clock

    def start(self, attempt: Attempt) -> str:
        """Make a Snap page; asked again while nobody has paid at the first one, another page for the same money.

        Once somebody has, Midtrans refuses the reference as taken.
        """
        now = self._clock()
        minutes = math.floor((attempt.expires_at - now).total_seconds() / 60)
        answer = self._snap.post(
            "/snap/v1/transactions",
            {
                "transaction_details": {"order_id": attempt.reference, "gross_amount": attempt.amount_rupiah},
                # Without it a card may be charged that nobody asked the holder about.
                "credit_card": {"secure": True},
                "expiry": {
                    "start_time": now.astimezone(JAKARTA).strftime("%Y-%m-%d %H:%M:%S +0700"),
                    "unit": "minute",
                    "duration": max(_SHORTEST_MINUTES, minutes),
                },
                # The time above is that of a way to pay once chosen; the page itself would live for a day.
                "page_expiry": {"unit": "minute", "duration": max(_SHORTEST_PAGE_MINUTES, minutes)},
            },
            is_taken=_is_taken,
        )
        return self._snap.page(answer, "redirect_url")

    def transactions(self, attempt: Attempt, transaction_ids: Collection[str] = ()) -> Sequence[Report]:
        """Ask for the status, by the reference and by each transaction that this does not find.

        Where nobody has chosen how to pay, Midtrans does not know the reference; DANA and the banks of BI-SNAP it
        finds by their transaction alone, and then repeats its identifier as `order_id`.
        """
        by_reference = self._status(attempt.reference)
        if by_reference is not None and by_reference.get("order_id") != attempt.reference:
            raise GatewayUnavailable(self.name, "its answer is about something else")
        found = [] if by_reference is None else [by_reference]
        for missing in sorted(set(transaction_ids) - {each.get("transaction_id") for each in found}):
            reported = self._status(missing)
            if reported is not None and _is_about(reported, attempt, missing):
                found.append(reported)
        try:
            return tuple(report for each in found for report in _reports(attempt, each))
        except json_fields.InvalidField as flaw:
            raise GatewayUnavailable(self.name, str(flaw)) from None

    def close(self, attempt: Attempt, transaction_ids: Collection[str] = ()) -> Closing:
        """Let what waits for the money expire: https://docs.midtrans.com/reference/expire-api."""
        closings = {self._expire(name) for name in (attempt.reference, *sorted(set(transaction_ids)))}
        return next(each for each in _CLOSINGS if each in closings)

    def refund(self, refund: Refund) -> None:
        """Ask for a refund; a repetition with the same key is the same refund."""
        code = self._ask(
            f"/v2/{quote(refund.transaction_id, safe='')}/refund",
            {"refund_key": refund.key, "amount": refund.amount_rupiah, "reason": refund.reason},
        )
        if code == _UNCHANGEABLE and (self._status(refund.transaction_id) or {}).get("transaction_status") == "capture":
            # A card that was charged today: https://docs.midtrans.com/docs/transaction-status-cycle.
            raise RefundTooEarly(self.name)
        if not code.startswith("2"):
            raise GatewayRefused(self.name, f"status {code[:3]}")

    def _expire(self, name: str) -> Closing:
        code = self._ask(f"/v2/{quote(name, safe='')}/expire", {})
        if code == _EXPIRED or code.startswith("2"):
            return Closing.CLOSED
        if code == _UNKNOWN:
            return Closing.UNKNOWN
        if code != _UNCHANGEABLE:
            raise GatewayRefused(self.name, f"status {code[:3]}")
        reported = self._status(name)
        try:
            status = None if reported is None else meaning(reported)[1]
        except json_fields.InvalidField as flaw:
            raise GatewayUnavailable(self.name, str(flaw)) from None
        if status in {EventStatus.FAILED, EventStatus.EXPIRED, EventStatus.VOIDED}:
            return Closing.CLOSED
        return Closing.UNDER_WAY if status in {EventStatus.PENDING, None} else Closing.PAID

    def _status(self, name: str) -> dict[str, Any] | None:
        """Return the status of an `order_id` or a transaction, None where there is none."""
        answer = self._api.get(f"/v2/{quote(name, safe='')}/status")
        if answer is None:
            return None
        if not isinstance(answer.value, dict):
            raise GatewayUnavailable(self.name, "its answer is no status")
        # Its own status code counts: it answers 200 over HTTP with a 404 inside.
        return None if answer.value.get("status_code") == _UNKNOWN else answer.value

    def _ask(self, path: str, content: object) -> str:
        """Send, and return Midtrans's own code, from the body or else the HTTP status."""
        try:
            answer = self._api.post_if_there(path, content)
        except GatewayRefused as refusal:
            return str(refusal.status)
        if answer is None:
            return _UNKNOWN
        code = answer.value.get("status_code") if isinstance(answer.value, dict) else None
        if not isinstance(code, str):
            raise GatewayUnavailable(self.name, "its answer has no status_code")
        if code.startswith("5") or code == "429":
            raise GatewayUnavailable(self.name, f"status {code[:3]}")
        return code


def _status_inside(content: Any) -> int | None:
    refused = isinstance(content, dict) and content.get("status_code") == _NOT_LET_IN
    return int(_NOT_LET_IN) if refused else None


def _is_taken(status: int, content: Any) -> bool:
    """Our references are of a form that Midtrans takes, so that a complaint about `order_id` means one thing."""
    reported = content.get("error_messages") if isinstance(content, dict) else None
    return status == _TAKEN or any("order_id" in each for each in _texts(reported))


def _texts(value: object) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _is_about(content: Mapping[str, Any], attempt: Attempt, transaction_id: str) -> bool:
    return content.get("transaction_id") == transaction_id and content.get("order_id") in {
        attempt.reference,
        transaction_id,
    }


def _reports(attempt: Attempt, content: Mapping[str, Any]) -> Iterator[Report]:
    """Read a status, which tells the newest state only: what was refunded or charged back was paid before."""
    reported, status = meaning(content)
    newest = Report(
        order_number=attempt.order_number,
        transaction_id=json_fields.text(content, "transaction_id", longest=128),
        reported_status=reported,
        status=status,
        amount_rupiah=price(content),
        currency=json_fields.text({"currency": "IDR"} | dict(content), "currency", longest=8),
        occurred_at=happened_at(content),
        attempt_no=attempt.attempt_no,
    )
    if status not in _MADE_OF_A_PAYMENT:
        yield newest
        return
    yield replace(newest, status=EventStatus.PAID)
    if status is EventStatus.CHARGEBACK:
        yield replace(newest, occurred_at=None)
    for refund in refunds(content):
        if refund.amount_rupiah or not refund.reported_rupiah:
            yield replace(
                newest,
                status=status if status in REFUNDS else EventStatus.PARTIALLY_REFUNDED,
                amount_rupiah=refund.amount_rupiah,
                occurred_at=refund.created_at,
                refund_key=refund.key,
            )


def connect(urls: Mapping[str, str], secrets: SecretStore) -> GatewayClient:
    """Return the client at the addresses that are set; without one of Snap, both are one."""
    api, snap = SETTINGS.urls
    return MidtransClient(urls[api], urls.get(snap, urls[api]), secrets=secrets)
