"""What the intake of webhooks needs: one reader per gateway, and their secrets."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from skincare.payments.models import GatewayEvent, Webhook


class Gateway(Protocol):
    """Knows how one gateway signs its webhooks and what its words mean."""

    name: str
    """As in the path of its webhook: lower-case letters, digits and underscores. Never renamed."""
    status_is_signed: bool
    """Whether the signature covers what happened; otherwise the gateway must be asked before money moves."""

    def read(self, webhook: Webhook, secrets: Sequence[str], now: datetime) -> GatewayEvent:
        """Return the event, once any of the secrets proves that the gateway sent it.

        Raises `SignatureInvalid` and `WebhookMalformed`, and nothing else whatever the webhook holds.
        """
        ...


class SecretStore(Protocol):
    """The signing secrets that gateways share with us."""

    def secrets(self, gateway: str, *, fresh: bool = False) -> Sequence[str]:
        """Return the secrets that are valid now, several while one replaces the other.

        They come from a short cache unless `fresh` is asked for. Raises `SecretsUnavailable`, and
        `GatewayUnknown` where none are configured for this gateway.
        """
        ...
