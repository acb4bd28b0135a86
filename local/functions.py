"""The Lambda functions of the shop as the local system runs them: the same code, handlers and limits."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from local.function import FunctionDefinition
from local.queues import queue_urls
from local.settings import ROOT, aws_credentials, inherited_environment
from local.webhook_secrets import secret_ids
from skincare import function_limits
from skincare.function_limits import FunctionLimits
from skincare.jobs.queues import QueueName

MAIL_FROM = "shop@example.com"

_CODE = ROOT / "functions"
_LAYER = ROOT / "layers" / "shared" / "python"


@dataclass(frozen=True)
class Surroundings:
    """Where the functions find the database and AWS. The database's owner is known to the migrator only."""

    database_url: str = field(repr=False)
    aws_endpoint_url: str

    def api(self) -> FunctionDefinition:
        environment = {**self._environment(), **secret_ids(), "SERVES_CUSTOMERS": "true"}
        return _function("api", "api", function_limits.API, environment)

    def worker(self, queue: QueueName) -> FunctionDefinition:
        environment = {**self._environment(), "WORKER_QUEUE": queue.value}
        return _function(f"worker-{queue}", "worker", function_limits.worker(queue), environment)

    def relay(self) -> FunctionDefinition:
        return _function("outbox-relay", "outbox_relay", function_limits.OUTBOX_RELAY, self._environment())

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
    return _function("migrator", "migrator", function_limits.MIGRATOR, {"DATABASE_URL": owner_url})


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
