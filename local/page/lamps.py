"""Which alarms would sound on AWS, as far as one machine can tell: lamps of the rules that infra makes alarms of."""

from collections.abc import Mapping
from dataclasses import dataclass

from skincare.deployment import alarms
from skincare.deployment.alarm_rule import AlarmRule
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

    dead_letters: Mapping[str, float] | None
    """Beyond those that an acknowledged job explains."""
    unacknowledged: Mapping[str, float] | None
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
        alarms.DEAD_JOBS: seen.unacknowledged,
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
        alarms.EMAIL_SENDING_STOPPED: seen.sending_stopped,
        alarms.WEBHOOKS_REFUSED: seen.webhooks_refused,
        alarms.API_ERRORS: seen.server_errors,
        alarms.API_SLOW: seen.slowest_ms,
    }
    for rule in alarms.ALARM_RULES:
        if isinstance(rule.metric, Metric) and not rule.per_queue:
            alone[rule] = gauges.get(rule.metric)
    return found + [_lamp(rule, value) for rule, value in alone.items()]


def _lamp(rule: AlarmRule, value: float | None, queue: QueueName | None = None) -> Lamp:
    name = rule.name if queue is None else f"{rule.name}-{queue}"
    lit = value is not None and value >= rule.threshold
    return Lamp(name, value, rule.threshold, rule.unit, rule.runbook_path, lit)
