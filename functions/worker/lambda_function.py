"""The worker of one queue: an SQS batch in, the messages that shall come again out."""
# ruff: noqa: E402  the collector rests before anything is imported

import gc

# What importing makes stays for good: looking through it again and again is up to a tenth of a start.
gc.disable()

from collections.abc import Iterable
from functools import cache
from typing import Any, TypedDict

from aws_lambda_powertools.utilities.typing import LambdaContext

from skincare.adapters.sqs_message import message_from_record
from skincare.app import App
from skincare.bootstrap import get_app, worker_queue
from skincare.config import Settings
from skincare.deployment.functions import worker
from skincare.jobs.worker import Worker
from skincare.observability import start_invocation, time_left
from worker.wiring import make_worker

gc.freeze()
gc.enable()


class BatchItemFailure(TypedDict):
    itemIdentifier: str


class BatchResponse(TypedDict):
    """SQS partial batch response: Lambda deletes every message of the batch that is not named here."""

    batchItemFailures: list[BatchItemFailure]


def lambda_handler(event: dict[str, Any], context: LambdaContext) -> BatchResponse:
    """Handle one batch of the queue that WORKER_QUEUE names."""
    start_invocation(aws_request_id=context.aws_request_id)
    messages = [message_from_record(record) for record in event["Records"]]
    return batch_response(_worker().answer(messages, time_left=time_left(context)))


def batch_response(message_ids: Iterable[str]) -> BatchResponse:
    """Name the messages that shall come again."""
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in message_ids]}


@cache
def _worker() -> Worker[App]:
    queue = worker_queue(Settings.from_env())
    return make_worker(get_app(worker(queue)), queue)
