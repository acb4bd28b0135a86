"""The way to PostgreSQL that can be slow or cut off, as a process before a real server."""

import socket
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from emulator.postgres import PostgresServer
from emulator.postgres.database_proxy import start_database_proxy
from emulator.processes.children import Children
from emulator.switches import Fault, Switches
from tests.support.local_system import wait_for


class Way:
    """The database's URL through the proxy, and what breaks it."""

    def __init__(self, url: str, switches: Switches) -> None:
        self.url = url
        self.switches = switches

    def connect(self) -> psycopg.Connection:
        return psycopg.connect(self.url, autocommit=True, connect_timeout=5)

    def is_open(self) -> bool:
        try:
            self.connect().close()
        except psycopg.OperationalError:
            return False
        return True


@pytest.fixture
def way(postgres: PostgresServer, tmp_path: Path) -> Iterator[Way]:
    parts = urlsplit(postgres.dsn())
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    (tmp_path / "children").mkdir()
    children = Children(tmp_path / "children")
    switches = Switches(tmp_path / "switches")
    start_database_proxy(children, listener, port=parts.port or 0, switches=switches.folder, logs=tmp_path)
    login = parts.netloc.rpartition("@")[0]
    yield Way(parts._replace(netloc=f"{login}@127.0.0.1:{port}").geturl(), switches)
    children.stop_all()
    assert (tmp_path / "database_proxy.log").read_text() == ""


class TestTheWayToTheDatabase:
    def test_passes_on_whatever_is_asked_and_answered(self, way: Way) -> None:
        large = "x" * 3_000_000
        with way.connect() as conn:
            assert conn.execute("SELECT %s || %s", [large, "y"]).fetchone() == (large + "y",)

    def test_ends_a_session_whose_client_has_gone(self, way: Way, postgres: PostgresServer) -> None:
        with way.connect() as conn:
            pid = conn.info.backend_pid
        with psycopg.connect(postgres.dsn(), autocommit=True) as direct:
            gone = "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = %s)"
            wait_for(lambda: direct.execute(gone, [pid]).fetchone() == (True,), "the end of the session")

    def test_that_is_cut_off_drops_sessions_and_takes_no_new_ones_until_it_is_mended(self, way: Way) -> None:
        with way.connect() as conn:
            assert conn.execute("SELECT 1").fetchone() == (1,)
            way.switches.turn(Fault.DATABASE_GONE, on=True)
            assert not way.is_open()
            with pytest.raises(psycopg.OperationalError):  # noqa: PT012  it is cut at the next look
                for _ in range(100):
                    conn.execute("SELECT pg_sleep(0.1)")
        way.switches.turn(Fault.DATABASE_GONE, on=False)
        assert way.is_open()

    def test_that_is_slow_makes_each_round_trip_half_a_second_longer(self, way: Way) -> None:
        with way.connect() as conn:
            way.switches.turn(Fault.DATABASE_SLOW, on=True)
            started = time.monotonic()
            conn.execute("SELECT 1")
            assert 0.5 <= time.monotonic() - started < 5
            way.switches.turn(Fault.DATABASE_SLOW, on=False)
            started = time.monotonic()
            conn.execute("SELECT 1")
            assert time.monotonic() - started < 0.5
