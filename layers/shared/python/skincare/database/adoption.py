"""Takes over a database that the former numbering of migrations has made, once; no other schema is ours."""

import hashlib
from collections.abc import Mapping, Sequence
from importlib.resources import files

from psycopg import Connection

from skincare.database.sql_files import Migration
from skincare.errors import PermanentError

BASELINE_ENDS = "0109_operations.sql"
"""The last of the files that make what the former ones made; those after it are applied to an adopted database too."""

# What a schema means to those who use it: the order of columns and the names of files play no role.
_CONTENTS: Mapping[str, str] = {
    "column": """
        SELECT c.relname || '.' || a.attname, format('%s %s %s %s %s', format_type(a.atttypid, a.atttypmod),
            a.attnotnull, a.attidentity, a.attgenerated, pg_get_expr(d.adbin, d.adrelid))
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'p')
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        WHERE c.relnamespace = 'public'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped""",
    # Since PostgreSQL 18 what is NOT NULL stands here too.
    "constraint": """
        SELECT c.relname || '.' || conname, pg_get_constraintdef(k.oid) || k.convalidated
        FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
        WHERE connamespace = 'public'::regnamespace AND contype <> 'n'""",
    "index": """
        SELECT t.relname || '.' || c.relname, pg_get_indexdef(i.indexrelid) || i.indisvalid
        FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_class t ON t.oid = i.indrelid
        WHERE t.relnamespace = 'public'::regnamespace""",
    "right": """
        SELECT format('%s.%s %s', table_name, lower(privilege_type), grantee), is_grantable
        FROM information_schema.role_table_grants WHERE table_schema = 'public' AND grantee = 'app'
        UNION ALL
        SELECT format('%s.%s %s %s', table_name, lower(privilege_type), column_name, grantee), is_grantable
        FROM information_schema.role_column_grants WHERE table_schema = 'public' AND grantee = 'app'
            AND NOT has_table_privilege(grantee::name, format('public.%I', table_name), privilege_type)""",
}


class SchemaForeign(PermanentError):
    """The database holds a schema that no migration of this release leads on from."""


def former_names() -> list[str]:
    """Return the names of all migrations of the former numbering."""
    return files(__package__).joinpath("former_migrations.txt").read_text().split()


def adopt(conn: Connection, migrations: Sequence[Migration]) -> None:
    """Note the baseline as applied where the former migrations made the same tables.

    Functions are left to the migrator, which replaces them all. Raises `SchemaForeign` where the former migrations are
    incomplete, where one is unknown, and where the tables were changed by hand.
    """
    former = set(former_names())
    applied = {name for (name,) in conn.execute("SELECT name FROM schema_migrations").fetchall()}
    if not applied & former:
        return
    if missing := sorted(former - applied):
        raise SchemaForeign(
            f"the database lacks migration {missing[0]} of the former numbering: deploy the last release that has it, "
            "then this one"
        )
    if unknown := sorted(applied - former):
        raise SchemaForeign(
            f"the database has migration {unknown[0]} on top of the former numbering: deploy a release that has it"
        )
    found, expected = schema(conn), _expected()
    if differences := sorted(found.items() ^ expected.items()):
        raise SchemaForeign(
            f"the database differs from what its migrations make, at {differences[0][0]}: undo what was changed by hand"
        )
    with conn.transaction():
        conn.execute("DELETE FROM schema_migrations")
        # A table that is made once the role is there gets the role's rights by default.
        conn.execute("REVOKE ALL ON schema_functions FROM app")
        for each in migrations:
            if each.name <= BASELINE_ENDS:
                conn.execute(
                    "INSERT INTO schema_migrations (name, checksum) VALUES (%s, %s)", [each.name, each.checksum]
                )


def schema(conn: Connection) -> dict[str, str]:
    """Return a checksum of each column, constraint, index and right of the role `app`, by its kind and name.

    What the migrator notes for itself is left out.
    """
    contents: dict[str, str] = {}
    for kind, query in _CONTENTS.items():
        for name, text in conn.execute(query.encode()):
            if not name.startswith(("schema_migrations.", "schema_functions.")):
                contents[f"{kind} {name}"] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return contents


def _expected() -> dict[str, str]:
    lines = files(__package__).joinpath("adopted_schema.txt").read_text().splitlines()
    return {name: checksum for name, _, checksum in (line.rpartition(" ") for line in lines)}
