"""Where measurements happen: a durable PostgreSQL of their own, as careful as the deployed one."""

import contextlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from psycopg import Connection
from psycopg.sql import SQL, Identifier

from emulator.postgres import PostgresServer
from skincare.database.migrate import migrate


class NotMeasured(Exception):
    """Something that a measurement needs is not on this machine; the message says what."""


DISK = Path("/var/tmp")
"""On a disk also where /tmp is in memory: a commit must cost what it costs."""


@dataclass(frozen=True)
class Effort:
    """How long to measure. `scale` shortens each round; ratios of short rounds are noisier, not other ones.

    `lives` is how many jobs live and go before the grown tables are looked at.
    """

    rounds: int
    scale: float
    lives: int

    def times(self, number: int) -> int:
        return max(int(number * self.scale), 10)


FULL = Effort(rounds=7, scale=1.0, lives=1_000_000)
QUICK = Effort(rounds=3, scale=0.25, lives=20_000)


@dataclass(frozen=True)
class BenchDatabase:
    """A migrated database. `url` is the way in for the role `app`; `owner` may do anything."""

    url: str = field(repr=False)
    owner_url: str = field(repr=False)
    owner: Connection


class BenchEnvironment:
    """A server for one run of the bench, and fresh databases on it."""

    def __init__(self, server: PostgresServer, scratch: Path) -> None:
        self._server = server
        self.scratch = scratch

    @contextlib.contextmanager
    def database(self) -> Iterator[BenchDatabase]:
        """Make a database with all migrations; drop it afterwards, whoever is still connected."""
        name, password = f"bench_{secrets.token_hex(4)}", secrets.token_urlsafe(24)
        owner_url = self._server.dsn(database=name)
        with psycopg.connect(self._server.dsn(), autocommit=True) as admin:
            admin.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
            try:
                migrate(owner_url)
                admin.execute(SQL("ALTER ROLE app PASSWORD {}").format(password))
                # Sixteen waiters on one row of a busy machine are what is measured, not an outage.
                admin.execute("ALTER ROLE app SET statement_timeout = '60s'")
                admin.execute("ALTER ROLE app SET lock_timeout = '60s'")
                with psycopg.connect(owner_url, autocommit=True) as owner:
                    yield BenchDatabase(
                        self._server.dsn(database=name, user="app", password=password), owner_url, owner
                    )
            finally:
                admin.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


@contextlib.contextmanager
def bench_environment() -> Iterator[BenchEnvironment]:
    """Start a durable server in a folder that is deleted at the end."""
    parent = DISK if DISK.is_dir() and os.access(DISK, os.W_OK) else Path(tempfile.gettempdir())
    folder = Path(tempfile.mkdtemp(prefix="skincare-bench-", dir=parent))
    folder.chmod(0o755)
    try:
        with PostgresServer(folder / "postgres", durable=True) as server:
            yield BenchEnvironment(server, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
