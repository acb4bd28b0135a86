"""The Data stack: what outlives a release. It also migrates the database, before the other stacks follow."""

from collections.abc import Mapping

import aws_cdk as cdk
from constructs import Construct

from infra.acknowledgements import acknowledge
from infra.alarm import Alarms
from infra.build import Build
from infra.data_alarms import add_database_alarms, add_queue_alarms
from infra.database import Database
from infra.function import ShopFunction
from infra.gateway_secrets import GatewaySecrets
from infra.invoice_bucket import InvoiceBucket
from infra.job_queue import JobQueue
from infra.layer import SharedLayer
from infra.mail import Mail
from infra.migrator import Migrator
from infra.network import Network
from infra.stage import Stage
from infra.topics import Topics
from skincare.deployment.functions import dead_letter_queue_url, queue_url
from skincare.deployment.queues import QueueName


class DataStack(cdk.Stack):
    """Network, database, queues, bucket, secrets, mail and the topic of alarms."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage, build: Build) -> None:
        super().__init__(
            scope,
            construct_id,
            description=f"Skincare {stage.name}: network, database, queues, secrets",
            termination_protection=stage.keep_data,
        )
        self.topics = Topics(self, "Topics", stage=stage)
        self.network = Network(self, "Network", stage=stage)
        self.database = Database(self, "Database", stage=stage, network=self.network)
        self.queues = {queue: JobQueue(self, queue.value.capitalize(), stage=stage, queue=queue) for queue in QueueName}
        self.invoices = InvoiceBucket(self, "Invoices", stage=stage)
        self._exported_bucket = self.export_value(
            self.invoices.bucket.bucket_arn, name=f"{self.stack_name}-InvoiceBucketArn"
        )
        self.secrets = GatewaySecrets(self, "GatewaySecrets", stage=stage)
        self.mail = Mail(self, "Mail", stage=stage)
        layer = SharedLayer(self, "Layer", build=build)
        self.migrator = Migrator(
            self,
            "Migrator",
            stage=stage,
            build=build,
            layer=layer,
            network=self.network,
            database=self.database,
        )
        self.migrator.function.allow("secretsmanager:GetSecretValue", on=[self.database.owner_secret])
        alarms = Alarms(self, "Alarms", stage=stage, topic=self.topics.alarms)
        for queue in self.queues.values():
            add_queue_alarms(alarms, queue, stage=stage)
        add_database_alarms(alarms, self.database, stage=stage)
        self._stage = stage
        for queue in self.queues.values():
            cdk.CfnOutput(self, f"{queue.name.capitalize()}QueueUrl", value=queue.source.queue_url)
            cdk.CfnOutput(self, f"{queue.name.capitalize()}DeadLettersUrl", value=queue.dead_letters.queue_url)
        cdk.CfnOutput(self, "AlarmTopic", value=self.topics.alarms.topic_arn)

    @property
    def settings(self) -> Mapping[str, str]:
        """The settings of this stage; each function is given those that are for it."""
        stage = self._stage
        variables = {
            "DATABASE_URL": self.database.url,
            "DATABASE_IAM_AUTH": "true",
            "MAIL_FROM": stage.mail_from,
            "MAIL_CONFIGURATION_SET": self.mail.configuration_set.configuration_set_name,
            "SHOP_URL": stage.shop_url,
            "INVOICE_BUCKET": self.invoices.bucket.bucket_name,
            "PAYMENT_WINDOW_MINUTES": str(stage.unpaid_orders.window_minutes),
            "PAYMENT_WINDOW_BANK_TRANSFER_MINUTES": str(stage.unpaid_orders.bank_transfer_minutes),
            "PAYMENT_WINDOW_COUNTER_MINUTES": str(stage.unpaid_orders.counter_minutes),
            "OPEN_ORDER_LIMIT": str(stage.unpaid_orders.orders_per_customer),
            "OPEN_UNIT_LIMIT": str(stage.unpaid_orders.units_per_product),
            **{f"GATEWAY_URL_{name.upper()}": url for name, url in stage.gateway_urls.items()},
            **{f"MERCHANT_ID_{name.upper()}": value for name, value in stage.merchant_ids.items()},
            **stage.settings,
        }
        if stage.payment_gateway is not None:
            variables["PAYMENT_GATEWAY"] = stage.payment_gateway
        for queue, pair in self.queues.items():
            variables[queue_url(queue)] = pair.source.queue_url
            variables[dead_letter_queue_url(queue)] = pair.dead_letters.queue_url
        return variables

    @property
    def invoice_objects(self) -> str:
        """The ARN of all invoices in the bucket, for the other stacks."""
        return f"{self._exported_bucket}/*"

    @property
    def export_objects(self) -> str:
        """The ARN of all exports of customers in the bucket."""
        return f"{self._exported_bucket}/exports/*"

    @property
    def source_arns(self) -> list[str]:
        return [queue.source.queue_arn for queue in self.queues.values()]

    @property
    def dead_letter_arns(self) -> list[str]:
        return [queue.dead_letters.queue_arn for queue in self.queues.values()]


def acknowledge_invoice_objects(function: ShopFunction, data: DataStack) -> None:
    """Acknowledge the wildcard at the end of `invoice_objects`."""
    acknowledge(
        function,
        f"AwsSolutions-IAM5[Resource::{data.stack_name}-InvoiceBucketArn/*]",
        "Every invoice is an object of its own, and the bucket holds only documents of customers.",
    )


def acknowledge_export_objects(function: ShopFunction, data: DataStack) -> None:
    """Acknowledge the wildcard at the end of `export_objects`."""
    acknowledge(
        function,
        f"AwsSolutions-IAM5[Resource::{data.stack_name}-InvoiceBucketArn/exports/*]",
        "Every export is an object of its own; each link to one is audited.",
    )
