"""The workers: for each queue its event source mapping and the worker function behind it."""

import json
import threading
import time
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path

from emulator.functions.pool import FunctionPool
from emulator.log.logbook import LogBook
from emulator.processes.children import Children, ProcessIdentity, is_alive, this_process
from emulator.processes.threads import start_loop
from emulator.queues.event_source import EventSource
from emulator.switches import Switches
from local.faulty_invoker import FaultyInvoker, Poison
from local.functions import LocalEnvironment
from local.queues import queue_arn, queue_url
from local.settings import WORKER_CONTAINERS
from skincare.adapters.aws import AwsSession, Timeouts
from skincare.deployment.queues import QueueName

LONG_POLL = Timeouts(connect=timedelta(seconds=2), read=timedelta(seconds=30))
"""Longer than the 20 s that SQS lets a receive wait."""

_GRACE = timedelta(seconds=3)
_HEARTBEAT_S = 1.0
_LOOK_AGAIN_S = 0.05
_SILENT_AFTER_S = 5.0


class Workers:
    """The consumers of all queues, in this process.

    `presence` is the file by which the gateway knows which of them are ready, wherever they run.
    """

    def __init__(
        self,
        environment: LocalEnvironment,
        *,
        aws: AwsSession,
        children: Children,
        log: LogBook,
        presence: Path,
        switches: Switches,
    ) -> None:
        self._aws = aws
        self._environment = environment
        self._log = log
        self._presence = presence
        self._switches = switches
        self._stopping = threading.Event()
        self._presence_thread: threading.Thread | None = None
        self._shown: list[QueueName] | None = None
        self._shown_at = 0.0
        self._sources: dict[QueueName, EventSource] = {}
        self.pools = {
            queue: FunctionPool(environment.worker(queue), children=children, log=log, concurrency=_concurrency(queue))
            for queue in QueueName
        }

    def start_functions(self) -> None:
        """Begin to start one container for each queue; that needs neither the database nor AWS."""
        for pool in self.pools.values():
            pool.start()

    def start(self) -> None:
        """Begin to consume. The queues must exist."""
        endpoint = self._environment.aws_endpoint_url
        sqs = self._aws.client("sqs", LONG_POLL)
        poison = Poison(self._environment.database_url, self._switches)
        for queue, pool in self.pools.items():
            self._sources[queue] = EventSource(
                sqs,
                FaultyInvoker(pool, switches=self._switches, poison=poison, log=self._log),
                queue_url=queue_url(endpoint, queue),
                queue_arn=queue_arn(queue),
                function_timeout=queue.limits.function_timeout,
                batch_size=queue.limits.batch_size,
                batch_window=queue.limits.batch_window,
                concurrency=_concurrency(queue),
                log=self._log,
            )
            self._sources[queue].start()
        self._begin_to_show_presence()

    def _begin_to_show_presence(self) -> None:
        self._presence_thread = start_loop(
            "presence", self._show_presence, stopping=self._stopping, log=self._log, pause_s=_LOOK_AGAIN_S
        )

    def stop(self) -> None:
        """Receive no more, let running batches finish for a moment, and end the containers."""
        self._stopping.set()
        for source in self._sources.values():
            source.stop()
        threads = [threading.Thread(target=pool.stop, kwargs={"grace": _GRACE}) for pool in self.pools.values()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for source in self._sources.values():
            source.wait_for_batches()
        if self._presence_thread:
            self._presence_thread.join()
        self._presence.unlink(missing_ok=True)

    def _show_presence(self) -> None:
        """Write down who is ready, where that changed or a second has passed."""
        ready = [queue for queue in QueueName if self.pools[queue].ready and self._sources[queue].polling.is_set()]
        now = time.monotonic()
        if ready == self._shown and now < self._shown_at + _HEARTBEAT_S:
            return
        self._presence.parent.mkdir(parents=True, exist_ok=True)
        building = self._presence.with_suffix(".tmp")
        building.write_text(json.dumps({"process": asdict(this_process()), "ready": ready}))
        building.replace(self._presence)
        self._shown, self._shown_at = ready, now


def _concurrency(queue: QueueName) -> int:
    return min(queue.limits.maximum_concurrency, WORKER_CONTAINERS)


def queues_without_worker(presence: Path) -> list[QueueName]:
    """Return the queues that nobody consumes now."""
    try:
        silent_s = time.time() - presence.stat().st_mtime
        found = json.loads(presence.read_text())
        alive = silent_s < _SILENT_AFTER_S and is_alive(ProcessIdentity(**found["process"]))
        ready = found["ready"] if alive else []
    except (OSError, ValueError, KeyError, TypeError):
        ready = []
    return [queue for queue in QueueName if queue not in ready]
