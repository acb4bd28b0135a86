"""The state folder of one port: `.local/<port>/`, with everything that outlives a run."""

import contextlib
import fcntl
import hashlib
import hmac
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from emulator.processes.children import ProcessIdentity, is_alive, this_process
from local.errors import LocalSystemError
from local.settings import ROOT

_PASSWORD = re.compile(r"[A-Za-z0-9_-]+")
"""What `secrets.token_urlsafe` makes."""


@dataclass(frozen=True)
class Secrets:
    """What this system made up for itself at its first start."""

    app_password: str = field(repr=False)
    signing_key: dict[str, Any] = field(repr=False)

    @property
    def invocation_key(self) -> str:
        """The secret access key that invocations of functions are signed with; the state folder is nobody else's."""
        return hmac.new(self.app_password.encode(), b"invocations of functions", hashlib.sha256).hexdigest()


@dataclass(frozen=True)
class RunningSystem:
    """Where the running system's parts are, for other commands on this machine."""

    process: ProcessIdentity
    database_url: str = field(repr=False)
    aws_endpoint_url: str
    functions_endpoint_url: str
    """Where functions are invoked as AWS lets one invoke them."""


class StateFolder:
    """`.local/<port>/`. Raises `LocalSystemError` where it cannot be used as it is."""

    def __init__(self, folder: Path, *, port: int) -> None:
        self.folder = folder
        self.port = port
        self.postgres = folder / "postgres"
        self.logs = folder / "logs"
        self.mailbox = folder / "mails.jsonl"
        self.workers = folder / "workers.json"
        self.payments = folder / "payments.json"
        self.switches = folder / "switches"
        self.files = folder / "files"
        self._secrets = folder / "secrets.json"
        self._running = folder / "running.json"

    @staticmethod
    def of_port(port: int) -> "StateFolder":
        return StateFolder(ROOT / ".local" / str(port), port=port)

    @staticmethod
    def running_ports(folder: Path = ROOT / ".local") -> list[int]:
        """Return the ports of all systems of this checkout that run now."""
        ports = [int(each.name) for each in folder.glob("*") if each.name.isascii() and each.name.isdigit()]
        return sorted(port for port in ports if StateFolder(folder / str(port), port=port).running())

    def children(self, command: str) -> Path:
        """Return the folder that remembers the child processes of one command."""
        return self.folder / "children" / command

    @contextlib.contextmanager
    def hold(self, lock: str, taken: str) -> Iterator[None]:
        """Be the only process with this lock; otherwise fail with the sentence `taken`, {pid} filled in.

        The kernel gives the lock back when we die, however that happens.
        """
        if self.folder.exists() and not self.folder.is_dir():
            raise LocalSystemError(f"{shown(self.folder)} is in the way of the state folder: delete it.")
        with self._usable():
            self.folder.mkdir(parents=True, exist_ok=True)
            file = (self.folder / lock).open("a+")
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                raise LocalSystemError(taken.format(pid=file.read().strip() or "unknown")) from None
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            yield

    def prepare(self, *, reset: bool) -> list[str]:
        """Make the folder ready to start in; `reset` empties it first. The caller holds the lock.

        Returns the names of what was deleted.
        """
        deleted = []
        with self._usable():
            for entry in sorted(self.folder.iterdir()) if reset else []:
                if entry.suffix == ".lock":
                    continue
                if entry.is_dir() and not entry.is_symlink():
                    _remove(entry)
                else:
                    entry.unlink()
                deleted.append(entry.name)
            for folder in (self.logs, self.children("run"), self.children("worker")):
                folder.mkdir(parents=True, exist_ok=True)
            self._running.unlink(missing_ok=True)
            # Found here, and not by a part of the system that has nobody to tell.
            for file in (self.mailbox, self.workers, *self.logs.glob("*.log")):
                if file.exists():
                    file.open("a").close()
        return deleted

    def secrets(self) -> Secrets:
        """Return the secrets, made at the first call."""
        from emulator.gateway.tokens import new_signing_key

        with self._usable():
            if not self._secrets.exists():
                _write_privately(self._secrets, asdict(Secrets(secrets.token_urlsafe(24), new_signing_key())))
            return self._read_secrets()

    def known_secrets(self) -> Secrets | None:
        """Return the secrets of a system that was started before, else None."""
        with self._usable():
            return self._read_secrets() if self._secrets.exists() else None

    def announce(self, *, database_url: str, aws_endpoint_url: str, functions_endpoint_url: str) -> None:
        """Tell other commands that this process runs the system."""
        system = RunningSystem(this_process(), database_url, aws_endpoint_url, functions_endpoint_url)
        _write_privately(self._running, asdict(system))

    def withdraw(self) -> None:
        """Tell other commands that the system stopped."""
        self._running.unlink(missing_ok=True)

    def running(self) -> RunningSystem | None:
        """Return the system that runs now, else None: also where it was killed and could not withdraw."""
        try:
            found = json.loads(self._running.read_text())
            process = ProcessIdentity(**found.pop("process"))
            system = RunningSystem(process=process, **found)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        return system if is_alive(process) else None

    def _read_secrets(self) -> Secrets:
        """Return the secrets; raises OSError, ValueError or TypeError where they are not as we wrote them."""
        from emulator.gateway.tokens import check_signing_key

        found = Secrets(**json.loads(self._secrets.read_text()))
        if not _PASSWORD.fullmatch(found.app_password):
            raise ValueError("the password is none of ours")
        check_signing_key(found.signing_key)
        return found

    @contextlib.contextmanager
    def _usable(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ValueError, TypeError) as error:
            reason = "a file in it is damaged"
            if isinstance(error, OSError):
                reason = f"{Path(str(error.filename)).name}: {error.strerror}"
            raise LocalSystemError(
                f"The state folder {shown(self.folder)} cannot be used ({reason}): "
                f"`PORT={self.port} RESET=1 make run` begins with an empty one."
            ) from None


def shown(path: Path) -> str:
    """Return a path as a person at the project's folder types it."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def _remove(folder: Path) -> None:
    """Delete a folder; a database that is still ending in there may add a file meanwhile."""
    for _ in range(50):
        with contextlib.suppress(OSError):
            shutil.rmtree(folder)
            return
        time.sleep(0.1)
    shutil.rmtree(folder)


def _write_privately(path: Path, value: dict[str, Any]) -> None:
    """Write a file that nobody else may read, whole or not at all."""
    building = path.with_suffix(".tmp")
    building.unlink(missing_ok=True)
    with os.fdopen(os.open(building, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(value, file)
    building.replace(path)
