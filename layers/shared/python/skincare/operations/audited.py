"""How a person's change is made: it and its audit are one transaction."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from skincare.database.connection import Connection, Database
from skincare.identifiers import JobId
from skincare.invoices.ports import ObjectStore
from skincare.jobs.publisher import Publisher
from skincare.jobs.repository import outbox
from skincare.observability import logger
from skincare.operations.models import Caller, Change
from skincare.operations.repository import audit

type Act = Callable[[Connection], Change]
"""A change, made in a transaction of somebody else."""


class AuditedChanges:
    """Changes in the name of one caller, for one reason. What they leave alone is counted, and no error."""

    def __init__(
        self, database: Database, publisher: Publisher, files: ObjectStore, *, caller: Caller, reason: str | None
    ) -> None:
        self._database = database
        self._publisher = publisher
        self._files = files
        self._caller = caller
        self._reason = reason

    def _do(self, operation: str, request: Mapping[str, Any], act: Act) -> Change:
        with self._database.connection() as conn, conn.transaction():
            change = act(conn)
            if change.changed:
                audit.record(
                    conn,
                    self._caller,
                    operation=operation,
                    reason=self._reason,
                    request=request,
                    counts=change.counts,
                )
        logger.info("operations.done", operation=operation, counts=dict(change.counts), job_ids=change.job_ids)
        return change

    def _publish(self, change: Change) -> Change:
        """Publish what was made due; dying before that costs a minute, for the relay does it too."""
        if change.job_ids:
            with self._database.connection() as conn:
                due = outbox.take_these(conn, [JobId(UUID(job_id)) for job_id in change.job_ids])
            self._publisher.publish_now(due, taken=True)
        return change


def if_any(**counts: int) -> dict[str, int]:
    """Return the counts that are not zero."""
    return {name: count for name, count in counts.items() if count}
