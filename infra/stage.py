"""The stages: everything in which dev, staging and prod differ, and what a team changes to make them its own."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from skincare.deployment.functions import FUNCTIONS
from skincare.payments.gateways import GATEWAYS


class StageUnknown(Exception):
    """`-c stage=…` names none of the stages."""

    def __init__(self, name: object) -> None:
        said = "no stage is named" if name is None else f"there is no stage '{name}'"
        super().__init__(f"{said}: choose one with -c stage={'|'.join(STAGES)}")


@dataclass(frozen=True, kw_only=True)
class TokenIssuer:
    """Who signs the tokens of customers (OpenID Connect). The gateway fetches its keys over the internet."""

    issuer: str
    """The URL in a token's `iss`."""
    audience: str
    """What a token's `aud` or `client_id` must be."""


@dataclass(frozen=True, kw_only=True)
class DatabaseSize:
    """The PostgreSQL instance."""

    instance: str
    """An RDS instance class without its `db.`; Graviton ones are the cheaper."""
    storage_gib: int
    storage_limit_gib: int
    """Storage grows by itself up to this."""
    max_connections: int
    """A setting of the server; what all functions together may open is less (a test adds it up)."""
    multi_az: bool
    proxy: bool
    """RDS Proxy in front: a failover costs seconds, and a burst of containers opens no connections of its own."""
    backup_days: int
    advanced_insights: bool = False
    """Database Insights for 15 months instead of 7 days."""


@dataclass(frozen=True, kw_only=True)
class UnpaidOrders:
    """How long an order holds its stock unpaid, and how much one customer may hold."""

    window_minutes: int = 60
    """From the checkout on; 15 to 1440."""
    bank_transfer_minutes: int = 60
    """The same for whoever pays by bank transfer, or over a store's counter; not less than `window_minutes`."""
    counter_minutes: int = 60
    orders_per_customer: int = 3
    units_per_product: int = 10
    """Of one product, in all unpaid orders of a customer together."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One deployment of the shop, with names of its own: two stages fit into one account."""

    name: str
    shop_url: str
    cors_origins: tuple[str, ...]
    """The origins of the pages that may call the API."""
    mail_domain: str
    """The domain that SES verifies; its DKIM records are outputs of the Data stack."""
    mail_from: str
    alarm_mail: str | None
    """Where alarms are mailed; None leaves the topic without a subscriber."""
    token_issuer: TokenIssuer | None
    """None: the Api stack makes a Cognito user pool."""
    database: DatabaseSize
    restore_from_snapshot: str | None = None
    """A snapshot that replaces the database at the next deploy: docs/deploy.md, "Restore"."""
    api_concurrency: int
    """Containers of the API function."""
    nat_gateways: int
    endpoints: bool
    """SQS and Secrets Manager by private endpoints, so that a checkout does not depend on a NAT gateway."""
    log_days: int
    keep_data: bool
    """Database, bucket and secrets survive the stack, which cannot be deleted by mistake either."""
    canary: bool
    """A new API gets a tenth of the traffic first, and none if its alarms fire."""
    gateways: tuple[str, ...] = tuple(GATEWAYS)
    """The payment gateways that may send webhooks; each has a secret of its own (infra/gateway_secrets.py)."""
    payment_gateway: str | None = None
    """The gateway that customers are sent to."""
    gateway_urls: Mapping[str, str] = field(default_factory=dict)
    """Payment gateway to the address of its API."""
    merchant_ids: Mapping[str, str] = field(default_factory=dict)
    """Payment gateway to our account there."""
    unpaid_orders: UnpaidOrders = UnpaidOrders()
    settings: Mapping[str, str] = field(default_factory=dict)
    """Further settings, such as the seller's name on invoices. Each function is given those that are for it."""

    def __post_init__(self) -> None:
        if not self.mail_from.endswith(f"@{self.mail_domain}"):
            raise ValueError(f"{self.mail_from} is not at {self.mail_domain}, for which SES is set up")
        _only("gateway_urls", self.gateway_urls, {url for name in self.gateways for url in GATEWAYS[name].urls})
        _only("merchant_ids", self.merchant_ids, {name for name in self.gateways if GATEWAYS[name].names_merchant})
        if unknown := [name for name in self.settings if not any(each.is_given(name) for each in FUNCTIONS)]:
            raise ValueError(f"no function of {self.name} is given {', '.join(unknown)}: see docs/settings.md")


def _only(setting: str, given: Collection[str], known: Collection[str]) -> None:
    """Raise `ValueError` where a setting names something that nobody would read."""
    if unknown := set(given) - set(known):
        raise ValueError(f"{setting} names {', '.join(sorted(unknown))}: only {', '.join(sorted(known))} would be read")


_INVENTED_SELLER = {
    "SELLER_NAME": "PT Contoh Skincare",
    "SELLER_ADDRESS": "Jalan Contoh No. 1\nJakarta 12345\nIndonesia",
    "SELLER_TAX_ID": "00.000.000.0-000.000",
}
"""For stages where nothing is sold. Where something is, `settings` must name the real one, or no invoice is made."""

DEV = Stage(
    name="dev",
    shop_url="https://shop-dev.example.com",
    cors_origins=("https://shop-dev.example.com", "http://localhost:3000", "http://localhost:5173"),
    mail_domain="dev.example.com",
    mail_from="shop@dev.example.com",
    alarm_mail=None,
    token_issuer=None,
    database=DatabaseSize(
        instance="t4g.micro",
        storage_gib=20,
        storage_limit_gib=50,
        max_connections=100,
        multi_az=False,
        proxy=False,
        backup_days=1,
    ),
    api_concurrency=10,
    nat_gateways=1,
    endpoints=False,
    log_days=7,
    keep_data=False,
    canary=False,
    settings=_INVENTED_SELLER,
)

STAGING = Stage(
    name="staging",
    shop_url="https://shop-staging.example.com",
    cors_origins=("https://shop-staging.example.com",),
    mail_domain="staging.example.com",
    mail_from="shop@staging.example.com",
    alarm_mail="on-call@example.com",
    token_issuer=None,
    database=DatabaseSize(
        instance="t4g.small",
        storage_gib=20,
        storage_limit_gib=100,
        max_connections=180,
        multi_az=False,
        proxy=True,
        backup_days=7,
    ),
    api_concurrency=40,
    nat_gateways=1,
    endpoints=False,
    log_days=30,
    keep_data=False,
    canary=True,
    settings=_INVENTED_SELLER,
)

PROD = Stage(
    name="prod",
    shop_url="https://shop.example.com",
    cors_origins=("https://shop.example.com",),
    mail_domain="example.com",
    mail_from="shop@example.com",
    alarm_mail="on-call@example.com",
    token_issuer=None,
    database=DatabaseSize(
        instance="m7g.large",
        storage_gib=100,
        storage_limit_gib=1000,
        max_connections=500,
        multi_az=True,
        proxy=True,
        backup_days=30,
        advanced_insights=True,
    ),
    api_concurrency=200,
    nat_gateways=2,
    endpoints=True,
    log_days=90,
    keep_data=True,
    canary=True,
)

STAGES = {stage.name: stage for stage in (DEV, STAGING, PROD)}


def stage_named(name: object) -> Stage:
    """Return a stage; raises `StageUnknown`, whose message says what to type."""
    stage = STAGES.get(name) if isinstance(name, str) else None
    if stage is None:
        raise StageUnknown(name)
    return stage
