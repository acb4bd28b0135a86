"""The database that each test has for itself."""

from typing import Any

import psycopg
import pytest

from skincare.database.sql_files import functions, migrations
from tests.support.database import TemplateDatabase


def ask(dsn: str, statement: str) -> Any:
    with psycopg.connect(dsn, autocommit=True) as conn:
        row = conn.execute(statement.encode()).fetchone()
        return row and row[0]


def run(dsn: str, statement: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(statement.encode())


class TestDatabaseOfATest:
    def test_is_entered_as_app_and_owned_by_the_superuser(self, database_url: str, owner_url: str) -> None:
        assert ask(database_url, "SELECT current_user") == "app"
        assert ask(owner_url, "SELECT current_user") == "postgres"
        assert ask(database_url, "SELECT current_database()") == ask(owner_url, "SELECT current_database()")

    def test_has_every_migration_and_function(self, owner_url: str) -> None:
        assert ask(owner_url, "SELECT count(*) FROM schema_migrations") == len(migrations())
        assert ask(owner_url, "SELECT count(*) FROM schema_functions") == len(functions())

    def test_is_seen_by_no_other_test(self, template_database: TemplateDatabase) -> None:
        server = template_database.server
        with template_database.copy() as one, template_database.copy() as two:
            run(server.dsn(database=one), "CREATE TABLE mine ()")
            run(server.dsn(database=two), "CREATE TABLE mine ()")

    def test_is_dropped_whoever_is_still_connected(self, template_database: TemplateDatabase) -> None:
        with template_database.copy() as name:
            url = template_database.app_url(name)
            forgotten = psycopg.connect(url)
        with forgotten, pytest.raises(psycopg.OperationalError):
            forgotten.execute("SELECT 1")
        with pytest.raises(psycopg.OperationalError, match="does not exist"):
            psycopg.connect(url)
