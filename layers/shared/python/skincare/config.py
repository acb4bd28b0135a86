"""Settings: the only place that reads the environment."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from skincare.errors import ConfigurationError

# Minutes. A customer needs a moment to pay, and stock must not be held for nothing longer than a day.
_SHORTEST_WINDOW = 15
_LONGEST_WINDOW = 24 * 60


@dataclass(frozen=True)
class AwsKeys:
    """Credentials for AWS. In Lambda they are those of the function's role and hold as long as its container."""

    access_key_id: str = field(repr=False)
    secret_access_key: str = field(repr=False)
    session_token: str | None = field(repr=False, default=None)


@dataclass(frozen=True)
class Settings:
    """The settings of one function, from its environment: `skincare.deployment.functions` says what each is given.

    Whoever needs a setting that is no need of the function as such asks for it by `require`.
    """

    stage: str
    release: str
    database_url: str = field(repr=False)
    """A libpq URL; without a password where DATABASE_SECRET_ID names the secret that holds it."""
    database_secret_id: str | None
    database_iam_auth: bool
    """Functions log in with a token of IAM: the URL names the user and has no password."""
    aws_endpoint_url: str | None
    """Only the local system sets it: every AWS client talks to that address."""
    aws_region: str | None
    aws_keys: AwsKeys | None
    """None where the environment has none, as in a person's shell: the SDK may still find some."""
    source_queue_urls: Mapping[str, str]
    """Queue name to URL, from QUEUE_URL_<NAME>; likewise DEAD_LETTER_QUEUE_URL_<NAME>."""
    dead_letter_queue_urls: Mapping[str, str]
    serves_customers: bool
    """A customer waits for this function's answer: calls to AWS get the shortest of timeouts."""
    worker_queue: str | None
    """The queue that a worker function drains."""
    mail_from: str | None
    mail_configuration_set: str | None
    mail_reply_to: str | None
    """Where a customer's answer to a mail goes; without it to MAIL_FROM."""
    shop_url: str
    webhook_secret_ids: Mapping[str, str]
    """Payment gateway to the secret that holds its signing secrets, from WEBHOOK_SECRET_ID_<GATEWAY>."""
    payment_gateway: str | None
    """The gateway that customers are sent to."""
    gateway_urls: Mapping[str, str]
    """Payment gateway to the address of its API, from GATEWAY_URL_<GATEWAY>."""
    merchant_ids: Mapping[str, str]
    """Payment gateway to our account there, from MERCHANT_ID_<GATEWAY>: events about another one move no money."""
    public_path_prefix: str
    """What callers put before our own paths, such as the mapping of a custom domain: some gateways sign it."""
    invoice_bucket: str | None
    seller_name: str | None
    """Who stands on invoices, with address and tax id: none is made up, for an invoice that was sent stays."""
    seller_address: str | None
    seller_tax_id: str | None
    seller_email: str | None
    seller_phone: str | None
    """Where customers reach the seller, as mails and documents name it."""
    tax_percent: int
    """The part of each price that is tax, in percent of the price without it; 0 names no tax."""
    payment_window_minutes: int
    """How long after its checkout an order may be paid; up to a day."""
    bank_transfer_window_minutes: int
    """The same for whoever starts a payment by bank transfer; not shorter. Likewise over a store's counter."""
    counter_window_minutes: int
    open_order_limit: int
    """How many unpaid orders a customer may have."""
    open_unit_limit: int
    """How many units of one product a customer may have in all unpaid orders together."""

    @staticmethod
    def from_env(environ: Mapping[str, str] | None = None, *, needs: Iterable[str] = ()) -> "Settings":
        """Read the settings; raises `ConfigurationError` naming the first variable of `needs` that is missing."""
        env = os.environ if environ is None else environ
        for variable in needs:
            _required(env, variable)
        window = _whole(env, "PAYMENT_WINDOW_MINUTES", 60, lowest=_SHORTEST_WINDOW, highest=_LONGEST_WINDOW)
        return Settings(
            stage=env.get("STAGE", "local"),
            release=env.get("RELEASE", "unreleased"),
            database_url=_required(env, "DATABASE_URL"),
            database_secret_id=env.get("DATABASE_SECRET_ID") or None,
            database_iam_auth=env.get("DATABASE_IAM_AUTH") == "true",
            aws_endpoint_url=env.get("AWS_ENDPOINT_URL") or None,
            aws_region=env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION") or None,
            aws_keys=_aws_keys(env),
            source_queue_urls=_by_suffix(env, "QUEUE_URL_"),
            dead_letter_queue_urls=_by_suffix(env, "DEAD_LETTER_QUEUE_URL_"),
            serves_customers=env.get("SERVES_CUSTOMERS") == "true",
            worker_queue=env.get("WORKER_QUEUE") or None,
            mail_from=env.get("MAIL_FROM") or None,
            mail_configuration_set=env.get("MAIL_CONFIGURATION_SET") or None,
            mail_reply_to=env.get("MAIL_REPLY_TO") or None,
            shop_url=env.get("SHOP_URL", "https://shop.example.com"),
            webhook_secret_ids=_by_suffix(env, "WEBHOOK_SECRET_ID_"),
            payment_gateway=env.get("PAYMENT_GATEWAY") or None,
            gateway_urls=_by_suffix(env, "GATEWAY_URL_"),
            merchant_ids=_by_suffix(env, "MERCHANT_ID_"),
            public_path_prefix=env.get("PUBLIC_PATH_PREFIX", "").rstrip("/"),
            invoice_bucket=env.get("INVOICE_BUCKET") or None,
            seller_name=env.get("SELLER_NAME") or None,
            seller_address=env.get("SELLER_ADDRESS") or None,
            seller_tax_id=env.get("SELLER_TAX_ID") or None,
            seller_email=env.get("SELLER_EMAIL") or None,
            seller_phone=env.get("SELLER_PHONE") or None,
            tax_percent=_whole(env, "TAX_PERCENT", 11, lowest=0, highest=100),
            payment_window_minutes=window,
            bank_transfer_window_minutes=_whole(
                env, "PAYMENT_WINDOW_BANK_TRANSFER_MINUTES", window, lowest=window, highest=_LONGEST_WINDOW
            ),
            counter_window_minutes=_whole(
                env, "PAYMENT_WINDOW_COUNTER_MINUTES", window, lowest=window, highest=_LONGEST_WINDOW
            ),
            open_order_limit=_whole(env, "OPEN_ORDER_LIMIT", 3, lowest=1, highest=1_000),
            open_unit_limit=_whole(env, "OPEN_UNIT_LIMIT", 10, lowest=1, highest=100_000),
        )


def require[T](value: T | None, variable: str) -> T:
    """Return the setting, or raise `ConfigurationError` naming the variable that should hold it."""
    if value is None:
        raise ConfigurationError(f"the environment variable {variable} is not set")
    return value


def _required(env: Mapping[str, str], variable: str) -> str:
    return require(env.get(variable) or None, variable)


def _whole(env: Mapping[str, str], variable: str, default: int, *, lowest: int, highest: int) -> int:
    text = env.get(variable) or str(default)
    if not (text.isascii() and text.isdigit() and len(text) <= 9 and lowest <= int(text) <= highest):
        raise ConfigurationError(f"the environment variable {variable} is no whole number from {lowest} to {highest}")
    return int(text)


def _aws_keys(env: Mapping[str, str]) -> AwsKeys | None:
    access_key_id, secret = env.get("AWS_ACCESS_KEY_ID"), env.get("AWS_SECRET_ACCESS_KEY")
    if not access_key_id or not secret:
        return None
    return AwsKeys(access_key_id, secret, env.get("AWS_SESSION_TOKEN") or None)


def _by_suffix(env: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {
        name.removeprefix(prefix).lower(): value for name, value in env.items() if name.startswith(prefix) and value
    }
