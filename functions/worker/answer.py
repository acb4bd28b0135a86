"""The answer to a batch: what Lambda must deliver again, and when."""

import os
import sys
from collections.abc import Callable
from typing import TypedDict

from skincare.jobs.ports import Queue
from skincare.jobs.runner import BatchResult
from skincare.observability import describe, logger


class BatchItemFailure(TypedDict):
    itemIdentifier: str


class BatchResponse(TypedDict):
    """SQS partial batch response: Lambda deletes every message of the batch that is not named here."""

    batchItemFailures: list[BatchItemFailure]


def answer(result: BatchResult, queue: Queue, *, leave: Callable[[], None] | None = None) -> BatchResponse:
    """Set the visibility of what comes again, then name it.

    A visibility that could not be set is only logged: the message then comes at the queue's own timeout.
    When a handler hung, its thread would go on in the next invocation, so the process ends here and
    deletes what is done itself: an invocation that ends without an answer reports every message as failed.
    """
    _set_visibility(result, queue)
    if result.hung:
        _delete_done(result, queue)
        (leave or _leave)()
    identifiers = dict.fromkeys(message.message_id for message, _ in result.released)
    return {"batchItemFailures": [{"itemIdentifier": identifier} for identifier in identifiers]}


def _set_visibility(result: BatchResult, queue: Queue) -> None:
    if not result.released:
        return
    try:
        refused = queue.nack(result.released)
    except Exception as error:  # noqa: BLE001  the message is reported failed all the same
        logger.warning("batch.visibility_failed", messages=len(result.released), error=describe(error))
        return
    if refused:
        logger.warning("batch.visibility_refused", messages=len(refused))


def _delete_done(result: BatchResult, queue: Queue) -> None:
    if not result.acked:
        return
    try:
        queue.ack(result.acked)
    except Exception as error:  # noqa: BLE001  a finished job that is delivered again is only acked again
        logger.warning("batch.delete_failed", messages=len(result.acked), error=describe(error))


def _leave() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)
