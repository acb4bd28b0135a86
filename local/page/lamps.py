"""Which alarms would sound on AWS, as far as one machine can tell: lamps of the rules that infra makes alarms of."""

from collections.abc import Mapping
from dataclasses import dataclass

from skincare import alarm_rules
from skincare.alarm_rules import AlarmRule
from skincare.jobs.queues import QueueName
from skincare.metrics import Metric


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
        alarm_rules.DEAD_LETTERS: seen.dead_letters,
        alarm_rules.QUEUE_AGE: seen.oldest_s,
        alarm_rules.ITEMS_FAILED: seen.failed_items,
    }
    found = [
        _lamp(rule, None if values is None else values.get(queue, 0), queue)
        for rule, values in by_queue.items()
        for queue in QueueName
    ]
    gauges = seen.gauges or {}
    alone: dict[AlarmRule, float | None] = {
        alarm_rules.OUTBOX_LATE: gauges.get(Metric.OUTBOX_LATENESS),
        alarm_rules.JOBS_OF_UNKNOWN_QUEUES: gauges.get(Metric.JOBS_OF_UNKNOWN_QUEUES),
        alarm_rules.EMAIL_SENDING_STOPPED: seen.sending_stopped,
        alarm_rules.PAYMENT_EVENTS_UNAPPLIED: gauges.get(Metric.UNAPPLIED_PAYMENT_EVENTS),
        alarm_rules.PAYMENT_EVENTS_QUARANTINED: gauges.get(Metric.QUARANTINED_PAYMENT_EVENTS),
        alarm_rules.PAYMENT_ANOMALIES: gauges.get(Metric.OPEN_PAYMENT_ANOMALIES),
        alarm_rules.MESSAGES_QUARANTINED: gauges.get(Metric.QUARANTINED_MESSAGES),
        alarm_rules.API_ERRORS: seen.server_errors,
        alarm_rules.API_SLOW: seen.slowest_ms,
        alarm_rules.WEBHOOKS_REFUSED: seen.webhooks_refused,
        alarm_rules.RECONCILIATION_FINDINGS: gauges.get(Metric.OPEN_FINDINGS),
    }
    return found + [_lamp(rule, value) for rule, value in alone.items()]


def _lamp(rule: AlarmRule, value: float | None, queue: QueueName | None = None) -> Lamp:
    name = rule.name if queue is None else f"{rule.name}-{queue}"
    lit = value is not None and value >= rule.threshold
    return Lamp(name, value, rule.threshold, rule.unit, rule.runbook_path, lit)
