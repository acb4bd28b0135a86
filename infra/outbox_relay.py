"""The outbox relay: once a minute, one at a time."""

from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_destinations as destinations
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from infra.build import Build
from infra.failure_queue import failure_queue
from infra.function import ShopFunction
from infra.layer import SharedLayer
from infra.network import Network
from infra.stage import Stage
from skincare.deployment import functions


class OutboxRelay(Construct):
    """A function on a schedule. A run that failed is not repeated, for the next minute has its own; it is reported."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: Stage,
        build: Build,
        layer: SharedLayer,
        network: Network,
        environment: Mapping[str, str],
    ) -> None:
        super().__init__(scope, construct_id)
        self.run = ShopFunction(
            self,
            "Run",
            stage=stage,
            build=build,
            layer=layer,
            network=network,
            spec=functions.OUTBOX_RELAY,
            environment=environment,
            reserved_concurrency=1,
        )
        self.failures = failure_queue(
            self,
            stage=stage,
            name="outbox-relay-failures",
            of=self.run,
            retention=cdk.Duration.days(4),
            reason="It only reports that a run of the relay failed; nobody processes it.",
        )
        lambda_.EventInvokeConfig(
            self,
            "Once",
            function=self.run.function,
            retry_attempts=0,
            max_event_age=cdk.Duration.minutes(1),
            on_failure=destinations.SqsDestination(self.failures),
        )
        self.schedule_role = iam.Role(
            self,
            "ScheduleRole",
            assumed_by=iam.ServicePrincipal(
                "scheduler.amazonaws.com", conditions={"StringEquals": {"aws:SourceAccount": cdk.Aws.ACCOUNT_ID}}
            ),
            description="What the schedule of the outbox relay may do",
        )
        scheduler.CfnSchedule(
            self,
            "EachMinute",
            name=f"skincare-{stage.name}-outbox-relay",
            description="Calls the outbox relay",
            schedule_expression="rate(1 minute)",
            flexible_time_window=scheduler.CfnSchedule.FlexibleTimeWindowProperty(mode="OFF"),
            target=scheduler.CfnSchedule.TargetProperty(
                arn=self.run.function.function_arn,
                role_arn=self.schedule_role.role_arn,
                retry_policy=scheduler.CfnSchedule.RetryPolicyProperty(
                    maximum_retry_attempts=0, maximum_event_age_in_seconds=60
                ),
            ),
        )
