"""The containers of one function: started on demand up to its concurrency, replaced when they end."""

import threading
import time
import uuid
from collections.abc import Callable
from datetime import timedelta

from emulator.functions.container import Container
from emulator.functions.function import FunctionDefinition, FunctionStopped, InvocationFailed
from emulator.log.logbook import LogBook
from emulator.processes.children import Children, ChildrenStopped
from emulator.processes.threads import start_thread

_LONGEST_PAUSE_S = 5.0


class FunctionPool:
    """Invokes a function. One container is kept warm, others start when all are busy."""

    def __init__(self, function: FunctionDefinition, *, children: Children, log: LogBook, concurrency: int) -> None:
        self.name = function.name
        self._function = function
        self._children = children
        self._log = log
        self._concurrency = concurrency
        self._changed = threading.Condition()
        self._containers: set[Container] = set()
        self._idle: list[Container] = []
        self._starting = 0
        self._waiting = 0
        self._failed_starts = 0
        self._start_error: InvocationFailed | None = None
        self._stopping = False

    def start(self) -> None:
        """Begin to start the first container; `ready` tells when it is there."""
        with self._changed:
            self._start_one()

    @property
    def ready(self) -> bool:
        """Whether a container is there to serve: an idle one or one at work."""
        with self._changed:
            return bool(self._containers) and not self._stopping

    @property
    def start_error(self) -> InvocationFailed | None:
        """Why the last container could not be started; None where it was."""
        with self._changed:
            return self._start_error

    def invoke(
        self,
        payload: bytes,
        *,
        timeout: timedelta,
        trace_id: str | None = None,
        at_work: Callable[[Container], None] = lambda _: None,
    ) -> bytes:
        """Let a free container handle one event and return its JSON answer.

        Waits up to `timeout` for a container, and tells `at_work` which it is. Raises `InvocationFailed`.
        """
        container = self._take(timeout)
        try:
            at_work(container)
            return container.invoke(payload, trace_id=trace_id or new_trace_id())
        finally:
            self._give_back(container)

    def stop(self, *, grace: timedelta = timedelta(0)) -> None:
        """Kill the containers; those at work get `grace` to finish first."""
        deadline = time.monotonic() + grace.total_seconds()
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
            while len(self._idle) < len(self._containers):
                if not self._changed.wait(max(deadline - time.monotonic(), 0)):
                    break
            containers = list(self._containers)
        for container in containers:
            container.stop()

    def _take(self, timeout: timedelta) -> Container:
        deadline = time.monotonic() + timeout.total_seconds()
        with self._changed:
            failed_before = self._failed_starts
            self._waiting += 1
            try:
                while not self._stopping:
                    while self._idle:
                        container = self._idle.pop()
                        if container.usable:
                            return container
                    if self._failed_starts != failed_before and not self._containers and self._start_error:
                        raise self._start_error
                    if self._waiting > self._starting:
                        self._start_one()
                    if not self._changed.wait(deadline - time.monotonic()):
                        raise InvocationFailed("TooManyRequestsException", "no container became free in time")
                raise FunctionStopped
            finally:
                self._waiting -= 1

    def _give_back(self, container: Container) -> None:
        with self._changed:
            if container in self._containers and container.usable:
                self._idle.append(container)
            self._changed.notify_all()

    def _start_one(self) -> None:
        """Start a container in the background unless the concurrency is used up. The caller holds the lock."""
        if self._stopping or len(self._containers) + self._starting >= self._concurrency:
            return
        self._starting += 1
        try:
            start_thread(self.name, self._start_container, log=self._log)
        except RuntimeError:  # no thread to be had
            self._starting -= 1
            raise

    def _start_container(self) -> None:
        container: Container | None = None
        error: InvocationFailed | None = None
        try:
            container = Container(self._function, children=self._children, log=self._log, on_exit=self._lost)
            container.wait_until_ready()
        except InvocationFailed as failure:
            error = failure
        except ChildrenStopped:
            error = FunctionStopped()
        except OSError as failure:
            error = InvocationFailed("Sandbox.StartFailed", str(failure))
        except Exception as failure:  # noqa: BLE001  a start that nobody counts as failed would hold its slot for ever
            error = InvocationFailed("Sandbox.StartFailed", type(failure).__name__)
        with self._changed:
            self._starting -= 1
            if error is None and container and container.exited.is_set():
                error = InvocationFailed("Runtime.ExitError", "ended at once")
            self._start_error = error
            if error is not None:
                self._failed_starts += 1
            elif container and not self._stopping:
                self._failed_starts = 0
                self._containers.add(container)
                # Behind those that have served before: its first event is the slowest.
                self._idle.insert(0, container)
            self._changed.notify_all()
            failures, unwanted = self._failed_starts, self._stopping
        if unwanted and container:
            container.stop()
        elif error is not None:
            self._start_again_after(min(0.2 * 2**failures, _LONGEST_PAUSE_S))

    def _lost(self, container: Container) -> None:
        """A process ended: forget it, and keep one container warm."""
        with self._changed:
            self._containers.discard(container)
            if container in self._idle:
                self._idle.remove(container)
            if not self._containers and not self._starting:
                self._start_one()
            self._changed.notify_all()

    def _start_again_after(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopping, seconds)
            if not self._containers and not self._starting:
                self._start_one()


def new_trace_id() -> str:
    """Return the header by which X-Ray follows one request through functions and queues."""
    return f"Root=1-{int(time.time()):08x}-{uuid.uuid4().hex[:24]};Parent={uuid.uuid4().hex[:16]};Sampled=0"
