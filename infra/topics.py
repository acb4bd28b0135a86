"""Where alarms are published, encrypted with a key of our own."""

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from infra.acknowledgements import acknowledge
from infra.stage import Stage


class Topics(Construct):
    """The topic of alarms, mailed to whom the stage names."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage) -> None:
        super().__init__(scope, construct_id)
        key = kms.Key(
            self,
            "Key",
            description=f"Alarms of skincare {stage.name}",
            enable_key_rotation=True,
            removal_policy=cdk.RemovalPolicy.DESTROY,
        )
        # The key that AWS manages for SNS cannot be opened to CloudWatch.
        key.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["kms:Decrypt", "kms:GenerateDataKey"],
                resources=["*"],
                conditions={"StringEquals": {"aws:SourceAccount": cdk.Aws.ACCOUNT_ID}},
            )
        )
        self.alarms = sns.Topic(
            self, "Alarms", topic_name=f"skincare-{stage.name}-alarms", master_key=key, enforce_ssl=True
        )
        # A topic with a policy of its own has lost the one that lets alarms of its account publish.
        self.alarms.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[self.alarms.topic_arn],
                conditions={"StringEquals": {"aws:SourceAccount": cdk.Aws.ACCOUNT_ID}},
            )
        )
        if stage.alarm_mail is not None:
            subscription = self.alarms.add_subscription(subscriptions.EmailSubscription(stage.alarm_mail))
            acknowledge(subscription, "Serverless-SNSRedrivePolicy", "A mail that bounced can be put on no queue.")
