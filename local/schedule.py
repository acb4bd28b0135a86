"""The schedule of the outbox relay, as EventBridge Scheduler will keep it."""

import contextlib
import json
import threading
import uuid
from datetime import UTC, datetime, timedelta

from local.function import Function, InvocationFailed
from local.logbook import LogBook
from local.settings import ACCOUNT_ID, REGION
from local.threads import start_loop


class Schedule:
    """Invokes a function at once and then at a fixed rate; a failure is logged where it happens and not repeated."""

    def __init__(self, function: Function, *, every: timedelta, log: LogBook) -> None:
        self._function = function
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
            self._function.invoke(_event(), patience=self._every)


def _event() -> bytes:
    event = {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "Scheduled Event",
        "source": "aws.scheduler",
        "account": ACCOUNT_ID,
        "time": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "region": REGION,
        "resources": [f"arn:aws:scheduler:{REGION}:{ACCOUNT_ID}:schedule/default/outbox-relay"],
        "detail": "{}",
    }
    return json.dumps(event).encode()
