"""What of the money waits for somebody, as numbers that alarms read."""

from skincare.database.connection import Database
from skincare.deployment.metrics import Metric
from skincare.payments.anomalies import repository
from skincare.payments.findings.repository.findings import count_open


def payment_gauges(database: Database) -> dict[Metric, float]:
    """Count events that are overdue, quarantined or corrected, open anomalies and findings."""
    with database.connection() as conn:
        work = repository.open_work(conn)
        findings = count_open(conn)
    return {
        Metric.UNAPPLIED_PAYMENT_EVENTS: work.unapplied_events,
        Metric.QUARANTINED_PAYMENT_EVENTS: work.quarantined_events,
        Metric.OPEN_PAYMENT_ANOMALIES: work.anomalies,
        Metric.CORRECTED_PAYMENT_EVENTS: work.corrected_events,
        Metric.OPEN_FINDINGS: findings,
    }
