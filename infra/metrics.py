"""The metrics that the functions write themselves, as CloudWatch shows them."""

from datetime import timedelta

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cw
from aws_cdk import aws_logs as logs

from infra.function import ShopFunction
from infra.stage import Stage
from skincare.deployment.alarm_rule import COUNTING
from skincare.deployment.log_events import CountedEvent
from skincare.deployment.metrics import NAMESPACE, Metric


def shop_metric(
    stage: Stage,
    metric: Metric,
    *,
    statistic: str,
    period: timedelta = COUNTING,
    label: str | None = None,
    **dimensions: str,
) -> cw.Metric:
    """Return one metric of a stage, such as `shop_metric(…, ITEMS_FAILED, statistic="Sum", Queue="payments")`."""
    return cw.Metric(
        namespace=NAMESPACE,
        metric_name=metric.value,
        dimensions_map={"Stage": stage.name, **dimensions},
        statistic=statistic,
        period=_duration(period),
        label=label,
    )


def count_in_log(function: ShopFunction, counted: CountedEvent, *, stage: Stage) -> None:
    """Let CloudWatch count a log event of a function."""
    logs.MetricFilter(
        function,
        counted.metric,
        log_group=function.log,
        filter_pattern=logs.FilterPattern.string_value("$.message", "=", counted.event),
        metric_namespace=_log_namespace(stage),
        metric_name=counted.metric,
        metric_value="1",
        default_value=0,
    )


def log_metric(stage: Stage, counted: CountedEvent, *, period: timedelta = COUNTING) -> cw.Metric:
    """Return how often a log event came in each period."""
    return cw.Metric(
        namespace=_log_namespace(stage), metric_name=counted.metric, statistic="Sum", period=_duration(period)
    )


def _log_namespace(stage: Stage) -> str:
    # A filter takes dimensions from the line only, and the line does not name its stage.
    return f"{NAMESPACE}/{stage.name}"


def by_dimension(stage: Stage, metric: Metric, dimension: str, *, statistic: str) -> cw.MathExpression:
    """Return a metric for every value of a dimension, those included that a later release brings."""
    search = f'{{{NAMESPACE},Stage,{dimension}}} MetricName="{metric}" Stage="{stage.name}"'
    return cw.MathExpression(
        expression=f"SEARCH('{search}', '{statistic}', 300)", using_metrics={}, label="", period=cdk.Duration.minutes(5)
    )


def function_metric(
    function_name: str, metric: str, *, statistic: str, period: timedelta = COUNTING, label: str | None = None
) -> cw.Metric:
    """Return a metric that Lambda writes about a function."""
    return cw.Metric(
        namespace="AWS/Lambda",
        metric_name=metric,
        dimensions_map={"FunctionName": function_name},
        statistic=statistic,
        period=_duration(period),
        label=label,
    )


def _duration(period: timedelta) -> cdk.Duration:
    return cdk.Duration.seconds(int(period.total_seconds()))
