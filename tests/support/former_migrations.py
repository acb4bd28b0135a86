"""The migrations of the former numbering, and the schema that a database made by them must have to be adopted."""

from pathlib import Path

import psycopg

from skincare.database.adoption import BASELINE_ENDS, schema
from skincare.database.migrate import migrate
from skincare.database.sql_files import Function, Migration, functions, migrations

FOLDER = Path(__file__).parents[1] / "data/former_migrations"


def former_migrations(before: str = "9999") -> list[Migration]:
    """The files up to a name, that one left out."""
    return [Migration(path.name, path.read_text()) for path in sorted(FOLDER.glob("*.sql")) if path.name < before]


def apply_former(conninfo: str, before: str = "9999", after: str = "") -> list[str]:
    """Apply the former files as the migrator of their time did, and return their names."""
    applied = []
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute(
            "CREATE TABLE IF NOT EXISTS schema_migrations (name text PRIMARY KEY, checksum text NOT NULL,"
            " applied_at timestamptz NOT NULL DEFAULT now())"
        )
        for each in former_migrations(before):
            if each.name < after:
                continue
            for statement in each.statements() if each.is_outside else [each.text]:
                conn.execute(statement.encode())
            conn.execute("INSERT INTO schema_migrations VALUES (%s, %s)", [each.name, each.checksum])
            applied.append(each.name)
    return applied


def baseline() -> tuple[list[Migration], list[Function]]:
    """The numbered files that replace the former ones, with all functions but those that a later file brings."""
    later = {name for each in migrations() if each.name > BASELINE_ENDS for name in each.brings}
    tables = [each for each in migrations() if each.name <= BASELINE_ENDS]
    return tables, [each for each in functions() if each.name not in later]


def baseline_schema(conninfo: str) -> list[str]:
    """Make the baseline's schema in an empty database and return the lines of `adopted_schema.txt`."""
    migrate(conninfo, *baseline())
    with psycopg.connect(conninfo, autocommit=True) as conn:
        return sorted(f"{name} {checksum}" for name, checksum in schema(conn).items())
