"""What the workers' logs counted lately: the metrics and the error that CloudWatch would make numbers of."""

import json
import time
from collections import deque
from pathlib import Path
from typing import Any

from skincare.alarm_rules import COUNTING, MAIL_STOPPED_EVENT
from skincare.jobs.queues import QueueName
from skincare.metrics import Metric

_MOST_BYTES = 4_000_000
"""Of a look: what was written before is left out."""


class WorkerLogs:
    """Reads what was added to the workers' logs since the last look, whichever process writes them."""

    def __init__(self, folder: Path) -> None:
        self._files = {queue: _Tail(folder / f"worker-{queue}.log") for queue in QueueName}
        self._failed: dict[QueueName, deque[tuple[float, float]]] = {queue: deque() for queue in QueueName}
        self._stopped: deque[tuple[float, float]] = deque()

    def look(self) -> None:
        """Read on, and forget what is older than alarms count."""
        now = time.time()
        for queue, file in self._files.items():
            for line in file.new_lines():
                self._note(queue, line, now)
        for counted in (*self._failed.values(), self._stopped):
            while counted and counted[0][0] < now - COUNTING.total_seconds():
                counted.popleft()

    def failed_items(self, queue: QueueName) -> float:
        return sum(count for _, count in self._failed[queue])

    @property
    def sending_stopped(self) -> float:
        return sum(count for _, count in self._stopped)

    def _note(self, queue: QueueName, line: str, now: float) -> None:
        if Metric.ITEMS_FAILED not in line and MAIL_STOPPED_EVENT not in line:
            return
        try:
            entry: Any = json.loads(line)
        except ValueError:
            return
        if not isinstance(entry, dict):
            return
        if entry.get("message") == MAIL_STOPPED_EVENT:
            self._stopped.append((now, 1))
        elif "_aws" in entry:
            values = entry.get(Metric.ITEMS_FAILED, [])
            self._failed[queue].append((now, sum(values if isinstance(values, list) else [values])))


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
