"""Child processes: started so that they do not outlive us, and remembered so that the next start can stop
the ones that did."""

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_ON_LINUX: bool = sys.platform == "linux"


@dataclass(frozen=True)
class ProcessIdentity:
    """One process for ever: its number is given to another one some day, never together with its start."""

    pid: int
    started: str


def identify(pid: int) -> ProcessIdentity | None:
    """Return who runs under this number, or None where nobody does."""
    if _ON_LINUX:
        try:
            # The name in parentheses may hold spaces; state is the first field behind it, start time the 20th.
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        except OSError:
            return None
        return None if fields[0] in "ZX" else ProcessIdentity(pid, f"{boot} {fields[19]}")
    command = ["ps", "-o", "lstart=", "-p", str(pid)]
    started = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()  # noqa: S603
    return ProcessIdentity(pid, started) if started else None


def this_process() -> ProcessIdentity:
    """Return who we are."""
    identity = identify(os.getpid())
    assert identity is not None  # noqa: S101  we do run
    return identity


def is_alive(process: ProcessIdentity) -> bool:
    """Tell whether exactly this process still runs."""
    return identify(process.pid) == process


def end_with_parent(signal_number: int) -> None:
    """Ask the kernel to send this process a signal when its parent dies. Does nothing but on Linux."""
    if _ON_LINUX:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal_number))


class ChildrenStopped(Exception):
    """No child may be started any more: the command ends."""


class Children:
    """The children of this process. `folder` keeps one file per living child."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # The kernel counts the end of the *thread* that started a child as the parent's end, so one
        # thread starts them all and lives as long as they do.
        self._starter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="children")
        self._lock = threading.Lock()
        self._living: dict[int, subprocess.Popen[bytes]] = {}
        self.stopping = False
        """Whether the end of a child is our own doing, because all are stopped."""

    def start(
        self,
        name: str,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        folder: Path,
        output: int,
        pass_fds: Sequence[int] = (),
    ) -> subprocess.Popen[bytes]:
        """Start a child in its own session, so that Ctrl-C reaches only us. `output` takes stdout and stderr.

        Raises `ChildrenStopped` after `stop_all`, and OSError.
        """

        def start() -> subprocess.Popen[bytes]:
            process = subprocess.Popen(  # noqa: S603  our own commands
                list(command),
                env=dict(environment),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=pass_fds,
                # One system call between fork and exec: it takes no lock that another thread may hold.
                preexec_fn=_end_with_us(os.getpid()),  # noqa: PLW1509
            )
            self._remember(name, process)
            return process

        try:
            return self._starter.submit(start).result()
        except (RuntimeError, CancelledError):
            raise ChildrenStopped from None

    def stop(self, process: subprocess.Popen[bytes]) -> int:
        """Kill a child with everything it started, and return its exit code."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        return self.wait(process)

    def wait(self, process: subprocess.Popen[bytes]) -> int:
        """Return a child's exit code once it has ended."""
        code = process.wait()
        with self._lock:
            self._living.pop(process.pid, None)
        with contextlib.suppress(OSError):  # the note of one that is dead does no harm
            self._file(process.pid).unlink(missing_ok=True)
        return code

    def stop_all(self) -> None:
        """Kill every child that still lives. Nothing can be started afterwards."""
        self.stopping = True
        self._starter.shutdown(wait=True, cancel_futures=True)
        with self._lock:
            living = list(self._living.values())
        for process in living:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
        for process in living:
            self.wait(process)

    def _remember(self, name: str, process: subprocess.Popen[bytes]) -> None:
        with self._lock:
            self._living[process.pid] = process
        # Without its note, as on a full disk, it runs all the same: the kernel ends it with us.
        with contextlib.suppress(OSError):
            if identity := identify(process.pid):
                self._folder.mkdir(parents=True, exist_ok=True)
                self._file(process.pid).write_text(json.dumps({"name": name, **asdict(identity)}))

    def _file(self, pid: int) -> Path:
        return self._folder / f"{pid}.json"


def stop_leftovers(folder: Path) -> list[str]:
    """Kill the children that a killed process left behind, and return their names.

    A process is stopped only when number and start time are those of our child.
    """
    stopped = []
    for file in sorted(folder.glob("*.json")):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            found = json.loads(file.read_text())
            identity = ProcessIdentity(int(found["pid"]), str(found["started"]))
            if is_alive(identity):
                os.killpg(identity.pid, signal.SIGKILL)
                stopped.append(str(found["name"]))
        file.unlink(missing_ok=True)
    return stopped


def _end_with_us(parent: int) -> Callable[[], None] | None:
    if not _ON_LINUX:
        return None
    prctl = ctypes.CDLL(None).prctl

    def before_exec() -> None:
        prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
        if os.getppid() != parent:  # it died in between
            os._exit(1)

    return before_exec
