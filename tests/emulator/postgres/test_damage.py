"""The embedded server survives what happens to a developer's machine: kills, stale files, broken folders."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from emulator.postgres import DataDamaged, PostgresServer
from emulator.postgres.account import server_account
from emulator.postgres.process import WATCH
from tests.emulator.postgres.questions import ask, failure_of_start, run
from tests.support.local_system import wait_for

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


class TestKilledParent:
    def test_takes_the_server_along_in_order(self, folder: Path) -> None:
        with parent_process(folder) as parent:
            dsn = dsn_printed_by(parent)
            assert ask(dsn, "SELECT 1") == 1
            parent.kill()
            wait_for(lambda: not (folder / "data" / "postmaster.pid").exists(), "the end of the server")
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
            wait_for(lambda: any(folder.glob("data.building-*/PG_VERSION")), "the beginning of initdb")
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


def replace_by_file(data: Path) -> None:
    shutil.rmtree(data)
    data.write_text("not a database")


def make_of_another_version(data: Path) -> None:
    (data / "PG_VERSION").write_text("9\n")


class TestBrokenFolder:
    @pytest.mark.parametrize(
        "breakage",
        [
            pytest.param(remove("global/pg_control"), id="pg_control missing"),
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

    def test_without_a_password_that_can_be_read_gets_a_new_one(self, folder: Path) -> None:
        password = folder / "password"
        with PostgresServer(folder, durable=False) as server:
            first = password.read_text()
            run(server.dsn(), "CREATE TABLE kept AS SELECT 42 AS answer")
        for make_unreadable in (password.unlink, lambda: password.write_bytes(b"\xff\xfe")):
            make_unreadable()
            with PostgresServer(folder, durable=False) as server:
                assert ask(server.dsn(), "SELECT answer FROM kept") == 42
                assert password.read_text() != first

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
