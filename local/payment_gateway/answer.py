"""What a gateway answers its shop."""

from dataclasses import dataclass, field
from typing import Any

from local.payment_gateway.payment_store import Entry, Payment


@dataclass(frozen=True)
class Answer:
    """An HTTP status and JSON. `event` is what a webhook reports to the shop, after the answer."""

    status: int
    body: Any = field(repr=False)
    event: tuple[Payment, Entry] | None = None
