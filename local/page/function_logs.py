"""What the functions' logs counted lately: the metrics and the events that CloudWatch would make numbers of."""

import contextlib
import json
import time
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from skincare.deployment.alarm_rule import COUNTING
from skincare.deployment.log_events import MAIL_STOPPED, WEBHOOK_REFUSED
from skincare.deployment.metrics import Metric
from skincare.deployment.queues import QueueName

_MOST_BYTES = 4_000_000
"""Of a look: what was written before is left out."""


_EVENTS = (MAIL_STOPPED.event, WEBHOOK_REFUSED.event)


class FunctionLogs:
    """Reads what was added to the functions' logs since the last look, whichever process writes them."""

    def __init__(self, folder: Path) -> None:
        self._workers = {queue: _Tail(folder / f"worker-{queue}.log") for queue in QueueName}
        self._api = _Tail(folder / "api.log")
        self._failed: dict[QueueName, deque[tuple[float, float]]] = {queue: deque() for queue in QueueName}
        self._events: dict[str, deque[tuple[float, float]]] = {event: deque() for event in _EVENTS}

    def look(self) -> None:
        """Read on, and forget what is older than alarms count."""
        now = time.time()
        for queue, file in self._workers.items():
            for entry in _entries(file, Metric.ITEMS_FAILED, *_EVENTS):
                self._note_event(entry, now)
                if "_aws" in entry:
                    values = entry.get(Metric.ITEMS_FAILED, [])
                    self._failed[queue].append((now, sum(values if isinstance(values, list) else [values])))
        for entry in _entries(self._api, *_EVENTS):
            self._note_event(entry, now)
        for counted in (*self._failed.values(), *self._events.values()):
            while counted and counted[0][0] < now - COUNTING.total_seconds():
                counted.popleft()

    def failed_items(self, queue: QueueName) -> float:
        return sum(count for _, count in self._failed[queue])

    def count(self, event: str) -> float:
        """Return how often one of the events that alarms count was logged."""
        return sum(count for _, count in self._events[event])

    def _note_event(self, entry: Mapping[str, Any], now: float) -> None:
        message = entry.get("message")
        if isinstance(message, str) and message in self._events:
            self._events[message].append((now, 1))


def _entries(file: "_Tail", *words: str) -> Iterator[Mapping[str, Any]]:
    """Return the new JSON objects of a log that have one of the words."""
    for line in file.new_lines():
        if any(word in line for word in words):
            with contextlib.suppress(ValueError):
                entry = json.loads(line)
                if isinstance(entry, dict):
                    yield entry


class _Tail:
    """The end of a file that grows, and now and then begins anew. What was there before is not read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = path.stat().st_size if path.exists() else 0

    def new_lines(self) -> list[str]:
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            size = file.seek(0, 2)
            if size < self._position:
                self._position = 0
            start = max(self._position, size - _MOST_BYTES)
            file.seek(start)
            content = file.read(size - start)
        complete = content[: content.rfind(b"\n") + 1]
        self._position = start + len(complete)
        return complete.decode(errors="replace").splitlines()
