"""Applies the numbered SQL files of `migrations/`: forward only, each once, each in its own transaction.

A file that begins with `-- Outside of a transaction` is the exception, for what PostgreSQL does only there, such as
making an index while others write. Each of its statements stands by itself and may run again after a failure.
"""

import hashlib
import re
import time
from importlib.resources import files

import psycopg
from psycopg import Connection

from skincare.errors import PermanentError

# One migrator at a time: any constant that nothing else uses as an advisory lock.
_LOCK = 5_263_101
_LOOK_AGAIN_S = 0.1

_OUTSIDE = "-- Outside of a transaction"
_END_OF_STATEMENT = re.compile(r";\s*$", re.MULTILINE)


class MigrationChanged(PermanentError):
    """A file was edited after it had been applied: what the database is no longer equals what we read."""

    def __init__(self, name: str) -> None:
        super().__init__(f"migration {name} was changed after it was applied; add a new file instead")


def migration_names() -> list[str]:
    """Return the names of all migration files in the order in which they apply."""
    return sorted(
        entry.name for entry in files(__package__).joinpath("migrations").iterdir() if entry.name.endswith(".sql")
    )


def migrate(conninfo: str) -> list[str]:
    """Apply what is not applied yet and return those files' names.

    Safe to run from several processes at once: an advisory lock lets one work and the others find
    nothing left. Raises `MigrationChanged` before anything is applied; an SQL error leaves the files
    before it applied and the failing one undone.
    """
    with psycopg.connect(conninfo, autocommit=True) as conn:
        # Looked for again and again: an index that is made while others write would wait for whoever waits in a query.
        while conn.execute("SELECT pg_try_advisory_lock(%s)", [_LOCK]).fetchone() != (True,):
            time.sleep(_LOOK_AGAIN_S)
        conn.execute("""
            CREATE TABLE IF NOT EXISTS schema_migrations (
                name text PRIMARY KEY, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now()
            )""")
        applied: dict[str, str] = dict(conn.execute("SELECT name, checksum FROM schema_migrations").fetchall())
        missing = []
        for name in migration_names():
            text = files(__package__).joinpath("migrations", name).read_text()
            checksum = hashlib.sha256(text.encode()).hexdigest()
            if name not in applied:
                missing.append((name, text, checksum))
            elif applied[name] != checksum:
                raise MigrationChanged(name)
        for name, text, checksum in missing:
            _apply(conn, name, text, checksum)
        return [name for name, _, _ in missing]


def _apply(conn: Connection, name: str, text: str, checksum: str) -> None:
    if text.startswith(_OUTSIDE):
        for statement in _END_OF_STATEMENT.split(text):
            conn.execute(statement.encode())
        _note(conn, name, checksum)
        return
    with conn.transaction():
        conn.execute(text.encode())
        _note(conn, name, checksum)


def _note(conn: Connection, name: str, checksum: str) -> None:
    conn.execute("INSERT INTO schema_migrations (name, checksum) VALUES (%s, %s)", [name, checksum])
