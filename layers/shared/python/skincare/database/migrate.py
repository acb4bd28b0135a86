"""Brings a database's schema up to this release: numbered files for tables and data, one file for each function.

The files of `migrations/` are applied forward only, each once, each in its own transaction. The functions and triggers
of `functions/` are applied again whenever their version rises, in the transaction of the last numbered file. A numbered
file that begins with `-- With name.sql, other.sql:` has these functions installed in its own transaction: for a table
that a trigger must keep from its first row on.

A numbered file that begins with `-- Outside of a transaction` is for what PostgreSQL does only there, such as making an
index while others write. Each of its statements stands by itself and may run again after a failure.
"""

import time
from collections.abc import Sequence

import psycopg
from psycopg import Connection

from skincare.database.adoption import adopt
from skincare.database.sql_files import Function, Migration, functions, migrations
from skincare.errors import PermanentError

# One migrator at a time: any constant that nothing else uses as an advisory lock.
_LOCK = 5_263_101
_LOOK_AGAIN_S = 0.1


class MigrationChanged(PermanentError):
    """A file was edited after it had been applied: what the database is no longer equals what we read."""

    def __init__(self, what: str, way_out: str) -> None:
        super().__init__(f"{what} was changed after it was applied; {way_out}")


def migrate(
    conninfo: str, tables: Sequence[Migration] | None = None, routines: Sequence[Function] | None = None
) -> list[str]:
    """Apply what is not applied yet and return those files' names in that order.

    `tables` and `routines` are this release's files unless a test brings its own. Safe to run from several processes
    at once: an advisory lock lets one work and the others find nothing left. An older release neither undoes a newer
    one's tables nor brings its own functions back. Raises `MigrationChanged` and `SchemaForeign` before anything is
    applied; an SQL error leaves the files before it applied and the failing one undone.
    """
    tables = migrations() if tables is None else tables
    routines = functions() if routines is None else routines
    with psycopg.connect(conninfo, autocommit=True) as conn:
        # Looked for again and again: an index that is made while others write would wait for whoever waits in a query.
        while conn.execute("SELECT pg_try_advisory_lock(%s)", [_LOCK]).fetchone() != (True,):
            time.sleep(_LOOK_AGAIN_S)
        _make_ledger(conn)
        adopt(conn, tables)
        pending = _pending_tables(conn, tables)
        changed = _pending_routines(conn, routines)
        if not pending and _is_newer(conn, tables):
            # A newer release may have given a function up that this one has: it knows why.
            return []
        applied = []
        for each in pending[:-1]:
            brought = [routine for routine in changed if routine.name in each.brings]
            changed = [routine for routine in changed if routine not in brought]
            _apply(conn, each, brought)
            applied += [each.name, *(routine.name for routine in brought)]
        if pending or changed:
            _apply(conn, pending[-1] if pending else None, changed)
        return [*applied, *(each.name for each in pending[-1:]), *(each.name for each in changed)]


def _make_ledger(conn: Connection) -> None:
    conn.execute("""
        CREATE TABLE IF NOT EXISTS schema_migrations (
            name text PRIMARY KEY, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now()
        )""")
    conn.execute("""
        CREATE TABLE IF NOT EXISTS schema_functions (
            name text PRIMARY KEY, version integer NOT NULL, checksum text NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT now()
        )""")


def _pending_tables(conn: Connection, tables: Sequence[Migration]) -> list[Migration]:
    applied: dict[str, str] = dict(conn.execute("SELECT name, checksum FROM schema_migrations").fetchall())
    for each in tables:
        if applied.get(each.name, each.checksum) != each.checksum:
            raise MigrationChanged(f"migration {each.name}", "add a new file instead")
    return [each for each in tables if each.name not in applied]


def _pending_routines(conn: Connection, routines: Sequence[Function]) -> list[Function]:
    """Return the functions that are newer than those installed."""
    rows = conn.execute("SELECT name, version, checksum FROM schema_functions").fetchall()
    installed: dict[str, tuple[int, str]] = {name: (version, checksum) for name, version, checksum in rows}
    pending = []
    for each in routines:
        version, checksum = installed.get(each.name, (0, ""))
        if version == each.version and checksum != each.checksum:
            raise MigrationChanged(f"function {each.name}", f"raise its version to {version + 1}")
        if version < each.version:
            pending.append(each)
    return pending


def _is_newer(conn: Connection, tables: Sequence[Migration]) -> bool:
    """Tell whether the database has migrations that these do not know."""
    names = [each.name for each in tables]
    row = conn.execute("SELECT EXISTS (SELECT FROM schema_migrations WHERE name <> ALL (%s))", [names]).fetchone()
    return row == (True,)


def _apply(conn: Connection, migration: Migration | None, routines: Sequence[Function]) -> None:
    if migration is not None and migration.is_outside:
        for statement in migration.statements():
            conn.execute(statement.encode())
    with conn.transaction():
        if migration is not None:
            if not migration.is_outside:
                conn.execute(migration.text.encode())
            conn.execute(
                "INSERT INTO schema_migrations (name, checksum) VALUES (%s, %s)", [migration.name, migration.checksum]
            )
        # Functions name one another, and none of them runs before all are there.
        conn.execute("SET LOCAL check_function_bodies = off")
        for each in routines:
            conn.execute(each.text.encode())
            conn.execute(
                """
                INSERT INTO schema_functions (name, version, checksum) VALUES (%(name)s, %(version)s, %(checksum)s)
                ON CONFLICT (name) DO UPDATE
                SET version = EXCLUDED.version, checksum = EXCLUDED.checksum, applied_at = now()""",
                {"name": each.name, "version": each.version, "checksum": each.checksum},
            )
