"""How the ledger stands, as numbers that alarms read."""

from skincare.database.connection import Database
from skincare.deployment.metrics import Metric
from skincare.deployment.queues import QueueName
from skincare.jobs.repository import operations
from skincare.jobs.repository.acknowledgements import count_dead


def job_gauges(database: Database) -> dict[Metric, float]:
    """Measure how late the outbox is; count jobs that nobody works on, foreign messages and pauses that last too long.

    One statement.
    """
    with database.connection() as conn:
        backlog = operations.backlog(conn)
    return {
        Metric.OUTBOX_LATENESS: backlog.lateness.total_seconds(),
        Metric.JOBS_OF_UNKNOWN_QUEUES: backlog.of_unknown_queues,
        Metric.DEAD_JOBS: backlog.dead,
        Metric.PAUSED_JOBS: backlog.paused,
        Metric.FORGOTTEN_PAUSES: backlog.forgotten_pauses,
        Metric.QUARANTINED_MESSAGES: backlog.quarantined_messages,
    }


def queue_gauges(database: Database) -> dict[QueueName, dict[Metric, float]]:
    """Count the dead jobs of every queue. One statement."""
    with database.connection() as conn:
        counts = count_dead(conn)
    return {
        queue: {
            Metric.UNACKNOWLEDGED_DEAD_JOBS: count.unacknowledged,
            Metric.ACKNOWLEDGED_DEAD_JOBS: count.acknowledged,
        }
        for queue, count in counts.items()
    }
