"""The answer to a batch: what Lambda must deliver again."""

import os
import sys
from collections.abc import Callable
from typing import TypedDict

from skincare.jobs.delivery import delete_done, set_visibility
from skincare.jobs.ports import Queue
from skincare.jobs.runner import BatchResult


class BatchItemFailure(TypedDict):
    itemIdentifier: str


class BatchResponse(TypedDict):
    """SQS partial batch response: Lambda deletes every message of the batch that is not named here."""

    batchItemFailures: list[BatchItemFailure]


def leave() -> None:
    """End the process at once; what it printed is not lost."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)


def answer(result: BatchResult, queue: Queue, *, leave: Callable[[], None] = leave) -> BatchResponse:
    """Set the visibility of what comes again, then name it.

    When a handler hung, its thread would go on in the next invocation, so the process ends here and
    deletes what is done itself: an invocation that ends without an answer reports every message as failed.
    """
    set_visibility(result, queue)
    if result.hung:
        delete_done(result, queue)
        leave()
    identifiers = dict.fromkeys(message.message_id for message, _ in result.released)
    return {"batchItemFailures": [{"itemIdentifier": identifier} for identifier in identifiers]}
