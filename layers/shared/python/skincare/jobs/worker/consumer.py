"""The worker as a long-running process: receive, run, answer, until asked to stop.

The same as in Lambda, behind the `Queue` port; what the event source mapping does there, this
loop does here.
"""

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Protocol

from skincare.deployment.queues import QueueLimits
from skincare.jobs.ports import Queue, QueueUnavailable, ReceivedMessage
from skincare.jobs.retry import TimeLeft, backoff_delay
from skincare.jobs.worker.batch import BatchResult
from skincare.jobs.worker.delivery import delete_done, set_visibility
from skincare.jobs.worker.lease_session import RESERVE
from skincare.observability import describe, logger, start_invocation

_POLL = timedelta(seconds=4)
"""One long poll; a stop waits for its end."""

_LARGEST_RECEIVE = 10


class Run(Protocol):
    """Works through a batch."""

    def __call__(self, messages: list[ReceivedMessage], *, time_left: TimeLeft) -> BatchResult: ...


def consume(queue: Queue, run: Run, *, limits: QueueLimits, stop: threading.Event) -> bool:
    """Work until `stop` is set; True when everything that ran was finished or released.

    A stop lets running handlers finish and starts no others. False means that a handler hung: the
    process must end, for its thread would go on.
    """
    failures = 0
    while not stop.is_set():
        start_invocation()
        try:
            messages = queue.receive(limit=min(limits.batch_size, _LARGEST_RECEIVE), wait=_POLL)
        except QueueUnavailable as error:
            failures += 1
            logger.warning("queue.unavailable", failures=failures, error=describe(error))
            stop.wait(backoff_delay(failures).total_seconds())
            continue
        failures = 0
        if messages and not _work(messages, queue, run, _time_left(limits, stop)):
            return False
    return True


def _work(messages: list[ReceivedMessage], queue: Queue, run: Run, time_left: TimeLeft) -> bool:
    result = run(messages, time_left=time_left)
    set_visibility(result, queue)
    delete_done(result, queue)
    return not result.hung


def _time_left(limits: QueueLimits, stop: threading.Event) -> Callable[[], timedelta]:
    """Return a batch's clock: as long as the function's timeout, and after a stop too short to start a handler."""
    end = time.monotonic() + limits.function_timeout.total_seconds()
    enough_to_finish = limits.handler_limit + RESERVE - timedelta(milliseconds=1)
    stopped_at: list[float] = []

    def left() -> timedelta:
        now = time.monotonic()
        rest = timedelta(seconds=end - now)
        if not stop.is_set():
            return rest
        if not stopped_at:
            stopped_at.append(now)
        return min(rest, enough_to_finish - timedelta(seconds=now - stopped_at[0]))

    return left
