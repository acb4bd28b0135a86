"""The Workers stack: everything that works behind the API. It deploys without the API."""

import aws_cdk as cdk
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.alarm import Alarms, duration
from infra.build import Build
from infra.data import DataStack, acknowledge_export_objects, acknowledge_invoice_objects
from infra.function_alarms import add_function_alarms
from infra.layer import SharedLayer
from infra.mail_events import MailEvents
from infra.oncall import Oncall
from infra.outbox_relay import OutboxRelay
from infra.stage import Stage
from infra.worker import Worker
from skincare.deployment import alarms as rules
from skincare.deployment.alarm_rule import AlarmRule
from skincare.deployment.queues import QueueName


class WorkersStack(cdk.Stack):
    """A worker per queue, the outbox relay, and the functions of on-call and of mail events."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage, build: Build, data: DataStack) -> None:
        super().__init__(
            scope,
            construct_id,
            description=f"Skincare {stage.name}: workers, outbox relay, on-call",
            termination_protection=stage.keep_data,
        )
        self.add_stack_dependency(data)
        self._stage, self._build, self._data = stage, build, data
        self._layer = SharedLayer(self, "Layer", build=build)
        self.workers = {queue: self._worker(queue) for queue in QueueName}
        self._grant_what_one_queue_needs()
        self.relay = self._relay()
        self.oncall = self._oncall()
        self.mail_events = self._mail_events()

        alarms = Alarms(self, "Alarms", stage=stage, topic=data.topics.alarms)
        functions = (*(worker.run for worker in self.workers.values()), self.relay.run, self.mail_events.run)
        for function in functions:
            add_function_alarms(alarms, function)
        alarms.add_log_alarms({function.spec.name: function for function in functions})
        alarms.add_shop_alarms()
        _add_failure_alarm(alarms, rules.RELAY_FAILURES, self.relay.failures)
        _add_failure_alarm(alarms, rules.MAIL_EVENT_FAILURES, self.mail_events.failures)
        cdk.CfnOutput(self, "OncallFunction", value=self.oncall.run.name)

    def _worker(self, queue: QueueName) -> Worker:
        data = self._data
        pair = data.queues[queue]
        extra = data.secrets.environment(data.secrets.asked) if queue is QueueName.PAYMENTS else {}
        worker = Worker(
            self,
            f"{queue.value.capitalize()}Worker",
            stage=self._stage,
            build=self._build,
            layer=self._layer,
            network=data.network,
            queue=pair,
            environment={**data.settings, **extra},
        )
        data.database.grant_connect(worker.run.function)
        worker.run.allow(
            "sqs:ReceiveMessage",
            "sqs:DeleteMessage",
            "sqs:ChangeMessageVisibility",
            "sqs:GetQueueAttributes",
            on=[pair.source.queue_arn],
        )
        sends_to = [data.queues[other].source.queue_arn for other in worker.run.spec.sends_to]
        worker.run.allow("sqs:SendMessage", on=[*sends_to, pair.dead_letters.queue_arn])
        return worker

    def _grant_what_one_queue_needs(self) -> None:
        data = self._data
        mail = self.workers[QueueName.NOTIFICATIONS].run
        mail.allow("ses:SendEmail", "ses:SendRawEmail", on=data.mail.arns)
        # After a refusal the worker asks SES whether our own set-up is why. GetAccount takes no resource.
        mail.allow("ses:GetEmailIdentity", on=data.mail.lookup_arns)
        mail.allow("ses:GetConfigurationSet", on=data.mail.arns[1:])
        mail.allow("ses:GetAccount", on=["*"])
        if asked := data.secrets.arns(data.secrets.asked):
            self.workers[QueueName.PAYMENTS].run.allow("secretsmanager:GetSecretValue", on=asked)
        documents = self.workers[QueueName.DOCUMENTS].run
        documents.allow("s3:PutObject", on=[data.invoice_objects])
        acknowledge_invoice_objects(documents, data)

    def _relay(self) -> OutboxRelay:
        data = self._data
        relay = OutboxRelay(
            self,
            "OutboxRelay",
            stage=self._stage,
            build=self._build,
            layer=self._layer,
            network=data.network,
            environment=data.settings,
        )
        data.database.grant_connect(relay.run.function)
        relay.run.allow("sqs:SendMessage", on=[*data.source_arns, *data.dead_letter_arns])
        relay.run.allow(
            "sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", on=data.dead_letter_arns
        )
        relay.schedule_role.add_to_policy(
            iam.PolicyStatement(actions=["lambda:InvokeFunction"], resources=[relay.run.function.function_arn])
        )
        return relay

    def _oncall(self) -> Oncall:
        data = self._data
        oncall = Oncall(
            self,
            "Oncall",
            stage=self._stage,
            build=self._build,
            layer=self._layer,
            network=data.network,
            environment=data.settings,
        )
        data.database.grant_connect(oncall.run.function)
        oncall.run.allow("sqs:SendMessage", on=data.source_arns)
        oncall.run.allow("s3:GetObject", on=[data.export_objects])
        acknowledge_export_objects(oncall.run, data)
        return oncall

    def _mail_events(self) -> MailEvents:
        data = self._data
        mail_events = MailEvents(
            self,
            "MailEvents",
            stage=self._stage,
            build=self._build,
            layer=self._layer,
            network=data.network,
            configuration_set=data.mail.configuration_set.configuration_set_name,
            environment=data.settings,
        )
        data.database.grant_connect(mail_events.run.function)
        return mail_events


def _add_failure_alarm(alarms: Alarms, rule: AlarmRule, failures: sqs.IQueue) -> None:
    alarms.add(
        rule,
        failures.metric_approximate_number_of_messages_visible(statistic="Maximum", period=duration(rule)),
    )
