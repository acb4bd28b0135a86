"""A queue for what an asynchronous function could not do: it rings an alarm and waits for a person."""

import aws_cdk as cdk
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.acknowledgements import acknowledge
from infra.function import ShopFunction
from infra.stage import Stage


def failure_queue(
    scope: Construct, *, stage: Stage, name: str, of: ShopFunction, retention: cdk.Duration, reason: str
) -> sqs.Queue:
    """Make the queue; `reason` says why nothing takes its messages. Where failures go there, the caller says."""
    queue = sqs.Queue(
        scope,
        "Failures",
        queue_name=f"skincare-{stage.name}-{name}",
        encryption=sqs.QueueEncryption.SQS_MANAGED,
        enforce_ssl=True,
        retention_period=retention,
    )
    acknowledge(queue, "AwsSolutions-SQS3", reason)
    acknowledge(queue, "Serverless-SQSRedrivePolicy", reason)
    acknowledge(of.function, "Serverless-LambdaDLQ", "Its failures go to the destination of its own.")
    return queue
