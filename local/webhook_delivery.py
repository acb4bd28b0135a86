"""How webhooks of payment gateways reach the shop: in the good and the bad ways that gateways have."""

import base64
import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from emulator.loopback.client import LoopbackClient
from local.errors import LocalSystemError
from local.settings import PAYMENT_API
from local.state import Secrets
from local.webhook_secrets import webhook_secret
from skincare.payments.gateways.samples import Occurrence, signed

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
class ShopAnswer:
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


def note_at_gateway(client: LoopbackClient, gateway: str, what: Occurrence, *, key: str) -> Occurrence:
    """Let a local gateway that the shop will ask know of an occurrence; return it as that gateway calls it.

    Raises `LocalSystemError`.
    """
    body = {
        "event_id": what.event_id,
        "order_number": what.order_number,
        "transaction_id": what.transaction_id,
        "status": what.status,
        "amount_rupiah": what.amount_rupiah,
        "occurred_at": what.occurred_at.isoformat(),
        "fee_rupiah": what.fee_rupiah,
    }
    login = "Basic " + base64.b64encode(f"{key}:".encode()).decode()
    try:
        answer = client.call(
            "POST", f"{PAYMENT_API}/{gateway}/happenings", json.dumps(body).encode(), {"Authorization": login}
        )
    except (OSError, ValueError) as error:
        raise LocalSystemError(f"The local system does not answer ({type(error).__name__}).") from error
    if answer.status != 201:
        raise LocalSystemError(f"The local {gateway} refuses: {answer.body['detail']}")
    return what.about(answer.body["reference"], total_rupiah=answer.body["total_rupiah"])


def deliver(what: Occurrence, delivery: Delivery, *, signer: Signer, shop: LoopbackClient) -> list[ShopAnswer]:
    """Tell the shop of an occurrence and return each answer."""
    now = datetime.now(UTC)
    request = signed(
        signer.gateway,
        what,
        secret=signer.other_secret if delivery is Delivery.FORGED else signer.secret,
        sent_at=now - _LATE if delivery is Delivery.LATE else now,
    )
    answers = []
    for _ in range(2 if delivery is Delivery.TWICE else 1):
        try:
            answer = shop.call("POST", request.path, request.body, request.headers)
            answers.append(ShopAnswer(answer.status, answer.body))
        except (OSError, ValueError) as error:
            answers.append(ShopAnswer(0, type(error).__name__))
    return answers
