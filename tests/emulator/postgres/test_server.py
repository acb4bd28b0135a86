"""The embedded server starts, lets in whom it should, and stops."""

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from emulator.loopback.ports import free_port
from emulator.postgres import PostgresServer
from emulator.postgres import server as server_module
from tests.emulator.postgres.questions import DEADLINE_S, ask, exists, failure_of_start, run


class TestStart:
    def test_gives_the_version_that_migrations_are_tested_on_and_text_in_utf8(self, postgres: PostgresServer) -> None:
        assert ask(postgres.dsn(), "SHOW server_version").startswith("18.")
        assert ask(postgres.dsn(), "SHOW server_encoding") == "UTF8"

    @pytest.mark.parametrize(("durable", "fsync"), [(True, "on"), (False, "off")])
    def test_only_a_volatile_server_leaves_the_disk_behind_and_each_keeps_time_in_utc(
        self, folder: Path, durable: bool, fsync: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TZ", "Asia/Jakarta")
        with PostgresServer(folder, durable=durable) as server:
            assert ask(server.dsn(), "SHOW fsync") == fsync
            assert ask(server.dsn(), "SHOW synchronous_commit") == fsync
            assert ask(server.dsn(), "SHOW timezone") == "UTC"

    def test_is_not_run_by_root_and_leaves_files_that_only_their_owner_reads(self, folder: Path) -> None:
        with PostgresServer(folder, durable=False) as server:
            process = folder / "data" / "postmaster.pid"
            assert process.read_text().startswith(f"{server.pid}\n")
            assert process.stat().st_uid != 0
            log = folder / "postgres.log"
            assert "ready to accept connections" in log.read_text()
            assert [stat.S_IMODE(file.stat().st_mode) for file in (log, folder / "password")] == [0o600, 0o600]

    def test_a_ctrl_c_at_the_terminal_does_not_reach_the_database(self, postgres: PostgresServer) -> None:
        assert os.getpgid(postgres.pid) != os.getpgrp()


class TestAccess:
    @pytest.mark.parametrize("password", ["wrong", None])
    def test_nobody_enters_without_the_password(
        self, postgres: PostgresServer, password: str | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("PGPASSFILE", os.devnull)
        monkeypatch.setattr(postgres, "_password", password)
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(postgres.dsn())

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
    def test_leaves_data_password_and_the_wanted_port_to_the_next_start(self, folder: Path) -> None:
        port = free_port()
        with PostgresServer(folder, port=port, durable=False) as server:
            run(server.dsn(), "CREATE TABLE kept AS SELECT 42 AS answer")
        with PostgresServer(folder, port=port, durable=False) as again:
            assert again.dsn() == server.dsn()
            assert ask(again.dsn(), "SELECT answer FROM kept") == 42

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

    def test_is_orderly_and_leaves_no_child_behind(self, folder: Path) -> None:
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
        log = (folder / "postgres.log").read_text()
        assert "received fast shutdown request" in log
        assert log.rstrip().endswith("database system is shut down")
