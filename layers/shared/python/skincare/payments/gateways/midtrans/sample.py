"""What Midtrans sends, really signed."""

from datetime import datetime
from typing import Any

from skincare.payments.gateways.midtrans.settings import SETTINGS
from skincare.payments.gateways.midtrans.webhook import JAKARTA, sign
from skincare.payments.gateways.samples import Occurrence, Sample, SignedRequest, compact_json
from skincare.payments.models import EventStatus


def with_fee(price_rupiah: int, fee_rupiah: int) -> dict[str, Any]:
    """Return how Midtrans reports a fee that it put on top of a price, nothing where it put none.

    https://docs.midtrans.com/docs/snap-advanced-feature#automatic-fee-imposition
    """
    if not fee_rupiah:
        return {}
    reported = {
        "original_amount": str(price_rupiah),
        "gross_amount": str(price_rupiah + fee_rupiah),
        "customer_imposed_payment_fee": str(fee_rupiah),
    }
    return {"metadata": {"extra_info": {"gross_amount_info": reported}}}


def _request(what: Occurrence, word: str, secret: str, _: datetime) -> SignedRequest:
    is_refund = word in {"refund", "partial_refund"}
    # The amount of a refund has a member of its own.
    total = what.total_rupiah if is_refund and what.total_rupiah is not None else what.amount_rupiah
    amount = f"{total + what.fee_rupiah}.00"
    content: dict[str, Any] = {
        "transaction_time": what.occurred_at.astimezone(JAKARTA).strftime("%Y-%m-%d %H:%M:%S"),
        "transaction_status": word,
        "transaction_id": what.transaction_id,
        "status_code": "200",
        "order_id": what.order_number,
        "gross_amount": amount,
        "currency": "IDR",
        "signature_key": sign(secret, what.order_number, "200", amount),
    } | with_fee(total, what.fee_rupiah)
    if is_refund:
        content |= {"refund_key": what.refund_id or what.event_id, "refund_amount": f"{what.amount_rupiah}.00"}
    return SignedRequest(SETTINGS.webhook_path, compact_json(**content), {})


SAMPLE = Sample(
    _request,
    words={
        EventStatus.PAID: "settlement",
        EventStatus.FAILED: "deny",
        EventStatus.EXPIRED: "expire",
        EventStatus.REFUNDED: "refund",
        EventStatus.PARTIALLY_REFUNDED: "partial_refund",
        EventStatus.VOIDED: "cancel",
    },
    adds_fee=True,
)
