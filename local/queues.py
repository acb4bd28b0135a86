"""The queues of the shop on the local SQS: named and limited as `skincare.deployment.queues` says."""

import json
from typing import TYPE_CHECKING

from emulator.settings import ACCOUNT_ID, REGION
from skincare.deployment import functions
from skincare.deployment.queues import DEAD_LETTER_RETENTION, MAX_RECEIVE_COUNT, SOURCE_RETENTION, QueueName

if TYPE_CHECKING:
    from types_boto3_sqs import SQSClient
    from types_boto3_sqs.literals import QueueAttributeNameType


def queue_arn(queue: QueueName) -> str:
    return f"arn:aws:sqs:{REGION}:{ACCOUNT_ID}:{queue}"


def queue_url(aws_endpoint_url: str, queue: QueueName) -> str:
    return f"{aws_endpoint_url}/{ACCOUNT_ID}/{queue}"


def queue_urls(aws_endpoint_url: str) -> dict[str, str]:
    """Return the variables that tell the functions where each queue and its dead-letter queue are."""
    urls = {}
    for queue in QueueName:
        urls[functions.queue_url(queue)] = queue_url(aws_endpoint_url, queue)
        urls[functions.dead_letter_queue_url(queue)] = f"{queue_url(aws_endpoint_url, queue)}-dead-letters"
    return urls


def create_queues(sqs: "SQSClient") -> None:
    """Create every queue with its dead-letter queue behind it."""
    for queue in QueueName:
        sqs.create_queue(
            QueueName=f"{queue}-dead-letters",
            Attributes={"MessageRetentionPeriod": str(int(DEAD_LETTER_RETENTION.total_seconds()))},
        )
        policy = {"deadLetterTargetArn": f"{queue_arn(queue)}-dead-letters", "maxReceiveCount": MAX_RECEIVE_COUNT}
        attributes: dict[QueueAttributeNameType, str] = {
            "VisibilityTimeout": str(int(queue.limits.visibility_timeout.total_seconds())),
            "MessageRetentionPeriod": str(int(SOURCE_RETENTION.total_seconds())),
            "RedrivePolicy": json.dumps(policy),
        }
        sqs.create_queue(QueueName=queue.value, Attributes=attributes)


def missing_queues(sqs: "SQSClient") -> list[str]:
    """Return the names of queues that do not exist."""
    existing = {url.rpartition("/")[2] for url in sqs.list_queues(MaxResults=1000).get("QueueUrls", [])}
    wanted = [name for queue in QueueName for name in (queue.value, f"{queue}-dead-letters")]
    return [name for name in wanted if name not in existing]
