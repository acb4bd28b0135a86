"""The alarms of what customers meet."""

import aws_cdk as cdk
from aws_cdk import aws_apigatewayv2 as apigw
from aws_cdk import aws_cloudwatch as cw

from infra.alarm import FIVE_MINUTES, Alarms
from infra.function import ShopFunction
from infra.metrics import LogMetric, count_in_log
from infra.stage import Stage
from skincare.deployment import alarms as rules


def add_api_alarms(alarms: Alarms, api: apigw.HttpApi) -> cw.Alarm:
    """Add those for errors and slow answers; return the first, which may stop a deploy."""
    errors = alarms.add(
        rules.API_ERRORS.name,
        metric=api.metric_server_error(statistic="Sum", period=cdk.Duration.minutes(1)),
        threshold=rules.API_ERRORS.threshold,
        periods=2,
        of=5,
        broke="The API answers with 5xx.",
        hurts="Customers cannot order.",
        runbook=rules.API_ERRORS.runbook,
        first="aws logs tail /aws/lambda/skincare-{stage}-api --since 15m --filter-pattern ERROR",
    )
    alarms.add(
        rules.API_SLOW.name,
        metric=api.metric_latency(statistic="p99", period=FIVE_MINUTES),
        threshold=rules.API_SLOW.threshold,
        periods=3,
        broke=f"One answer in a hundred takes longer than {rules.API_SLOW.threshold / 1000:g} seconds.",
        hurts="Customers wait, and some leave.",
        runbook=rules.API_SLOW.runbook,
        first="aws logs tail /skincare/{stage}/http --since 15m",
    )
    return errors


def count_misconfigured_gateways(*, stage: Stage, api: ShopFunction) -> None:
    """Let the API's log count for the alarm of the workers: a payment that cannot be started is the same trouble."""
    count_in_log(
        api, LogMetric.GATEWAY_MISCONFIGURED, stage=stage, log=api.log, event=rules.GATEWAY_MISCONFIGURED_EVENT
    )


def add_webhook_alarm(alarms: Alarms, *, stage: Stage, api: ShopFunction) -> None:
    """Add the one for webhooks whose signature is not of a secret that we know, and count those that mean nothing."""
    count_in_log(api, LogMetric.PAYMENT_EVENTS_IGNORED, stage=stage, log=api.log, event=rules.EVENT_IGNORED_EVENT)
    many = rules.WEBHOOKS_REFUSED.threshold
    alarms.add(
        rules.WEBHOOKS_REFUSED.name,
        metric=count_in_log(
            api, LogMetric.WEBHOOKS_REFUSED, stage=stage, log=api.log, event=rules.WEBHOOK_REFUSED_EVENT
        ),
        threshold=many,
        broke=f"Webhooks are refused for their signatures, {many:g} or more in five minutes.",
        hurts="Nobody where somebody forges them; where a gateway's secret changed, payments are not seen.",
        runbook=rules.WEBHOOKS_REFUSED.runbook,
        first=(
            "aws logs tail /aws/lambda/skincare-{stage}-api --since 15m"
            f""" --filter-pattern '"{rules.WEBHOOK_REFUSED_EVENT}"'"""
        ),
    )
