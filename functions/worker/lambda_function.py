"""The worker of one queue: an SQS batch in, the messages that shall come again out."""

from functools import cache
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from skincare.adapters.sqs_message import message_from_record
from skincare.app import App
from skincare.bootstrap import get_app, worker_queue
from skincare.jobs.queues import QueueName
from skincare.jobs.runner import Runner
from skincare.observability import start_invocation, time_left
from worker.answer import BatchResponse, answer
from worker.runner import make_runner


def lambda_handler(event: dict[str, Any], context: LambdaContext) -> BatchResponse:
    """Handle one batch of the queue that WORKER_QUEUE names."""
    start_invocation(aws_request_id=context.aws_request_id)
    queue, runner = _runner()
    messages = [message_from_record(record) for record in event["Records"]]
    result = runner.run(messages, time_left=time_left(context))
    return answer(result, get_app().queues[queue].source)


@cache
def _runner() -> tuple[QueueName, Runner[App]]:
    app = get_app()
    queue = worker_queue(app.settings)
    return queue, make_runner(app, queue)
