"""What payments need from the outside: one reader of webhooks and one client per gateway, and their secrets."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from skincare.payments.models import Attempt, Closing, GatewayEvent, Refund, Report, Webhook


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


class GatewayClient(Protocol):
    """Asks one gateway over its own API, outside any transaction and never longer than `payments.deadline` allows.

    Each method raises `GatewayUnavailable` where asking again may help, among them `GatewayMisconfigured` where a
    setting of ours is in the way, and `GatewayRefused` where it will not.
    """

    name: str
    """As in `Gateway.name`."""

    def start(self, attempt: Attempt) -> str:
        """Ask the gateway to collect money; return the URL of the page where the customer pays.

        Asked again for the same attempt, it answers the same or another page for the same money, never a second debt.
        Raises `ReferenceTaken` where it starts nothing under this reference any more.
        """
        ...

    def transactions(self, attempt: Attempt, transaction_ids: Collection[str] = ()) -> Sequence[Report]:
        """Return what the gateway knows of an attempt now, one report per transaction.

        `transaction_ids` are those that events about the attempt named: a gateway may know some ways to pay by
        these alone, so that without them nothing found does not mean that nothing was paid. One that turns out to
        belong to something else is left out. Of a transaction that was refunded or charged back there is one report
        for the payment, one for each refund and one for the chargeback.
        """
        ...

    def close(self, attempt: Attempt, transaction_ids: Collection[str] = ()) -> Closing:
        """Let nobody pay an attempt any more, and say what came of it. Harmless when it is asked for again."""
        ...

    def refund(self, refund: Refund) -> None:
        """Give money back. `refund.key` makes a second call with it harmless; the refund's event tells the outcome.

        Raises `RefundTooEarly` where the payment must be settled first.
        """
        ...


Gateways = Mapping[str, GatewayClient]
"""The gateways that can be asked, by name: those whose address is configured."""
