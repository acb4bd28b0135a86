"""Sends the gateway's webhooks to the shop, really signed, in the good and the bad ways that gateways have."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from local.loopback import LoopbackClient
from local.payment_gateway.book import Entry, Payment
from local.webhooks import Occurrence, signed

_GATEWAY = "standard_webhooks"
_LATE = timedelta(minutes=10)


class Delivery(StrEnum):
    """How an event is sent."""

    ONCE = "once"
    TWICE = "twice"
    LATE = "late"
    """With the time of ten minutes ago, as a captured request would have."""
    FORGED = "forged"
    """With a signature of another secret."""


@dataclass(frozen=True)
class Told:
    """What the shop answered; status 0 where it did not."""

    status: int
    body: Any


class Sender:
    """Tells one shop."""

    def __init__(self, shop_url: str, *, secret: str, other_secret: str) -> None:
        self._shop = LoopbackClient(shop_url)
        self._secret = secret
        self._other_secret = other_secret

    def send(self, payment: Payment, entry: Entry, delivery: Delivery) -> list[Told]:
        """Send the event of an entry and return each answer."""
        now = datetime.now(UTC)
        request = signed(
            _GATEWAY,
            Occurrence(
                event_id=entry.event_id,
                order_number=payment.reference,
                transaction_id=entry.transaction_id,
                status=entry.status,
                amount_rupiah=entry.amount_rupiah,
                occurred_at=datetime.fromisoformat(entry.occurred_at),
                refund_id=entry.refund_id,
            ),
            secret=self._other_secret if delivery is Delivery.FORGED else self._secret,
            sent_at=now - _LATE if delivery is Delivery.LATE else now,
        )
        told = []
        for _ in range(2 if delivery is Delivery.TWICE else 1):
            try:
                answer = self._shop.call("POST", request.path, request.body, request.headers)
                told.append(Told(answer.status, answer.body))
            except (OSError, ValueError) as error:
                told.append(Told(0, type(error).__name__))
        return told
