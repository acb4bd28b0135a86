"""The alarms that every function has."""

from aws_cdk import aws_cloudwatch as cw

from infra.alarm import Alarms
from infra.function import ShopFunction
from infra.metrics import function_metric

NEAR_TIMEOUT = 0.8


def add_function_alarms(alarms: Alarms, function: ShopFunction) -> cw.Alarm:
    """Add those for errors, throttles and durations near the timeout; return the first, which may stop a deploy."""
    short, hurts = function.spec.name, function.spec.hurts
    if hurts is None:
        raise ValueError(f"nothing says whom it hurts when {short} fails")
    logs = f"aws logs tail /aws/lambda/{function.name} --since 30m --filter-pattern ERROR"
    errors = alarms.add(
        f"function-errors-{short}",
        metric=function_metric(function.name, "Errors", statistic="Sum"),
        threshold=1,
        periods=2,
        of=3,
        broke=f"The function {function.name} crashes, runs out of time or memory, or cannot start.",
        hurts=hurts,
        runbook="function-errors",
        first=logs,
    )
    alarms.add(
        f"function-throttles-{short}",
        metric=function_metric(function.name, "Throttles", statistic="Sum"),
        threshold=10,
        periods=2,
        of=3,
        broke=f"Lambda starts no more containers of {function.name}: its own or the account's concurrency is used up.",
        hurts=hurts,
        runbook="function-throttles",
        first=f"aws lambda get-function-concurrency --function-name {function.name}",
    )
    alarms.add(
        f"function-slow-{short}",
        metric=function_metric(function.name, "Duration", statistic="Maximum"),
        threshold=NEAR_TIMEOUT * function.spec.timeout.total_seconds() * 1000,
        periods=3,
        of=3,
        broke=f"Calls of {function.name} come near their timeout.",
        hurts=hurts,
        runbook="function-slow",
        first=logs,
    )
    return errors
