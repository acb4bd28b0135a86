"""The metrics that the functions write themselves, as CloudWatch shows them."""

from enum import StrEnum

import aws_cdk as cdk
from aws_cdk import aws_cloudwatch as cw
from aws_cdk import aws_logs as logs
from constructs import Construct

from infra.stage import Stage
from skincare.deployment.metrics import NAMESPACE, Metric


class LogMetric(StrEnum):
    """Metrics that CloudWatch counts by an event in a log."""

    EMAIL_SENDING_STOPPED = "EmailSendingStopped"
    BOUNCES_OF_OURS = "BouncesOfOurs"
    WEBHOOKS_REFUSED = "WebhooksRefused"
    PAYMENT_EVENTS_IGNORED = "PaymentEventsIgnored"
    GATEWAY_MISCONFIGURED = "GatewayMisconfigured"


def shop_metric(
    stage: Stage, metric: Metric, *, statistic: str, minutes: int = 5, label: str | None = None, **dimensions: str
) -> cw.Metric:
    """Return one metric of a stage, such as `shop_metric(…, ITEMS_FAILED, statistic="Sum", Queue="payments")`."""
    return cw.Metric(
        namespace=NAMESPACE,
        metric_name=metric.value,
        dimensions_map={"Stage": stage.name, **dimensions},
        statistic=statistic,
        period=cdk.Duration.minutes(minutes),
        label=label,
    )


def count_in_log(
    scope: Construct, metric: LogMetric, *, stage: Stage, log: logs.ILogGroup, event: str, minutes: int = 5
) -> cw.Metric:
    """Let CloudWatch count a log event, and return the metric: how often it came in so many minutes."""
    logs.MetricFilter(
        scope,
        metric.value,
        log_group=log,
        filter_pattern=logs.FilterPattern.string_value("$.message", "=", event),
        metric_namespace=_log_namespace(stage),
        metric_name=metric.value,
        metric_value="1",
        default_value=0,
    )
    return log_metric(stage, metric, minutes=minutes)


def log_metric(stage: Stage, metric: LogMetric, *, minutes: int = 5) -> cw.Metric:
    """Return how often a log event came in so many minutes."""
    return cw.Metric(
        namespace=_log_namespace(stage), metric_name=metric.value, statistic="Sum", period=cdk.Duration.minutes(minutes)
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


def function_metric(function_name: str, metric: str, *, statistic: str, label: str | None = None) -> cw.Metric:
    """Return a metric that Lambda writes about a function."""
    return cw.Metric(
        namespace="AWS/Lambda",
        metric_name=metric,
        dimensions_map={"FunctionName": function_name},
        statistic=statistic,
        period=cdk.Duration.minutes(5),
        label=label,
    )
