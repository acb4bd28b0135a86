"""The alarms of what customers meet."""

import aws_cdk as cdk
from aws_cdk import aws_apigatewayv2 as apigw
from aws_cdk import aws_cloudwatch as cw

from infra.alarm import FIVE_MINUTES, Alarms

_SLOW_MS = 2000


def add_api_alarms(alarms: Alarms, api: apigw.HttpApi) -> cw.Alarm:
    """Add those for errors and slow answers; return the first, which may stop a deploy."""
    errors = alarms.add(
        "api-errors",
        metric=api.metric_server_error(statistic="Sum", period=cdk.Duration.minutes(1)),
        threshold=5,
        periods=2,
        of=5,
        broke="The API answers with 5xx.",
        hurts="Customers cannot order.",
        runbook="api-errors",
        first="aws logs tail /aws/lambda/skincare-{stage}-api --since 15m --filter-pattern ERROR",
    )
    alarms.add(
        "api-slow",
        metric=api.metric_latency(statistic="p99", period=FIVE_MINUTES),
        threshold=_SLOW_MS,
        periods=3,
        broke=f"One answer in a hundred takes longer than {_SLOW_MS // 1000} seconds.",
        hurts="Customers wait, and some leave.",
        runbook="api-slow",
        first="aws logs tail /skincare/{stage}/http --since 15m",
    )
    return errors
