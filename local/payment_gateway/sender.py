"""Tells the shop what happened at a gateway, by its webhooks."""

from collections.abc import Mapping
from datetime import datetime

from emulator.gateway.problems import Refused
from emulator.loopback.client import LoopbackClient
from local.payment_gateway.payment_store import Entry, Payment
from local.webhook_delivery import Delivery, ShopAnswer, Signer, deliver
from skincare.payments.gateways.samples import Occurrence, sample


class Sender:
    """Tells one shop; each gateway signs with its own secret."""

    def __init__(self, shop_url: str, signers: Mapping[str, Signer]) -> None:
        self._shop = LoopbackClient(shop_url)
        self._signers = signers

    def check(self, payment: Payment, delivery: Delivery) -> None:
        """Raise `Refused` for a way of delivery that a gateway does not have."""
        if delivery is Delivery.LATE and not sample(payment.gateway).signs_time:
            raise Refused(422, "validation_failed", "The request is invalid", f"{payment.gateway} signs no time.")

    def send(self, payment: Payment, entry: Entry, delivery: Delivery) -> list[ShopAnswer]:
        """Send the event of an entry and return each answer."""
        what = Occurrence(
            event_id=entry.event_id,
            order_number=payment.reference,
            transaction_id=entry.transaction_id,
            status=entry.status,
            amount_rupiah=entry.amount_rupiah,
            occurred_at=datetime.fromisoformat(entry.occurred_at),
            refund_id=entry.refund_id,
            total_rupiah=payment.amount_rupiah,
            fee_rupiah=(payment.paid or entry).fee_rupiah,
        )
        return deliver(what, delivery, signer=self._signers[payment.gateway], shop=self._shop)
