"""The queues and their limits: the one definition that infra, the local system and the tests read."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Self


@dataclass(frozen=True)
class QueueLimits:
    """How one queue is drained. Times are whole seconds.

    The rules that tie the numbers together (AWS: "Using Lambda with Amazon SQS", "Configuring an event
    source") are properties here and are checked for every queue by tests/unit/jobs/test_queues.py.
    """

    batch_size: int
    batch_window: timedelta
    threads: int
    """Handlers that run at once in one container."""
    handler_limit: timedelta
    """The longest a handler may take; also the least time that must be left to start one."""
    function_timeout: timedelta
    maximum_concurrency: int
    """Containers of the worker function (event source mapping: 2 or more)."""
    database_connections: int
    """Connections one container may open at once."""
    impact: str
    """Who notices when its jobs wait or die: a sentence for the mails of its alarms."""
    memory_mb: int = 512
    """Of one container; decides its share of CPU too."""

    @property
    def visibility_timeout(self) -> timedelta:
        """Six function timeouts and the window: what AWS asks for, so that retries of a throttled batch fit."""
        return 6 * self.function_timeout + self.batch_window


class QueueName(StrEnum):
    """One member is one queue, its dead-letter queue, its alarms and its worker function: here is all of it."""

    limits: QueueLimits

    def __new__(cls, name: str, limits: QueueLimits | None = None) -> Self:
        if limits is None:
            raise TypeError(f"the queue {name} has no limits: write them beside its name")
        member = str.__new__(cls, name)
        member._value_ = name
        member.limits = limits
        return member

    PAYMENTS = (
        "payments",
        QueueLimits(
            batch_size=10,
            batch_window=timedelta(0),
            threads=10,
            handler_limit=timedelta(seconds=15),
            function_timeout=timedelta(seconds=45),
            maximum_concurrency=5,
            database_connections=4,
            impact="Customers have paid and their orders do not say so.",
        ),
    )
    NOTIFICATIONS = (
        "notifications",
        QueueLimits(
            batch_size=10,
            batch_window=timedelta(0),
            threads=10,
            handler_limit=timedelta(seconds=15),
            function_timeout=timedelta(seconds=45),
            maximum_concurrency=5,
            database_connections=4,
            impact="Customers wait for mails about their orders.",
        ),
    )
    DOCUMENTS = (
        "documents",
        QueueLimits(
            batch_size=4,
            batch_window=timedelta(0),
            threads=2,
            handler_limit=timedelta(seconds=25),
            function_timeout=timedelta(seconds=90),
            maximum_concurrency=2,
            database_connections=2,
            impact="Customers wait for their invoices.",
            memory_mb=1024,
        ),
    )


MAX_RECEIVE_COUNT = 100
"""A backstop of eight to nine hours of database outage: a receive is also burnt by waiting."""

SOURCE_RETENTION = timedelta(days=4)
DEAD_LETTER_RETENTION = timedelta(days=14)
