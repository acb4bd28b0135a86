"""Folders for the databases of tests: in memory where there is enough."""

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

MEMORY = Path("/dev/shm")
ENOUGH_MEMORY = 1 << 30
PREFIX = "skincare-tests-"
NEW_S = 60


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """Give a short-lived folder that the server's account may enter; pytest's tmp_path is closed to it.

    It is in memory where there is enough: each test creates and deletes the three hundred files of a
    database, and some file systems (ext4 without a journal) become twenty times slower by that.
    """
    in_memory = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= ENOUGH_MEMORY
    parent = MEMORY if in_memory else Path(tempfile.gettempdir())
    _remove_leftovers(parent)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    folder.chmod(0o755)
    with _lock(folder):
        try:
            yield folder
        finally:
            shutil.rmtree(folder)


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Hold a lock that ends with the process; raises BlockingIOError when another process holds it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _remove_leftovers(parent: Path) -> None:
    """Delete what killed test runs left, or they would fill the memory; a new folder may not be locked yet."""
    for leftover in parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if time.time() - leftover.stat().st_mtime > NEW_S:
                with _lock(leftover):
                    shutil.rmtree(leftover, ignore_errors=True)
