"""Which alarms would sound on AWS, as far as one machine can tell: lamps of the rules that infra makes alarms of."""

from collections.abc import Mapping
from dataclasses import dataclass

from skincare.deployment import alarms
from skincare.deployment.alarms import AlarmRule
from skincare.deployment.metrics import Metric
from skincare.deployment.queues import QueueName


@dataclass(frozen=True)
class Lamp:
    """One alarm. `value` is None, and the lamp dark, where what would tell does not answer."""

    name: str
    value: float | None
    threshold: float
    unit: str
    runbook: str
    lit: bool


@dataclass(frozen=True)
class Seen:
    """What was seen of the system; None is what did not answer. By queue: messages, and seconds."""

    dead_letters: Mapping[str, int] | None
    oldest_s: Mapping[str, float] | None
    failed_items: Mapping[str, float]
    sending_stopped: float
    webhooks_refused: float
    server_errors: float
    """Answers of the API within a minute."""
    slowest_ms: float
    gauges: Mapping[Metric, float] | None


def lamps(seen: Seen) -> list[Lamp]:
    """Return a lamp for every alarm."""
    by_queue: dict[AlarmRule, Mapping[str, float] | None] = {
        alarms.DEAD_LETTERS: seen.dead_letters,
        alarms.QUEUE_AGE: seen.oldest_s,
        alarms.ITEMS_FAILED: seen.failed_items,
    }
    found = [
        _lamp(rule, None if values is None else values.get(queue, 0), queue)
        for rule, values in by_queue.items()
        for queue in QueueName
    ]
    gauges = seen.gauges or {}
    alone: dict[AlarmRule, float | None] = {
        alarms.OUTBOX_LATE: gauges.get(Metric.OUTBOX_LATENESS),
        alarms.JOBS_OF_UNKNOWN_QUEUES: gauges.get(Metric.JOBS_OF_UNKNOWN_QUEUES),
        alarms.EMAIL_SENDING_STOPPED: seen.sending_stopped,
        alarms.PAYMENT_EVENTS_UNAPPLIED: gauges.get(Metric.UNAPPLIED_PAYMENT_EVENTS),
        alarms.PAYMENT_EVENTS_QUARANTINED: gauges.get(Metric.QUARANTINED_PAYMENT_EVENTS),
        alarms.PAYMENT_ANOMALIES: gauges.get(Metric.OPEN_PAYMENT_ANOMALIES),
        alarms.MESSAGES_QUARANTINED: gauges.get(Metric.QUARANTINED_MESSAGES),
        alarms.API_ERRORS: seen.server_errors,
        alarms.API_SLOW: seen.slowest_ms,
        alarms.WEBHOOKS_REFUSED: seen.webhooks_refused,
        alarms.RECONCILIATION_FINDINGS: gauges.get(Metric.OPEN_FINDINGS),
    }
    return found + [_lamp(rule, value) for rule, value in alone.items()]


def _lamp(rule: AlarmRule, value: float | None, queue: QueueName | None = None) -> Lamp:
    name = rule.name if queue is None else f"{rule.name}-{queue}"
    lit = value is not None and value >= rule.threshold
    return Lamp(name, value, rule.threshold, rule.unit, rule.runbook_path, lit)
