"""A place in memory that keeps files."""

import threading
from datetime import timedelta

from skincare.invoices.ports import ObjectStoreUnavailable


class FakeObjectStore:
    """An `ObjectStore` that fails when told to; `files` holds what it keeps, by key."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failing = False
        self.files: dict[str, bytes] = {}
        self.puts = 0

    def put_if_absent(self, key: str, content: bytes, *, content_type: str) -> bool:
        with self._lock:
            if self._failing:
                raise ObjectStoreUnavailable("the object store is told to fail")
            self.puts += 1
            if key in self.files:
                return False
            self.files[key] = content
            return True

    def link(self, key: str, *, filename: str, expires_in: timedelta) -> str:
        return f"https://files.example.com/{key}?filename={filename}&seconds={expires_in.seconds}"

    def fail(self, *, failing: bool = True) -> None:
        """Let every upload fail until this is called with `failing=False`."""
        with self._lock:
            self._failing = failing
