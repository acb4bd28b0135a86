"""The Lambda functions of the shop as the local system runs them: the same code, handlers and limits."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from local.function import FunctionDefinition
from local.queues import queue_urls
from local.settings import ROOT, aws_credentials, inherited_environment
from local.webhook_secrets import secret_ids
from skincare.jobs.queues import QueueName

MAIL_FROM = "shop@example.com"
INVOICE_BUCKET = "skincare-invoices"

_FILES = {"INVOICE_BUCKET": INVOICE_BUCKET}

ONCALL = "skincare-local-oncall"
"""What the on-call function is invoked as: `skincare-<stage>-oncall`, as on AWS."""

_CODE = ROOT / "functions"
_LAYER = ROOT / "layers" / "shared" / "python"

_API_TIMEOUT = timedelta(seconds=20)
_RELAY_TIMEOUT = timedelta(seconds=50)
_ONCALL_TIMEOUT = timedelta(seconds=30)
_MIGRATOR_TIMEOUT = timedelta(minutes=5)


@dataclass(frozen=True)
class Surroundings:
    """Where the functions find the database and AWS. The database's owner is known to the migrator only."""

    database_url: str = field(repr=False)
    aws_endpoint_url: str
    payment_gateway_url: str = ""
    """Without one nobody can pay."""

    def api(self) -> FunctionDefinition:
        environment = {**self._environment(), **self._gateways(), **_FILES, "SERVES_CUSTOMERS": "true"}
        return _function("api", "api", _API_TIMEOUT, environment)

    def worker(self, queue: QueueName) -> FunctionDefinition:
        environment = {**self._environment(), **self._gateways(), "WORKER_QUEUE": queue.value}
        if queue is QueueName.DOCUMENTS:
            environment |= _FILES
        return _function(f"worker-{queue}", "worker", queue.limits.function_timeout, environment)

    def relay(self) -> FunctionDefinition:
        return _function("outbox-relay", "outbox_relay", _RELAY_TIMEOUT, self._environment())

    def oncall(self) -> FunctionDefinition:
        return _function("oncall", "oncall", _ONCALL_TIMEOUT, self._environment())

    def _gateways(self) -> dict[str, str]:
        return {
            "PAYMENT_GATEWAY": "standard_webhooks",
            "GATEWAY_URL_STANDARD_WEBHOOKS": self.payment_gateway_url,
            **secret_ids(),
        }

    def _environment(self) -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": self.aws_endpoint_url,
            "DATABASE_URL": self.database_url,
            "MAIL_FROM": MAIL_FROM,
            "SHOP_URL": "https://shop.example.com",
            **queue_urls(self.aws_endpoint_url),
        }


def migrator(owner_url: str) -> FunctionDefinition:
    """Return the function that brings the schema up to date before the others are let in."""
    return _function("migrator", "migrator", _MIGRATOR_TIMEOUT, {"DATABASE_URL": owner_url})


def _function(
    name: str, package: str, timeout: timedelta, environment: Mapping[str, str], *, memory_mb: int = 512
) -> FunctionDefinition:
    return FunctionDefinition(
        name=name,
        handler=f"{package}.lambda_function.lambda_handler",
        timeout=timeout,
        memory_mb=memory_mb,
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
