"""What SES reports about mails that did not arrive, handed to the function that remembers their addresses."""

from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_destinations as destinations
from constructs import Construct

from infra.build import Build
from infra.failure_queue import failure_queue
from infra.function import ShopFunction
from infra.layer import SharedLayer
from infra.network import Network
from infra.stage import Stage
from skincare.deployment import functions

CONCURRENCY = 2


class MailEvents(Construct):
    """A rule for the bounces and complaints of one configuration set, and its function. It is tried three times."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: Stage,
        build: Build,
        layer: SharedLayer,
        network: Network,
        configuration_set: str,
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
            spec=functions.MAIL_EVENTS,
            environment=environment,
            reserved_concurrency=CONCURRENCY,
        )
        self.failures = failure_queue(
            self,
            stage=stage,
            name="mail-event-failures",
            of=self.run,
            retention=cdk.Duration.days(14),
            reason="What lies here waits for a person.",
        )
        lambda_.EventInvokeConfig(
            self,
            "Thrice",
            function=self.run.function,
            retry_attempts=2,
            on_failure=destinations.SqsDestination(self.failures),
        )
        events.Rule(
            self,
            "Rule",
            description="Bounces and complaints of our mails",
            event_pattern=events.EventPattern(
                source=["aws.ses"],
                detail_type=["Email Bounced", "Email Complaint Received"],
                detail={"mail": {"tags": {"ses:configuration-set": [configuration_set]}}},
            ),
            targets=[targets.LambdaFunction(self.run.function, dead_letter_queue=self.failures)],
        )
