"""What a finished batch tells its queue: first when the failed messages come again, then which are done."""

import os
import sys

from skincare.jobs.ports import Queue
from skincare.jobs.worker.batch import BatchResult
from skincare.observability import describe, logger


def set_visibility(result: BatchResult, queue: Queue) -> None:
    """Set when each released message comes again.

    What could not be set is only logged: the message then comes at the queue's own visibility timeout.
    """
    if not result.released:
        return
    try:
        refused = queue.nack(result.released)
    except Exception as error:  # noqa: BLE001  the message comes again all the same
        logger.warning("batch.visibility_failed", messages=len(result.released), error=describe(error))
        return
    if refused:
        logger.warning("batch.visibility_refused", messages=len(refused))


def delete_done(result: BatchResult, queue: Queue) -> None:
    """Delete what is done with; a finished job whose message is delivered again is only acked again."""
    if not result.acked:
        return
    try:
        refused = queue.ack(result.acked)
    except Exception as error:  # noqa: BLE001  see above
        logger.warning("batch.delete_failed", messages=len(result.acked), error=describe(error))
        return
    if refused:
        logger.warning("batch.delete_refused", messages=len(refused))


def leave_process() -> None:
    """End the process at once; what it printed is not lost."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)
