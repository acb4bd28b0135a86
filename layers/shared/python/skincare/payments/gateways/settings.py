"""What is set of a payment gateway, by the names that environments and secrets use. Standard library only."""

from dataclasses import dataclass

WEBHOOK_PATH = "/v1/payments/webhook"
"""Below it each gateway has a path of its own."""


@dataclass(frozen=True, kw_only=True)
class GatewaySettings:
    """One gateway. The secret that its webhooks are signed with has its name."""

    name: str
    """That of its folder: lower-case letters, digits and underscores. Never renamed."""
    title: str
    """What people call it."""
    asked_with: str | None = None
    """The name of the secret with the keys of its API; None where it cannot be asked: there is no client."""
    urls: tuple[str, ...] = ()
    """The addresses of its API as in GATEWAY_URL_<NAME>; without the first it is not asked."""
    names_merchant: bool = False
    """Its events say whose they are, so that MERCHANT_ID_<GATEWAY> can be held against them."""
    webhook_path: str = ""
    """Where its webhooks arrive: below `WEBHOOK_PATH` by its name, unless another is said."""

    def __post_init__(self) -> None:
        if not self.webhook_path:
            object.__setattr__(self, "webhook_path", f"{WEBHOOK_PATH}/{self.name}")

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of its secrets, each as in WEBHOOK_SECRET_ID_<NAME>."""
        return (self.name,) if self.asked_with in {None, self.name} else (self.name, str(self.asked_with))
