"""The running server: one process, and a second one that ends it when we die."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import BinaryIO

from emulator.postgres.account import run, server_account
from emulator.postgres.errors import PostgresFailed

WATCH = 'read -r line; kill -INT "$1"'
"""Reads a pipe whose other end only we hold: it ends when we die, however we die.

PR_SET_PDEATHSIG is weaker: it fires when the *thread* that started the server ends, so a start in a thread
pool would stop the database at a random moment, and only Linux has it."""

START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 10


def launch(command: list[str], output: BinaryIO) -> subprocess.Popen[bytes]:
    """Start the server as its own account and do not wait for it; `output` takes all that it says."""
    return subprocess.Popen(  # noqa: S603  no shell, and nothing in it comes from a request
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        **server_account(),
    )


def accepts_connections(process: subprocess.Popen[bytes], data: Path) -> bool:
    """Wait until the server is ready; False when it ended instead. Raises PostgresFailed after a minute."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while process.poll() is None:
        lines = _pid_file(data)
        # The eighth line is the status that pg_ctl waits for too; the first tells ours from a stale file.
        if len(lines) >= 8 and lines[0] == str(process.pid) and lines[7].strip() == "ready":
            return True
        if time.monotonic() > deadline:
            raise PostgresFailed(f"PostgreSQL was not ready within {START_TIMEOUT_S} seconds.")
        time.sleep(0.005)
    return False


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask for a fast shutdown, then for an immediate one; kill only what answers neither."""
    for stop_signal in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        process.send_signal(stop_signal)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=STOP_TIMEOUT_S)
            return


def watch_over(process: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
    """Start the process that stops the server when we die without having stopped it."""
    command = ["/bin/sh", "-c", WATCH, "sh", str(process.pid)]
    return subprocess.Popen(  # noqa: S603  the only variable is a process number
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **server_account(),
    )


def end_watcher(watcher: subprocess.Popen[bytes]) -> None:
    """Kill it before its pipe closes, or it would signal a process number that may be another's by now."""
    watcher.kill()
    watcher.communicate()


def stop_survivor(data: Path) -> None:
    """Stop the server that a killed parent left on this data; another process that got its number is left alone.

    Raises PostgresFailed when it does not stop.
    """
    pid = next((int(line) for line in _pid_file(data)[:1] if line.isdecimal()), 0)
    if not pid:
        return
    deadline = time.monotonic() + STOP_TIMEOUT_S
    for stop_signal in (signal.SIGINT, signal.SIGQUIT):
        if _serves(pid, data):
            os.kill(pid, stop_signal)
        while _serves(pid, data) and time.monotonic() < deadline:
            time.sleep(0.005)
        deadline += STOP_TIMEOUT_S
    if _serves(pid, data):
        raise PostgresFailed(f"PostgreSQL process {pid} still uses {data} and does not stop.")
    # PostgreSQL judges a number by whether it exists, and would refuse to start because of the other process.
    (data / "postmaster.pid").unlink(missing_ok=True)


def _pid_file(data: Path) -> list[str]:
    try:
        return (data / "postmaster.pid").read_text(errors="replace").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return []


def _serves(pid: int, data: Path) -> bool:
    """Whether this process is a server of ours on this data; a zombie has no command line and is none.

    /proc shows a command line to every account, unlike the working directory. macOS has no /proc.
    """
    proc = Path(f"/proc/{pid}/cmdline")
    if Path("/proc/self").exists():
        line = proc.read_text(errors="replace").replace("\0", " ") if proc.exists() else ""
    else:
        line = run(["ps", "-ww", "-o", "command=", "-p", str(pid)], check=False).stdout
    return f"/postgres -D {data} -p " in line
