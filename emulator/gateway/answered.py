"""What the callers of the API were answered lately: what CloudWatch would make metrics of the gateway of."""

import math
import threading
import time
from collections import deque
from collections.abc import Callable
from datetime import timedelta

_KEPT = timedelta(minutes=5)
_MOST = 100_000


class Answered:
    """Counts answers of the last five minutes. Safe to use from many threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._answers: deque[tuple[float, int, float]] = deque(maxlen=_MOST)

    def note(self, status: int, *, seconds: float) -> None:
        """Count an answer that took this long."""
        with self._lock:
            self._answers.append((self._clock(), status, seconds))

    def server_errors(self, within: timedelta) -> int:
        """Return how many answers were 5xx."""
        since = self._clock() - within.total_seconds()
        with self._lock:
            return sum(1 for at, status, _ in self._answers if at >= since and status >= 500)

    def slowest_ms(self) -> float:
        """Return what 99 of 100 answers took at most (the 99th percentile, by nearest rank), 0 where there is none."""
        since = self._clock() - _KEPT.total_seconds()
        with self._lock:
            while self._answers and self._answers[0][0] < since:
                self._answers.popleft()
            taken = sorted(seconds for _, _, seconds in self._answers)
        return taken[math.ceil(len(taken) * 0.99) - 1] * 1000 if taken else 0.0
