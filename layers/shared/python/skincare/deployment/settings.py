"""The settings that functions are given as environment variables. `functions` says which function gets which."""

from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class Setting:
    """One variable, or with `*` at its end one for each payment gateway or queue.

    A function that lacks a `needed` one does not start; any other has a default, or is missed where it is used.
    """

    name: str
    meaning: str
    needed: bool = False

    def is_of(self, variable: str) -> bool:
        """Say whether a variable holds this setting."""
        return fnmatchcase(variable, self.name)


EVERYWHERE = (
    Setting("DATABASE_URL", "a libpq URL; without a password where another setting says how to log in", needed=True),
    Setting("STAGE", "the name of the stage, which metrics carry; `local` without it"),
    Setting("RELEASE", "what logs and dead letters name as the release"),
    Setting("POWERTOOLS_SERVICE_NAME", "the service that log lines name"),
)
TOKEN_LOGIN = (Setting("DATABASE_IAM_AUTH", "`true`: log in to the database with a token of IAM"),)
PASSWORD = (Setting("DATABASE_SECRET_ID", "the secret with the password of the database's owner"),)
MAIL = (
    Setting("MAIL_FROM", "the sender of mails", needed=True),
    Setting("SHOP_URL", "where links in mails lead", needed=True),
    Setting("MAIL_CONFIGURATION_SET", "the configuration set of SES, which reports bounces"),
    Setting("MAIL_REPLY_TO", "where an answer to a mail goes; to MAIL_FROM without it"),
)
CONTACT = (
    Setting("SELLER_NAME", "who sells; no invoice is made without it"),
    Setting("SELLER_ADDRESS", "the seller's address in lines; no invoice is made without it"),
    Setting("SELLER_EMAIL", "where customers reach the seller; every mail ends with it"),
    Setting("SELLER_PHONE", "likewise by telephone"),
)
TAX = (
    Setting("SELLER_TAX_ID", "the seller's tax number; no invoice is made without it"),
    Setting("TAX_PERCENT", "the tax that prices include, 11 by default; 0 leaves its line out"),
)
FILES = (Setting("INVOICE_BUCKET", "the bucket of invoices and credit notes", needed=True),)
GATEWAYS = (
    Setting("GATEWAY_URL_*", "the address of a payment gateway's API; without it nobody asks that gateway"),
    Setting("WEBHOOK_SECRET_ID_*", "the secret that a payment gateway and the shop share"),
)
PAYMENT_START = (
    Setting("PAYMENT_GATEWAY", "the gateway that customers are sent to"),
    Setting("MERCHANT_ID_*", "our account at a payment gateway; events about another one move no money"),
    Setting("PUBLIC_PATH_PREFIX", "what callers put before our own paths; some gateways sign it"),
)
UNPAID_ORDERS = (
    Setting("PAYMENT_WINDOW_MINUTES", "how long an order may be paid, 60 by default"),
    Setting("PAYMENT_WINDOW_BANK_TRANSFER_MINUTES", "the same by bank transfer; not shorter"),
    Setting("PAYMENT_WINDOW_COUNTER_MINUTES", "the same over a store's counter; not shorter"),
    Setting("OPEN_ORDER_LIMIT", "how many unpaid orders a customer may have, 3 by default"),
    Setting("OPEN_UNIT_LIMIT", "how many units of one product in all unpaid orders of a customer, 10 by default"),
)
CUSTOMERS = (Setting("SERVES_CUSTOMERS", "`true`: a customer waits, so calls to AWS get the shortest of timeouts"),)
WORKER = (Setting("WORKER_QUEUE", "the queue that the worker drains", needed=True),)
