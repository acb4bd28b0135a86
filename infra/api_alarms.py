"""The alarms of what customers meet."""

import aws_cdk as cdk
from aws_cdk import aws_apigatewayv2 as apigw
from aws_cdk import aws_cloudwatch as cw

from infra.alarm import FIVE_MINUTES, Alarms
from infra.function import ShopFunction
from infra.metrics import LogMetric, count_in_log
from infra.stage import Stage
from infra.thresholds import API_ERRORS, WEBHOOK_REFUSED_EVENT, WEBHOOKS_REFUSED

_SLOW_MS = 2000


def add_api_alarms(alarms: Alarms, api: apigw.HttpApi) -> cw.Alarm:
    """Add those for errors and slow answers; return the first, which may stop a deploy."""
    errors = alarms.add(
        "api-errors",
        metric=api.metric_server_error(statistic="Sum", period=cdk.Duration.minutes(1)),
        threshold=API_ERRORS,
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


def add_webhook_alarm(alarms: Alarms, *, stage: Stage, api: ShopFunction) -> None:
    """Add the one for webhooks whose signature is not of a secret that we know."""
    alarms.add(
        "webhooks-refused",
        metric=count_in_log(api, LogMetric.WEBHOOKS_REFUSED, stage=stage, log=api.log, event=WEBHOOK_REFUSED_EVENT),
        threshold=WEBHOOKS_REFUSED,
        broke=f"Webhooks are refused for their signatures, {WEBHOOKS_REFUSED} or more in five minutes.",
        hurts="Nobody where somebody forges them; where a gateway's secret changed, payments are not seen.",
        runbook="webhooks-refused",
        first=(
            "aws logs tail /aws/lambda/skincare-{stage}-api --since 15m"
            f""" --filter-pattern '"{WEBHOOK_REFUSED_EVENT}"'"""
        ),
    )
