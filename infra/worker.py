"""The worker of one queue."""

from collections.abc import Mapping

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra.acknowledgements import acknowledge
from infra.build import Build
from infra.function import ShopFunction
from infra.job_queue import JobQueue
from infra.layer import SharedLayer
from infra.network import Network
from infra.stage import Stage
from skincare.deployment import functions

_SPARE = 1
"""Containers beside those that the queue may use: with none to spare, a replaced one would be throttled."""


class Worker(Construct):
    """A function that SQS feeds: it names the messages of a batch that shall come again, all others are done."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        stage: Stage,
        build: Build,
        layer: SharedLayer,
        network: Network,
        queue: JobQueue,
        environment: Mapping[str, str],
    ) -> None:
        super().__init__(scope, construct_id)
        limits = queue.name.limits
        self.run = ShopFunction(
            self,
            "Run",
            stage=stage,
            build=build,
            layer=layer,
            network=network,
            spec=functions.worker(queue.name),
            environment={**environment, "WORKER_QUEUE": queue.name.value},
            reserved_concurrency=limits.maximum_concurrency + _SPARE,
        )
        acknowledge(
            self.run.function, "Serverless-LambdaDLQ", "The queue keeps what fails, and has a dead-letter queue."
        )
        self.mapping = lambda_.EventSourceMapping(
            self,
            "Mapping",
            target=self.run.function,
            event_source_arn=queue.source.queue_arn,
            batch_size=limits.batch_size,
            max_batching_window=cdk.Duration.seconds(int(limits.batch_window.total_seconds())),
            max_concurrency=limits.maximum_concurrency,
            report_batch_item_failures=True,
        )
        acknowledge(
            self.mapping,
            "Serverless-LambdaEventSourceMappingDestination",
            "Destinations are for streams; a queue has its dead-letter queue.",
        )
