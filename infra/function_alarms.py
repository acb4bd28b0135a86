"""The alarms that every function has for which nobody waits."""

from aws_cdk import aws_cloudwatch as cw

from infra.alarm import Alarms
from infra.function import ShopFunction
from infra.metrics import function_metric
from skincare.deployment import alarms as rules
from skincare.deployment.alarm_rule import AlarmRule


def add_function_alarms(alarms: Alarms, function: ShopFunction) -> cw.Alarm:
    """Add those for errors, throttles and durations near the timeout; return the first, which may stop a deploy."""
    milliseconds = function.spec.timeout.total_seconds() * 1000
    errors = _add(alarms, function, rules.FUNCTION_ERRORS, "Errors", "Sum")
    _add(alarms, function, rules.FUNCTION_THROTTLES, "Throttles", "Sum")
    _add(alarms, function, rules.FUNCTION_SLOW, "Duration", "Maximum", whole=milliseconds)
    return errors


def _add(
    alarms: Alarms, function: ShopFunction, rule: AlarmRule, metric: str, statistic: str, *, whole: float = 1
) -> cw.Alarm:
    if function.spec.impact is None:
        raise ValueError(f"nothing says whom it hurts when {function.spec.name} fails")
    return alarms.add(
        rule,
        function_metric(function.name, metric, statistic=statistic, period=rule.period),
        of=function.spec.name,
        whole=whole,
        function=function.name,
        impact=function.spec.impact,
    )
