"""What DOKU sends, really signed."""

from datetime import UTC, datetime

from skincare.payments.gateways.doku.settings import SETTINGS
from skincare.payments.gateways.doku.webhook import sign
from skincare.payments.gateways.samples import Occurrence, Sample, SignedRequest, compact_json
from skincare.payments.models import EventStatus


def _request(what: Occurrence, word: str, secret: str, sent_at: datetime) -> SignedRequest:
    path = SETTINGS.webhook_path
    body = compact_json(
        order={"invoice_number": what.order_number, "amount": what.amount_rupiah},
        transaction={
            "status": word,
            "date": what.occurred_at.isoformat(),
            "original_request_id": what.transaction_id,
        },
    )
    timestamp = sent_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    signature = sign(secret, body, client_id="local", request_id=what.event_id, timestamp=timestamp, path=path)
    headers = {
        "client-id": "local",
        "request-id": what.event_id,
        "request-timestamp": timestamp,
        "signature": signature,
    }
    return SignedRequest(path, body, headers)


SAMPLE = Sample(
    _request, words={str(each): each.upper() for each in EventStatus} | {"paid": "SUCCESS"}, signs_time=True
)
