"""A file of lines that is added to, whole lines only, by writers that may be killed and on disks that may be full."""

import os
from pathlib import Path


class LineFile:
    """Appends lines. A line that was cut off, by a kill or a full disk, never takes the next one with it.

    Not safe to use from several threads at once; several processes may write one file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def append(self, line: str) -> None:
        """Add one line; raises OSError where it could not be written whole. Tried again later it may be."""
        if self._descriptor is None:
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            start = b"" if self._ends_a_line() else b"\n"
            content = start + line.encode(errors="replace") + b"\n"
            while content:
                content = content[os.write(self._descriptor, content) :]
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        """Let the file go; the next line opens it again."""
        if self._descriptor is not None:
            descriptor, self._descriptor = self._descriptor, None
            os.close(descriptor)

    def _ends_a_line(self) -> bool:
        assert self._descriptor is not None  # noqa: S101  it was opened a moment ago
        size = os.fstat(self._descriptor).st_size
        return size == 0 or os.pread(self._descriptor, 1, size - 1) == b"\n"
