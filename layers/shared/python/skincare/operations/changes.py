"""What the on-call engineer may change. Each change and its audit are one transaction."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from skincare.database.connection import Database
from skincare.identifiers import JobId
from skincare.jobs.publisher import Publisher
from skincare.jobs.repository import outbox
from skincare.observability import logger
from skincare.operations.models import Caller, Change
from skincare.operations.repository import audit, changes
from skincare.operations.repository.changes import Act
from skincare.operations.service import run_again


class Changes:
    """Changes in the name of one caller, for one reason. What they leave alone is counted, and no error."""

    def __init__(self, database: Database, publisher: Publisher, *, caller: Caller, reason: str | None) -> None:
        self._database = database
        self._publisher = publisher
        self._caller = caller
        self._reason = reason

    def redrive(self, deaths: Mapping[JobId, int], *, force: bool) -> Change:
        """Bring back jobs that still are in the death (`dead_letter_no`) that was looked at, and publish them.

        A type that is not safe to run again is left alone without `force`.
        """
        request = {"deaths": _keyed(deaths), "force": force}
        return self._publish(
            self._do(
                "redrive",
                request,
                lambda conn: changes.redrive(
                    conn, deaths, may_run_again=lambda job_type: force or run_again(job_type).safe
                ),
            )
        )

    def discard(self, deaths: Mapping[JobId, int]) -> Change:
        """Cancel jobs that still are in the death that was looked at."""
        return self._do("discard", {"deaths": _keyed(deaths)}, lambda conn: changes.discard(conn, deaths))

    def cancel(self, job_ids: Sequence[JobId]) -> Change:
        """Cancel jobs that are not finished."""
        return self._do("cancel", _listed(job_ids), lambda conn: changes.cancel(conn, job_ids))

    def retry_now(self, job_ids: Sequence[JobId]) -> Change:
        """End the wait of jobs for their next attempt, and publish them."""
        return self._publish(self._do("retry_now", _listed(job_ids), lambda conn: changes.retry_now(conn, job_ids)))

    def resolve_anomaly(self, anomaly_id: int) -> Change:
        """Note that somebody has dealt with money that does not fit."""
        request = {"anomaly_id": anomaly_id}
        return self._do("resolve_anomaly", request, lambda conn: changes.resolve_anomaly(conn, anomaly_id))

    def review_event(self, event_id: UUID) -> Change:
        """Note that somebody has looked at a payment event that could not be read."""
        request = {"event_id": str(event_id)}
        return self._do("review_event", request, lambda conn: changes.review_event(conn, event_id))

    def close_quarantined(self, message_id: int) -> Change:
        """Note that somebody has dealt with a quarantined message, which stays where it is."""
        request = {"message_id": message_id}
        return self._do("close_quarantined", request, lambda conn: changes.close_quarantined(conn, message_id))

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
            self._publisher.publish_now(due)
        return change


def _keyed(deaths: Mapping[JobId, int]) -> dict[str, int]:
    return {str(job_id): number for job_id, number in deaths.items()}


def _listed(job_ids: Sequence[JobId]) -> dict[str, Any]:
    return {"job_ids": [str(job_id) for job_id in job_ids]}
