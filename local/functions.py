"""The Lambda functions of the shop as the local system runs them: the same code, handlers and limits."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from emulator.functions.function import FunctionDefinition
from emulator.settings import aws_credentials, inherited_environment
from local.queues import queue_urls
from local.settings import ROOT
from local.webhook_secrets import secret_ids
from skincare.deployment import functions
from skincare.deployment.functions import FunctionLimits
from skincare.deployment.queues import QueueName

MAIL_FROM = "shop@example.com"
INVOICE_BUCKET = "skincare-invoices"

# An invented one, for this machine only.
_SELLER = {
    "SELLER_NAME": "PT Contoh Skincare",
    "SELLER_ADDRESS": "Jalan Contoh No. 1\nJakarta 12345\nIndonesia",
    "SELLER_TAX_ID": "00.000.000.0-000.000",
}
_FILES = {"INVOICE_BUCKET": INVOICE_BUCKET}

ONCALL = "skincare-local-oncall"
"""What the on-call function is invoked as: `skincare-<stage>-oncall`, as on AWS."""

_CODE = ROOT / "functions"
_LAYER = ROOT / "layers" / "shared" / "python"


@dataclass(frozen=True)
class Surroundings:
    """Where the functions find the database and AWS. The database's owner is known to the migrator only."""

    database_url: str = field(repr=False)
    aws_endpoint_url: str
    payment_gateway_url: str = ""
    """Without one nobody can pay."""
    payment_gateway: str = "standard_webhooks"
    """Where customers are sent to."""

    def api(self) -> FunctionDefinition:
        environment = {**self._environment(), **self._gateways(), **_FILES, "SERVES_CUSTOMERS": "true"}
        return _function("api", "api", functions.API, environment)

    def worker(self, queue: QueueName) -> FunctionDefinition:
        environment = {**self._environment(), **self._gateways(), "WORKER_QUEUE": queue.value}
        if queue is QueueName.DOCUMENTS:
            environment |= _FILES | _SELLER
        return _function(f"worker-{queue}", "worker", functions.worker(queue), environment)

    def relay(self) -> FunctionDefinition:
        return _function("outbox-relay", "outbox_relay", functions.OUTBOX_RELAY, self._environment())

    def oncall(self) -> FunctionDefinition:
        return _function("oncall", "oncall", functions.ONCALL, self._environment())

    def _gateways(self) -> dict[str, str]:
        return {
            "PAYMENT_GATEWAY": self.payment_gateway,
            "GATEWAY_URL_STANDARD_WEBHOOKS": self.payment_gateway_url,
            "GATEWAY_URL_MIDTRANS": self.payment_gateway_url and f"{self.payment_gateway_url}/midtrans",
            "GATEWAY_URL_XENDIT": self.payment_gateway_url and f"{self.payment_gateway_url}/xendit",
            **secret_ids(),
        }

    def _environment(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self.aws_endpoint_url,
            "DATABASE_URL": self.database_url,
            "MAIL_FROM": MAIL_FROM,
            "SHOP_URL": "https://shop.example.com",
            "PAYMENT_WINDOW_BANK_TRANSFER_MINUTES": "1440",
            "PAYMENT_WINDOW_COUNTER_MINUTES": "1440",
            **queue_urls(self.aws_endpoint_url),
        }


def migrator(owner_url: str) -> FunctionDefinition:
    """Return the function that brings the schema up to date before the others are let in."""
    return _function("migrator", "migrator", functions.MIGRATOR, {"DATABASE_URL": owner_url})


def _function(name: str, package: str, limits: FunctionLimits, environment: Mapping[str, str]) -> FunctionDefinition:
    return FunctionDefinition(
        name=name,
        handler=f"{package}.lambda_function.lambda_handler",
        timeout=limits.timeout,
        memory_mb=limits.memory_mb,
        code=_CODE,
        environment={
            **inherited_environment(),
            **aws_credentials(),
            "PYTHONPATH": f"{_CODE}:{_LAYER}",
            "POWERTOOLS_SERVICE_NAME": "skincare",
            "STAGE": "local",
            **environment,
        },
    )
