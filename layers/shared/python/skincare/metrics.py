"""Metrics: numbers that alarms and the dashboard read, printed in CloudWatch's embedded metric format.

Dimensions are few and bounded, for each combination is a metric of its own: a stage with a job type or a queue, and
never an identifier. Source: AWS, "Specification: CloudWatch embedded metric format".
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from aws_lambda_powertools.metrics import EphemeralMetrics

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

    # Per stage, told once a minute.
    OUTBOX_LATENESS = "OutboxLateness"
    """Seconds by which the job that has waited longest is late for SQS; 0 where none is."""
    JOBS_OF_UNKNOWN_QUEUES = "JobsOfUnknownQueues"
    """Due jobs of queues that this release does not know."""
    DEAD_JOBS = "DeadJobs"
    QUARANTINED_MESSAGES = "QuarantinedMessages"
    """Messages of dead-letter queues that belong to no job and that nobody has dealt with."""
    UNAPPLIED_PAYMENT_EVENTS = "UnappliedPaymentEvents"
    """Events that should have been applied five minutes ago."""
    QUARANTINED_PAYMENT_EVENTS = "QuarantinedPaymentEvents"
    OPEN_PAYMENT_ANOMALIES = "OpenPaymentAnomalies"
    CORRECTED_PAYMENT_EVENTS = "CorrectedPaymentEvents"
    """Events of the last day that told something else than their gateway says when asked."""
    OPEN_FINDINGS = "OpenFindings"
    """What the last reconciliation found that no other gauge counts and nobody has settled."""


_UNITS = {
    Metric.JOB_DURATION: "Milliseconds",
    Metric.QUEUE_DELAY: "Seconds",
    Metric.OUTBOX_LATENESS: "Seconds",
}


def emit(values: Mapping[Metric, Sequence[float]], **dimensions: str) -> None:
    """Print metrics that share their dimensions; nothing where there is no value."""
    metrics = EphemeralMetrics(namespace=NAMESPACE, service="")  # or each would get a dimension `service`
    for name, value in dimensions.items():
        metrics.add_dimension(name, value)
    for metric, measured in values.items():
        for number in measured:
            metrics.add_metric(metric, _UNITS.get(metric, "Count"), number)
    if metrics.metric_set:
        metrics.flush_metrics()
