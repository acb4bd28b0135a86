"""The metrics that functions write: names, units and namespace, for alarms and the dashboard too.

Dimensions are few and bounded, for each combination is a metric of its own: a stage with a job type or a queue, and
never an identifier.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

NAMESPACE: Final = "Skincare"


class Metric(StrEnum):
    """Every metric there is. Alarms look for these names: never renamed."""

    # Per stage and job type.
    JOBS_COMPLETED = "JobsCompleted"
    JOBS_RETRIED = "JobsRetried"
    """Attempts that failed and will be made again."""
    JOBS_DEAD = "JobsDead"
    JOB_DURATION = "JobDuration"
    QUEUE_DELAY = "QueueDelay"
    """Seconds between the moment a job could run and its first attempt."""

    # Per stage and queue.
    ITEMS_FAILED = "ItemsFailed"
    """Messages that come again because something failed, and not because it was too early for them."""

    # Per stage and queue, measured once a minute.
    UNACKNOWLEDGED_DEAD_JOBS = "UnacknowledgedDeadJobs"
    """Dead jobs that nobody has acknowledged, or no longer."""
    ACKNOWLEDGED_DEAD_JOBS = "AcknowledgedDeadJobs"

    # Per stage, measured once a minute.
    OUTBOX_LATENESS = "OutboxLateness"
    """Seconds by which the job that has waited longest is late for SQS; 0 where none is."""
    JOBS_OF_UNKNOWN_QUEUES = "JobsOfUnknownQueues"
    """Due jobs of queues that this release does not know."""
    DEAD_JOBS = "DeadJobs"
    PAUSED_JOBS = "PausedJobs"
    """Due jobs that a pause holds."""
    FORGOTTEN_PAUSES = "ForgottenPauses"
    """Pauses without an end that have lasted for a day."""
    QUARANTINED_MESSAGES = "QuarantinedMessages"
    """Messages of dead-letter queues that belong to no job and that nobody has dealt with."""
    UNAPPLIED_PAYMENT_EVENTS = "UnappliedPaymentEvents"
    """Events that should have been applied five minutes ago."""
    QUARANTINED_PAYMENT_EVENTS = "QuarantinedPaymentEvents"
    OPEN_PAYMENT_ANOMALIES = "OpenPaymentAnomalies"
    CORRECTED_PAYMENT_EVENTS = "CorrectedPaymentEvents"
    """Events of the last day that differ from what their gateway says when asked."""
    OPEN_FINDINGS = "OpenFindings"
    """What the last reconciliation found that no other gauge counts and nobody has settled."""
    OVERDUE_CUSTOMER_REQUESTS = "OverdueCustomerRequests"
    """Exports that were asked for two days ago, and erasures 25 days ago, and that are not done."""
    RETENTION_LAG = "RetentionLag"
    """Seconds by which the oldest row that retention left is beyond its window; 0 where it left none."""

    # Per stage and table, or table and column.
    ROWS_REMOVED = "RowsRemoved"
    """What retention removed."""


UNITS: Mapping[Metric, str] = {
    Metric.JOB_DURATION: "Milliseconds",
    Metric.QUEUE_DELAY: "Seconds",
    Metric.OUTBOX_LATENESS: "Seconds",
    Metric.RETENTION_LAG: "Seconds",
}
"""Those that are not counts, as CloudWatch names units."""
