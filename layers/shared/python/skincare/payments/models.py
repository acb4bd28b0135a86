"""What a payment gateway tells us, in one shape for all of them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import NewType
from uuid import UUID

EventId = NewType("EventId", UUID)

_REFERENCE = re.compile(r"(?P<order_number>.+)\.(?P<attempt_no>[1-9][0-9]{0,8})", re.DOTALL)


class EventStatus(StrEnum):
    """What happened to one transaction at the gateway."""

    PENDING = "pending"
    PAID = "paid"
    FAILED = "failed"
    EXPIRED = "expired"
    REFUNDED = "refunded"
    PARTIALLY_REFUNDED = "partially_refunded"
    CHARGEBACK = "chargeback"
    VOIDED = "voided"
    """The gateway called it off: what came of it went back, and nothing comes any more."""


REFUNDS = frozenset({EventStatus.REFUNDED, EventStatus.PARTIALLY_REFUNDED})


class EventState(StrEnum):
    """What became of a stored event."""

    RECEIVED = "received"
    APPLIED = "applied"
    IGNORED = "ignored"
    """Nothing of ours follows from it."""
    QUARANTINED = "quarantined"
    """A person must look at it."""


class EventSource(StrEnum):
    """How we got to know of an event."""

    WEBHOOK = "webhook"
    ANSWER = "answer"
    """The gateway said it when we asked."""


class Closing(StrEnum):
    """What became of an attempt that a gateway was asked to close."""

    PAID = "paid"
    """It is too late: somebody has paid."""
    UNDER_WAY = "under_way"
    """Somebody is paying, and the gateway does not stop that."""
    CLOSED = "closed"
    """Nobody can pay it any more."""
    UNKNOWN = "unknown"
    """The gateway knows of nobody who chose how to pay; its page ends with its own time."""


@dataclass(frozen=True)
class Webhook:
    """A request as it arrived: `body` holds the bytes that were signed.

    Header names are lower case, and a header that was sent twice is joined by a comma. `path` is the one
    that the gateway called, in front of any stage or mapping of ours.
    """

    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    path: str


@dataclass(frozen=True)
class Report:
    """What a gateway's event says. `amount_rupiah` is as reported: zero and less are possible.

    Of a refund it is what this refund gives back, and `refund_key` tells it from the others.
    `attempt_no` is None where the gateway knows the order by its bare number.
    """

    order_number: str
    transaction_id: str
    reported_status: str
    status: EventStatus | None
    """None: a word of the gateway that means nothing to us."""
    amount_rupiah: int
    currency: str
    occurred_at: datetime | None
    refund_key: str | None = None
    attempt_no: int | None = None


@dataclass(frozen=True)
class GatewayEvent:
    """A webhook whose signature is right. `key` is the same for every copy of one event.

    `headers` are those that belong to the evidence and hold no secret. With a `flaw` the event waits for a
    person, who sees why without a word of what was sent. Without a report and a flaw it is not about a payment.
    """

    key: str
    headers: Mapping[str, str]
    report: Report | None
    flaw: str | None = None
    merchant_id: str | None = None
    """The account that it is about, where the gateway names one."""

    @property
    def state(self) -> EventState:
        if self.flaw is not None:
            return EventState.QUARANTINED
        known = self.report is not None and self.report.status is not None
        return EventState.RECEIVED if known else EventState.IGNORED


@dataclass(frozen=True)
class Attempt:
    """One time that a customer was sent to a gateway to pay an order."""

    order_number: str
    attempt_no: int
    amount_rupiah: int
    expires_at: datetime

    @property
    def reference(self) -> str:
        """What the gateway knows it by: letters, digits, `-` and `.`, never used twice (Midtrans: `order_id`)."""
        return f"{self.order_number}.{self.attempt_no}"


def attempt_named(reference: str) -> tuple[str, int | None]:
    """Return the order number and the attempt of a `reference`; a bare order number has no attempt."""
    match = _REFERENCE.fullmatch(reference)
    return (match["order_number"], int(match["attempt_no"])) if match else (reference, None)


@dataclass(frozen=True)
class Refund:
    """Money of one transaction that goes back. `key` is ours, the same for every try of this refund."""

    order_number: str
    transaction_id: str
    amount_rupiah: int
    key: str
    reason: str
