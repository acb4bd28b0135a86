"""What a gateway that speaks our own body sends, really signed."""

from datetime import datetime

from skincare.payments.gateways.samples import Occurrence, Sample, SignedRequest, compact_json
from skincare.payments.gateways.standard_webhooks.settings import SETTINGS
from skincare.payments.gateways.standard_webhooks.webhook import sign


def _request(what: Occurrence, word: str, secret: str, sent_at: datetime) -> SignedRequest:
    body = compact_json(
        event_id=what.event_id,
        order_number=what.order_number,
        status=word,
        amount_rupiah=what.amount_rupiah,
        currency="IDR",
        occurred_at=what.occurred_at.isoformat(),
        transaction_id=what.transaction_id,
        **({} if what.refund_id is None else {"refund_id": what.refund_id}),
    )
    timestamp = str(int(sent_at.timestamp()))
    headers = {
        "webhook-id": what.event_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": sign(secret, what.event_id, timestamp, body),
    }
    return SignedRequest(SETTINGS.webhook_path, body, headers)


SAMPLE = Sample(_request, signs_time=True, key_prefix="whsec_")
