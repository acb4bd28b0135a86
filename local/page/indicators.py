"""Which alarms would fire on AWS, as far as one machine can tell, by the rules that infra makes alarms of."""

from collections.abc import Mapping
from dataclasses import dataclass

from skincare.deployment import alarms
from skincare.deployment.alarm_rule import AlarmRule
from skincare.deployment.metrics import Metric
from skincare.deployment.queues import QueueName


@dataclass(frozen=True)
class Indicator:
    """One alarm. `value` is None, and it is not firing, where the source of the value does not answer."""

    name: str
    value: float | None
    threshold: float
    unit: str
    runbook: str
    firing: bool


@dataclass(frozen=True)
class Observation:
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


def indicators(observed: Observation) -> list[Indicator]:
    """Return an indicator for every alarm."""
    by_queue: dict[AlarmRule, Mapping[str, float] | None] = {
        alarms.DEAD_JOBS: observed.unacknowledged,
        alarms.DEAD_LETTERS: observed.dead_letters,
        alarms.QUEUE_AGE: observed.oldest_s,
        alarms.ITEMS_FAILED: observed.failed_items,
    }
    found = [
        _indicator(rule, None if values is None else values.get(queue, 0), queue)
        for rule, values in by_queue.items()
        for queue in QueueName
    ]
    gauges = observed.gauges or {}
    alone: dict[AlarmRule, float | None] = {
        alarms.EMAIL_SENDING_STOPPED: observed.sending_stopped,
        alarms.WEBHOOKS_REFUSED: observed.webhooks_refused,
        alarms.API_ERRORS: observed.server_errors,
        alarms.API_SLOW: observed.slowest_ms,
    }
    for rule in alarms.ALARM_RULES:
        if isinstance(rule.metric, Metric) and not rule.per_queue:
            alone[rule] = gauges.get(rule.metric)
    return found + [_indicator(rule, value) for rule, value in alone.items()]


def _indicator(rule: AlarmRule, value: float | None, queue: QueueName | None = None) -> Indicator:
    name = rule.name if queue is None else f"{rule.name}-{queue}"
    firing = value is not None and value >= rule.threshold
    return Indicator(name, value, rule.threshold, rule.unit, rule.runbook_path, firing)
