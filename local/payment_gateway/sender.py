"""Tells the shop what happened at the gateway, by its webhooks."""

from datetime import datetime

from local.loopback import LoopbackClient
from local.payment_gateway.book import Entry, Payment
from local.webhook_delivery import Delivery, Signer, Told, deliver
from local.webhooks import Occurrence

_GATEWAY = "standard_webhooks"


class Sender:
    """Tells one shop."""

    def __init__(self, shop_url: str, *, secret: str, other_secret: str) -> None:
        self._shop = LoopbackClient(shop_url)
        self._signer = Signer(_GATEWAY, secret, other_secret)

    def send(self, payment: Payment, entry: Entry, delivery: Delivery) -> list[Told]:
        """Send the event of an entry and return each answer."""
        what = Occurrence(
            event_id=entry.event_id,
            order_number=payment.reference,
            transaction_id=entry.transaction_id,
            status=entry.status,
            amount_rupiah=entry.amount_rupiah,
            occurred_at=datetime.fromisoformat(entry.occurred_at),
            refund_id=entry.refund_id,
        )
        return deliver(what, delivery, signer=self._signer, shop=self._shop)
