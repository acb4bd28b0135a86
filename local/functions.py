"""The Lambda functions of the shop as the local system runs them: the same code, handlers and limits."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from emulator.functions.function import FunctionDefinition
from emulator.settings import aws_credentials, inherited_environment
from local.queues import queue_urls
from local.settings import PAYMENT_GATEWAYS, ROOT
from local.webhook_secrets import secret_ids
from skincare.deployment import functions
from skincare.deployment.functions import Function
from skincare.deployment.queues import QueueName

MAIL_FROM = "shop@example.com"
INVOICE_BUCKET = "skincare-invoices"

# An invented one, for this machine only.
_SELLER = {
    "SELLER_NAME": "PT Contoh Skincare",
    "SELLER_ADDRESS": "Jalan Contoh No. 1\nJakarta 12345\nIndonesia",
    "SELLER_TAX_ID": "00.000.000.0-000.000",
}

ONCALL = "skincare-local-oncall"
"""What the on-call function is invoked as: `skincare-<stage>-oncall`, as on AWS."""

_CODE = ROOT / "functions"
_LAYER = ROOT / "layers" / "shared" / "python"


@dataclass(frozen=True)
class LocalEnvironment:
    """Where the functions find the database and AWS. The database's owner is known to the migrator only."""

    database_url: str = field(repr=False)
    aws_endpoint_url: str
    payment_gateway_url: str = ""
    """Without one nobody can pay."""
    payment_gateway: str = "standard_webhooks"
    """Where customers are sent to."""

    def api(self) -> FunctionDefinition:
        return self._function(functions.API)

    def worker(self, queue: QueueName) -> FunctionDefinition:
        return self._function(functions.worker(queue), WORKER_QUEUE=queue.value)

    def relay(self) -> FunctionDefinition:
        return self._function(functions.OUTBOX_RELAY)

    def oncall(self) -> FunctionDefinition:
        return self._function(functions.ONCALL)

    def _function(self, function: Function, **more: str) -> FunctionDefinition:
        return _definition(function, {**self._settings(), **more}, AWS_ENDPOINT_URL=self.aws_endpoint_url)

    def _settings(self) -> dict[str, str]:
        return {
            "DATABASE_URL": self.database_url,
            "SERVES_CUSTOMERS": "true",
            "MAIL_FROM": MAIL_FROM,
            "SHOP_URL": "https://shop.example.com",
            "PAYMENT_WINDOW_BANK_TRANSFER_MINUTES": "1440",
            "PAYMENT_WINDOW_COUNTER_MINUTES": "1440",
            "INVOICE_BUCKET": INVOICE_BUCKET,
            "PAYMENT_GATEWAY": self.payment_gateway,
            **{
                f"GATEWAY_URL_{name.upper()}": self.payment_gateway_url and f"{self.payment_gateway_url}/{name}"
                for name in PAYMENT_GATEWAYS
            },
            **_SELLER,
            **secret_ids(),
            **queue_urls(self.aws_endpoint_url),
        }


def migrator(owner_url: str) -> FunctionDefinition:
    """Return the function that brings the schema up to date before the others are let in."""
    return _definition(functions.MIGRATOR, {"DATABASE_URL": owner_url})


def _definition(function: Function, settings: Mapping[str, str], **more: str) -> FunctionDefinition:
    """Return a function that is given those of the settings that are for it, and more whatever it is."""
    return FunctionDefinition(
        name=function.name,
        handler=function.handler,
        timeout=function.timeout,
        memory_mb=function.memory_mb,
        code=_CODE,
        environment={
            **inherited_environment(),
            **aws_credentials(),
            "PYTHONPATH": f"{_CODE}:{_LAYER}",
            "POWERTOOLS_SERVICE_NAME": "skincare",
            "STAGE": "local",
            **{name: value for name, value in settings.items() if function.is_given(name)},
            **more,
        },
    )
