"""Webhooks as payment gateways send them, really signed: for trying out what the shop does about them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from skincare.payments.gateways import part
from skincare.payments.models import REFUNDS


@dataclass(frozen=True)
class Occurrence:
    """What happened at the gateway. `event_id` makes it one event, however often it is sent."""

    event_id: str
    order_number: str
    transaction_id: str
    status: str
    amount_rupiah: int
    occurred_at: datetime
    refund_id: str | None = None
    total_rupiah: int | None = None
    """What the whole payment is about, where that is known."""
    fee_rupiah: int = 0
    """What the customer pays on top of the order's price, where `Sample.adds_fee`."""

    @property
    def refund_key(self) -> str | None:
        """What names a refund; None for any other occurrence."""
        is_refund = self.status in REFUNDS
        return self.refund_id or (self.event_id if is_refund else None)

    def about(self, reference: str, *, total_rupiah: int) -> "Occurrence":
        """Return it as a gateway tells it that knows an attempt by its reference."""
        return replace(self, order_number=reference, total_rupiah=total_rupiah)


@dataclass(frozen=True)
class SignedRequest:
    """A request that a gateway would make."""

    path: str
    body: bytes
    headers: dict[str, str]


@dataclass(frozen=True)
class Sample:
    """How one gateway reports an occurrence: `request` takes it with its word, the secret and the time of sending."""

    request: Callable[[Occurrence, str, str, datetime], SignedRequest]
    words: Mapping[str, str] = field(default_factory=dict)
    """What it calls a status. A word that is not here is sent as it is."""
    signs_time: bool = False
    adds_fee: bool = False
    """It can put its fee on top of the price for the customer to pay."""
    key_prefix: str = ""
    """What its secrets begin with, before base64."""


def sample(gateway: str) -> Sample:
    """Return that of a gateway."""
    found: Sample = part(gateway, "sample").SAMPLE
    return found


def signed(gateway: str, what: Occurrence, *, secret: str, sent_at: datetime) -> SignedRequest:
    """Return the request of a gateway about an occurrence."""
    return sample(gateway).request(what, native_status(gateway, what.status), secret, sent_at)


def native_status(gateway: str, status: str) -> str:
    """Return what a gateway calls a status; a word of its own stays."""
    return sample(gateway).words.get(status, status)


def status_of(gateway: str, word: str) -> str:
    """Return what a gateway's word means where it is one that we send; otherwise the word."""
    return next((status for status, other in sample(gateway).words.items() if other == word), word)


def compact_json(**content: Any) -> bytes:
    """Return an object without a blank between its members."""
    return json.dumps(content, separators=(",", ":")).encode()
