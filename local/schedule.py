"""The schedule of the outbox relay, as EventBridge Scheduler will keep it."""

import contextlib
import json
import threading
import uuid
from datetime import UTC, datetime, timedelta

from local.function import Function, InvocationFailed
from local.settings import ACCOUNT_ID, REGION


class Schedule:
    """Invokes a function at once and then at a fixed rate; a failure is logged where it happens and not repeated."""

    def __init__(self, function: Function, *, every: timedelta) -> None:
        self._function = function
        self._every = every
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._tick, name="schedule", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()

    def _tick(self) -> None:
        while not self._stopping.is_set():
            with contextlib.suppress(InvocationFailed):  # the next tick is the repetition
                self._function.invoke(_event(), patience=self._every)
            self._stopping.wait(self._every.total_seconds())


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
