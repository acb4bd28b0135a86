"""The schedule of a function, as EventBridge Scheduler keeps it."""

import contextlib
import json
import threading
import uuid
from datetime import UTC, datetime, timedelta

from emulator.functions.function import Function, InvocationFailed
from emulator.log.logbook import LogBook
from emulator.processes.threads import start_loop
from emulator.settings import ACCOUNT_ID, REGION


class Schedule:
    """Invokes a function at once and then at a fixed rate; a failure is logged where it happens and not repeated."""

    def __init__(self, function: Function, *, name: str, every: timedelta, log: LogBook) -> None:
        self._function = function
        self._name = name
        self._every = every
        self._log = log
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = start_loop(
            "schedule", self._tick, stopping=self._stopping, log=self._log, pause_s=self._every.total_seconds()
        )

    def stop(self) -> None:
        self._stopping.set()

    def _tick(self) -> None:
        with contextlib.suppress(InvocationFailed):  # the next tick is the repetition
            self._function.invoke(_event(self._name), timeout=self._every)


def _event(name: str) -> bytes:
    event = {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "Scheduled Event",
        "source": "aws.scheduler",
        "account": ACCOUNT_ID,
        "time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": REGION,
        "resources": [f"arn:aws:scheduler:{REGION}:{ACCOUNT_ID}:schedule/default/{name}"],
        "detail": "{}",
    }
    return json.dumps(event).encode()
