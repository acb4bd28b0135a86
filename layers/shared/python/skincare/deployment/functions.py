"""Time and memory of every function: the one definition that infra, the local system and the tests read."""

from dataclasses import dataclass
from datetime import timedelta

from skincare.deployment.queues import QueueName


@dataclass(frozen=True)
class FunctionLimits:
    """What one container of a function may take. The time is whole seconds; memory decides the share of CPU too."""

    timeout: timedelta
    memory_mb: int
    database_connections: int = 1
    """Connections one container may open at once."""


API = FunctionLimits(timedelta(seconds=20), memory_mb=1024)
OUTBOX_RELAY = FunctionLimits(timedelta(seconds=50), memory_mb=512)
"""Less than the minute between two runs, so that one never waits for another."""
MIGRATOR = FunctionLimits(timedelta(minutes=5), memory_mb=512)
ONCALL = FunctionLimits(timedelta(seconds=30), memory_mb=512)
MAIL_EVENTS = FunctionLimits(timedelta(seconds=15), memory_mb=512)


def worker(queue: QueueName) -> FunctionLimits:
    """Return the limits of the worker that drains this queue."""
    limits = queue.limits
    return FunctionLimits(limits.function_timeout, limits.memory_mb, limits.database_connections)
