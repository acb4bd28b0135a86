"""One queue of jobs with the dead-letter queue behind it."""

import aws_cdk as cdk
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.acknowledgements import acknowledge
from infra.stage import Stage
from skincare.deployment.queues import DEAD_LETTER_RETENTION, MAX_RECEIVE_COUNT, SOURCE_RETENTION, QueueName

_IS_THE_LAST = "It is the dead-letter queue: what lies here waits for a person."


class JobQueue(Construct):
    """An SQS queue as `skincare.deployment.queues` says, encrypted and closed to unencrypted connections."""

    def __init__(self, scope: Construct, construct_id: str, *, stage: Stage, queue: QueueName) -> None:
        super().__init__(scope, construct_id)
        self.name = queue
        self.dead_letters = sqs.Queue(
            self,
            "DeadLetters",
            queue_name=f"skincare-{stage.name}-{queue}-dead-letters",
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=cdk.Duration.seconds(int(DEAD_LETTER_RETENTION.total_seconds())),
        )
        acknowledge(self.dead_letters, "Serverless-SQSRedrivePolicy", _IS_THE_LAST)
        self.source = sqs.Queue(
            self,
            "Source",
            queue_name=f"skincare-{stage.name}-{queue}",
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=cdk.Duration.seconds(int(SOURCE_RETENTION.total_seconds())),
            visibility_timeout=cdk.Duration.seconds(int(queue.limits.visibility_timeout.total_seconds())),
            dead_letter_queue=sqs.DeadLetterQueue(max_receive_count=MAX_RECEIVE_COUNT, queue=self.dead_letters),
        )
