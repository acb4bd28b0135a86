"""What `GET /health` misses, looked at now and then: with a database gone an answer takes seconds."""

import threading
import time
from collections.abc import Callable

from emulator.log.logbook import LogBook
from emulator.processes.threads import start_thread

_FRESH_S = 2.0


class Health:
    """Remembers the last look and begins another one, in the background, whenever somebody asks for an old one."""

    def __init__(self, look: Callable[[], list[str]], *, log: LogBook, fresh_s: float = _FRESH_S) -> None:
        self._look = look
        self._log = log
        self._fresh_s = fresh_s
        self._lock = threading.Lock()
        self._is_looking = False
        self._missing: list[str] = []
        self._looked_at: float | None = None

    def missing(self) -> list[str]:
        """Return what was missing at the last look."""
        with self._lock:
            is_old = self._looked_at is None or time.monotonic() - self._looked_at >= self._fresh_s
            if is_old and not self._is_looking:
                self._is_looking = True
                start_thread("health", self._look_again, log=self._log)
            return self._missing

    def _look_again(self) -> None:
        missing = ["api"]
        try:
            missing = self._look()
        finally:
            with self._lock:
                self._missing, self._looked_at, self._is_looking = missing, time.monotonic(), False
