"""A database of its own for every test: a copy of one that the migrations made."""

import contextlib
import fcntl
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import Connection
from psycopg.sql import SQL, Identifier

from local.postgres import PostgresServer
from skincare.database.migrate import migrate

MEMORY = Path("/dev/shm")
ENOUGH_MEMORY = 1 << 30
PREFIX = "skincare-tests-"
NEW_S = 60
TEMPLATE = "template_of_tests"


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """Give a short-lived folder that the server's account may enter; pytest's tmp_path is closed to it.

    It is in memory where there is enough: each test creates and deletes the three hundred files of a
    database, and some file systems (ext4 without a journal) become twenty times slower by that.
    """
    in_memory = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= ENOUGH_MEMORY
    parent = MEMORY if in_memory else Path(tempfile.gettempdir())
    _remove_leftovers(parent)
    folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    folder.chmod(0o755)
    with _lock(folder):
        try:
            yield folder
        finally:
            shutil.rmtree(folder)


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Hold a lock that ends with the process; raises BlockingIOError when another process holds it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _remove_leftovers(parent: Path) -> None:
    """Delete what killed test runs left, or they would fill the memory; a new folder may not be locked yet."""
    for leftover in parent.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if time.time() - leftover.stat().st_mtime > NEW_S:
                with _lock(leftover):
                    shutil.rmtree(leftover, ignore_errors=True)


@dataclass(frozen=True)
class TemplateDatabase:
    """The migrated database that tests get copies of, and the way in to them for the role `app`."""

    server: PostgresServer
    admin: Connection
    app_password: str

    @contextlib.contextmanager
    def copy(self) -> Iterator[str]:
        """Create a copy and yield its name; drop it afterwards, whoever is still connected."""
        name = f"test_{secrets.token_hex(6)}"
        # FILE_COPY took 18 ms and WAL_LOG 30 ms on a server without fsync.
        create = SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")
        self.admin.execute(create.format(Identifier(name), Identifier(TEMPLATE)))
        try:
            yield name
        finally:
            self.admin.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))

    def app_url(self, database: str) -> str:
        """Return the DSN of what the functions connect as."""
        return self.server.dsn(database=database, user="app", password=self.app_password)


@contextlib.contextmanager
def migrated_template(server: PostgresServer) -> Iterator[TemplateDatabase]:
    """Create the template database with all migrations and a password for the role `app`."""
    with psycopg.connect(server.dsn(), autocommit=True) as admin:
        admin.execute(SQL("CREATE DATABASE {}").format(Identifier(TEMPLATE)))
        migrate(server.dsn(database=TEMPLATE))
        password = secrets.token_urlsafe(24)
        admin.execute(SQL("ALTER ROLE app PASSWORD {}").format(password))
        yield TemplateDatabase(server, admin, password)
