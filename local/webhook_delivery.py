"""How webhooks of payment gateways reach the shop: in the good and the bad ways that gateways have."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from local.loopback import LoopbackClient
from local.state import Secrets
from local.webhook_secrets import webhook_secret
from local.webhooks import Occurrence, signed

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


@dataclass(frozen=True)
class Signer:
    """What one gateway signs with, and what a forger would."""

    gateway: str
    secret: str
    other_secret: str

    @staticmethod
    def of(gateway: str, secrets: Secrets) -> "Signer":
        """Return that of the local system."""
        return Signer(gateway, webhook_secret(secrets, gateway), webhook_secret(secrets, f"{gateway} forged"))


def deliver(what: Occurrence, delivery: Delivery, *, signer: Signer, shop: LoopbackClient) -> list[Told]:
    """Tell the shop of an occurrence and return each answer."""
    now = datetime.now(UTC)
    request = signed(
        signer.gateway,
        what,
        secret=signer.other_secret if delivery is Delivery.FORGED else signer.secret,
        sent_at=now - _LATE if delivery is Delivery.LATE else now,
    )
    told = []
    for _ in range(2 if delivery is Delivery.TWICE else 1):
        try:
            answer = shop.call("POST", request.path, request.body, request.headers)
            told.append(Told(answer.status, answer.body))
        except (OSError, ValueError) as error:
            told.append(Told(0, type(error).__name__))
    return told
