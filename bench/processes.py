"""Programs that a measurement needs beside itself, and waiting for what they do."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from emulator.loopback.ports import free_port

_TIMEOUT_S = 120.0


def wait_until(condition: Callable[[], bool], *, pause_s: float = 0.05) -> None:
    """Return once the condition holds; raises `RuntimeError` after two minutes."""
    deadline = time.monotonic() + _TIMEOUT_S
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError("the workers did not do their jobs in time")
        time.sleep(pause_s)


@contextlib.contextmanager
def running(command: Sequence[str], *, folder: Path, environment: Mapping[str, str], output: int) -> Iterator[None]:
    """Run a program with all that it starts, until the end of the block."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**environment},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,
    )
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@contextlib.contextmanager
def output_on_failure() -> Iterator[int]:
    """Yield a file that takes what processes say; it is shown only when something fails."""
    with tempfile.TemporaryFile() as file:
        try:
            yield file.fileno()
        except Exception:
            file.seek(0)
            sys.stderr.write(file.read().decode(errors="replace")[-4000:])
            raise


@contextlib.contextmanager
def redis() -> Iterator[str]:
    """Run a Redis without persistence, as fast as it can be."""
    port = free_port()
    process = subprocess.Popen(
        ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=Path(tempfile.gettempdir()),
    )
    try:
        wait_until(lambda: _answers(port))
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        process.terminate()
        process.wait()


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False
