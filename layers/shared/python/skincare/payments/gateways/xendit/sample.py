"""What Xendit sends, really signed."""

from datetime import datetime

from skincare.payments.gateways.samples import Occurrence, Sample, SignedRequest, compact_json
from skincare.payments.gateways.xendit.settings import SETTINGS
from skincare.payments.models import EventStatus


def _request(what: Occurrence, word: str, secret: str, _: datetime) -> SignedRequest:
    body = compact_json(
        id=what.transaction_id,
        external_id=what.order_number,
        status=word,
        amount=what.amount_rupiah,
        currency="IDR",
        updated=what.occurred_at.isoformat(),
    )
    return SignedRequest(SETTINGS.webhook_path, body, {"x-callback-token": secret, "webhook-id": what.event_id})


SAMPLE = Sample(_request, words={str(each): each.upper() for each in EventStatus})
