"""The local system from outside: its commands as processes, its folder below .local/."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from emulator.loopback.ports import free_port
from emulator.processes.children import ProcessIdentity, identify, is_alive
from local.state import StateFolder
from tests.support.local_system import wait_for

START = timedelta(seconds=90)
"""A start takes a few seconds, unless everything else runs at the same time."""

ROOT = Path(__file__).resolve().parents[2]


class Command:
    """One `python -m local …` as a person starts it in a terminal."""

    def __init__(self, name: str, port: int, **environment: str) -> None:
        inherited = {key: value for key, value in os.environ.items() if key not in {"MAKELEVEL", "RESET"}}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "local", name],
            cwd=ROOT,
            env={**inherited, "PORT": str(port), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def wait_for_line(self, part: str) -> None:
        """Return once a line with this part was printed; fail when the process ended without."""
        wait_for(lambda: part in self.text or self._process.poll() is not None, f"the line {part!r}", timeout=START)
        if self._process.poll() is not None:
            self._reader.join(timeout=60)
        assert part in self.text, self.text

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def end(self) -> int:
        """Wait for the end and return the exit code."""
        code = self._process.wait(timeout=60)
        self._reader.join(timeout=30)
        return code

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output:
            for line in output:
                self.lines.append(line.rstrip("\n"))


class Terminals:
    """Commands for one port; whatever still runs at the end of the test is killed with its children."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.state = StateFolder.of_port(port)
        self._commands: list[Command] = []

    def start(self, name: str, **environment: str) -> Command:
        command = Command(name, self.port, **environment)
        self._commands.append(command)
        return command

    def cli(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `skincare` to its end."""
        command = [sys.executable, "-m", "cli.main", *arguments]
        environment = {**os.environ, "PORT": str(self.port)}
        return subprocess.run(
            command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
        )

    def close(self) -> None:
        for command in self._commands:
            family = family_of(command.pid)
            command.send(signal.SIGKILL)
            command.end()
            for process in family:
                with contextlib.suppress(ProcessLookupError):
                    if is_alive(process):
                        os.kill(process.pid, signal.SIGKILL)
        shutil.rmtree(self.state.folder, ignore_errors=True)


def family_of(pid: int) -> list[ProcessIdentity]:
    """Return a process and everything it started, and what those started."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(stat.parent.name))
    family, waiting = [], [pid]
    while waiting:
        number = waiting.pop()
        if identity := identify(number):
            family.append(identity)
        waiting += children.get(number, [])
    return family


@pytest.fixture
def terminals() -> Iterator[Terminals]:
    """A port that nobody uses, and commands for it."""
    terminals = Terminals(free_port())
    yield terminals
    terminals.close()
