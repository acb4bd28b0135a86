"""The worker of one queue as a process of its own, in a container or a terminal."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from skincare.app import App
from skincare.deployment.queues import QueueName
from skincare.observability import logger
from worker.wiring import make_worker


def work(app: App, queue: QueueName) -> None:
    """Drain a queue until SIGINT or SIGTERM; returns when everything that ran is finished or released.

    A second signal does not hurry it. When a handler hung, the process ends with exit code 1.
    """
    worker = make_worker(app, queue)
    with _stop_on_signal() as stop:
        logger.info("worker.started", queue=queue)
        worker.consume(stop)
        logger.info("worker.stopped", queue=queue)
    app.database.close()


@contextmanager
def _stop_on_signal() -> Iterator[threading.Event]:
    stop = threading.Event()
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
