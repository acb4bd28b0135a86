"""The migrator: what it applies, in which order, and what it leaves alone."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg import Connection, errors

from skincare.database.migrate import MigrationChanged, migrate
from skincare.database.sql_files import Function, Migration, functions, migrations
from tests.support.shop import wait_until

TABLE = Migration("0001_things.sql", "CREATE TABLE things (id integer PRIMARY KEY)")
COLUMN = Migration("0002_colour.sql", "ALTER TABLE things ADD COLUMN colour text")
BROKEN = Migration("0003_broken.sql", "CREATE TABLE more (id integer); SELECT 1 / 0")
INDEX = Migration(
    "0003_index.sql",
    "-- Outside of a transaction: others write\nDROP INDEX CONCURRENTLY IF EXISTS i;\n"
    "CREATE UNIQUE INDEX CONCURRENTLY i ON things (colour);\n",
)


def answer(value: int, *, version: int) -> Function:
    text = f"CREATE OR REPLACE FUNCTION answer() RETURNS integer LANGUAGE sql AS 'SELECT {value}'"
    return Function("answer.sql", f"-- Version {version}.\n{text}")


COUNT = Function(
    "a_count.sql",
    "-- Version 1.\nCREATE OR REPLACE FUNCTION a_count() RETURNS bigint LANGUAGE sql AS "
    "'SELECT count(*) + answer() FROM things WHERE colour IS NULL'",
)


@pytest.fixture
def conn(empty: str) -> Iterator[Connection]:
    with psycopg.connect(empty, autocommit=True) as conn:
        yield conn


def value(conn: Connection, query: str) -> object:
    row = conn.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


class TestMigrations:
    def test_apply_once_and_in_order(self, empty: str) -> None:
        assert migrate(empty, [TABLE], []) == [TABLE.name]
        assert migrate(empty, [TABLE, COLUMN], []) == [COLUMN.name]
        assert migrate(empty, [TABLE, COLUMN], []) == []

    def test_that_were_edited_are_refused_before_anything_is_applied(self, empty: str, conn: Connection) -> None:
        migrate(empty, [TABLE], [])
        edited = Migration(TABLE.name, f"{TABLE.text} ")
        with pytest.raises(MigrationChanged, match=r"0001_things\.sql was changed after it was applied; add a new"):
            migrate(empty, [edited, COLUMN], [])
        with pytest.raises(errors.UndefinedColumn):
            conn.execute("SELECT colour FROM things")

    def test_that_fail_leave_those_before_them(self, empty: str, conn: Connection) -> None:
        with pytest.raises(errors.DivisionByZero):
            migrate(empty, [TABLE, COLUMN, BROKEN], [answer(1, version=1)])
        assert value(conn, "SELECT to_regclass('more') IS NULL AND to_regproc('answer') IS NULL") is True
        assert migrate(empty, [TABLE, COLUMN], []) == []

    def test_run_by_many_processes_apply_once(self, empty: str) -> None:
        with ThreadPoolExecutor(6) as pool:
            runs = [pool.submit(migrate, empty, [TABLE, COLUMN], [COUNT, answer(1, version=1)]) for _ in range(6)]
        applied = [run.result(timeout=60) for run in runs]
        assert sorted(map(len, applied)) == [0, 0, 0, 0, 0, 4]

    def test_that_another_branch_knows_hold_up_none_of_this_one(self, empty: str) -> None:
        migrate(empty, [TABLE, Migration("0002_size.sql", "ALTER TABLE things ADD COLUMN size integer")], [])
        assert migrate(empty, [TABLE, COLUMN], []) == [COLUMN.name]


class TestAMigrationOutsideOfATransaction:
    def test_makes_an_index_while_others_write(self, empty: str) -> None:
        assert migrate(empty, [TABLE, COLUMN, INDEX], []) == [TABLE.name, COLUMN.name, INDEX.name]
        assert migrate(empty, [TABLE, COLUMN, INDEX], []) == []

    def test_that_failed_is_not_noted_and_runs_again_whole(self, empty: str, conn: Connection) -> None:
        migrate(empty, [TABLE, COLUMN], [])
        conn.execute("INSERT INTO things VALUES (1, 'red'), (2, 'red')")
        with pytest.raises(errors.UniqueViolation):
            migrate(empty, [TABLE, COLUMN, INDEX], [answer(1, version=1)])
        assert value(conn, "SELECT count(*) FROM schema_migrations") == 2
        assert value(conn, "SELECT to_regproc('answer') IS NULL") is True
        conn.execute("DELETE FROM things WHERE id = 2")
        assert migrate(empty, [TABLE, COLUMN, INDEX], [answer(1, version=1)]) == [INDEX.name, "answer.sql"]
        assert value(conn, "SELECT indisvalid FROM pg_index WHERE indexrelid = 'i'::regclass") is True

    def test_is_noted_together_with_the_functions_after_it(self, empty: str, conn: Connection) -> None:
        wrong = Function("answer.sql", "-- Version 1.\nCREATE OR REPLACE FUNCTION answer() RETURNS nonsense")
        with pytest.raises(errors.InvalidFunctionDefinition):
            migrate(empty, [TABLE, COLUMN, INDEX], [wrong])
        assert value(conn, "SELECT count(*) FROM schema_migrations") == 2
        assert migrate(empty, [TABLE, COLUMN, INDEX], [answer(1, version=1)]) == [INDEX.name, "answer.sql"]

    def test_is_applied_once_by_several_processes_that_start_together(self, empty: str) -> None:
        """Whoever waits must not hold up the index that the other one makes, or both would wait for ever."""
        migrate(empty, [TABLE, COLUMN], [])
        with psycopg.connect(empty) as busy, ThreadPoolExecutor(3) as threads:
            busy.execute("INSERT INTO things VALUES (1)")
            runs = [threads.submit(migrate, empty, [TABLE, COLUMN, INDEX], []) for _ in range(3)]
            with psycopg.connect(empty, autocommit=True) as watcher:
                wait_until(lambda: _makes_an_index(watcher))
            busy.rollback()
            applied = [run.result(timeout=60) for run in runs]
        assert sorted(applied) == [[], [], [INDEX.name]]


def _makes_an_index(conn: Connection) -> bool:
    found = value(
        conn,
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%INDEX CONCURRENTLY%'"
        " AND pid <> pg_backend_pid() AND state = 'active'",
    )
    return found != 0


class TestFunctions:
    def test_are_applied_with_the_tables_that_they_need(self, empty: str, conn: Connection) -> None:
        """One may name another that comes after it."""
        migrate(empty, [TABLE, COLUMN], [COUNT, answer(1, version=1)])
        assert value(conn, "SELECT a_count()") == 1

    def test_are_applied_again_when_their_version_rises(self, empty: str, conn: Connection) -> None:
        migrate(empty, [TABLE], [answer(1, version=1)])
        assert migrate(empty, [TABLE], [answer(2, version=2)]) == ["answer.sql"]
        assert value(conn, "SELECT answer()") == 2

    def test_that_changed_without_a_new_version_are_refused_before_anything_is_applied(
        self, empty: str, conn: Connection
    ) -> None:
        migrate(empty, [TABLE], [answer(1, version=1)])
        with pytest.raises(
            MigrationChanged, match=r"answer\.sql was changed after it was applied; raise its version to 2"
        ):
            migrate(empty, [TABLE, COLUMN], [answer(2, version=1)])
        assert value(conn, "SELECT answer()") == 1
        assert value(conn, "SELECT count(*) FROM schema_migrations") == 1

    def test_change_together_with_the_last_table_or_not_at_all(self, empty: str, conn: Connection) -> None:
        migrate(empty, [TABLE], [answer(1, version=1)])
        text = "-- Version 2.\nCREATE OR REPLACE FUNCTION answer() RETURNS text LANGUAGE sql AS 'SELECT 1'"
        with pytest.raises(errors.InvalidFunctionDefinition):
            migrate(empty, [TABLE, COLUMN], [Function("answer.sql", text)])
        assert value(conn, "SELECT count(*) FROM schema_migrations") == 1
        assert value(conn, "SELECT answer()") == 1

    @pytest.mark.parametrize("text", ["", "-- version 1.", "-- Version 0.", "-- Version 1", "\n-- Version 1."])
    def test_without_a_version_are_an_error(self, empty: str, text: str) -> None:
        with pytest.raises(ValueError, match=r"f\.sql does not begin with its version"):
            migrate(empty, [TABLE], [Function("f.sql", text)])


class TestAnOlderRelease:
    def test_brings_no_function_back(self, empty: str, conn: Connection) -> None:
        migrate(empty, [TABLE], [answer(2, version=2)])
        assert migrate(empty, [TABLE], [answer(1, version=1)]) == []
        assert value(conn, "SELECT answer()") == 2

    def test_changes_nothing_once_a_newer_one_has_migrated(self, empty: str, conn: Connection) -> None:
        """What it has and the newer one has not was given up since."""
        migrate(empty, [TABLE, COLUMN], [])
        assert migrate(empty, [TABLE], [answer(1, version=1)]) == []
        assert value(conn, "SELECT to_regproc('answer') IS NULL") is True

    @pytest.mark.parametrize("order", [(1, 2, 1), (2, 1, 2), (2, 1, 1, 2)])
    def test_and_a_newer_one_in_any_order_end_with_the_newer(
        self, empty: str, conn: Connection, order: tuple[int, ...]
    ) -> None:
        releases = {1: ([TABLE], [answer(1, version=1)]), 2: ([TABLE, COLUMN], [answer(2, version=2), COUNT])}
        for release in order:
            migrate(empty, *releases[release])
        assert (value(conn, "SELECT answer()"), value(conn, "SELECT a_count()")) == (2, 2)

    def test_of_this_shop_leaves_every_function_of_the_newer_one(self, empty: str, conn: Connection) -> None:
        """A newer release has raised every version, added a table and a function; the older one migrates after it."""
        newer = [Function(each.name, each.text.replace("-- Version ", "-- Version 9", 1)) for each in functions()]
        migrate(empty, [*migrations(), Migration("9999_things.sql", TABLE.text)], [*newer, answer(1, version=1)])
        before = _installed(conn)
        assert migrate(empty) == []
        assert _installed(conn) == before
        assert value(conn, "SELECT min(version) > 90 FROM schema_functions WHERE name <> 'answer.sql'") is True


def _installed(conn: Connection) -> list[tuple[object, ...]]:
    return conn.execute(
        "SELECT proname, prosrc, xmin::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1"
    ).fetchall()


class TestAMigrationWithFunctions:
    WITH = Migration("0002_with.sql", "-- With answer.sql: from the first row on\nCREATE TABLE asked (n int)")
    BROKEN = Migration("0003_broken.sql", "CREATE TABLE things (n int)")

    def test_installs_them_in_its_own_transaction(self, empty: str, conn: Connection) -> None:
        """What comes after it fails, and the functions are there all the same; those it does not name are not."""
        other = Function("other.sql", answer(1, version=1).text.replace("answer", "other"))
        with pytest.raises(errors.DuplicateTable):
            migrate(empty, [TABLE, self.WITH, self.BROKEN], [answer(1, version=1), other])
        assert value(conn, "SELECT to_regclass('asked') IS NOT NULL") is True
        assert value(conn, "SELECT answer()") == 1
        assert value(conn, "SELECT to_regproc('other') IS NULL") is True

    def test_and_applies_them_once(self, empty: str) -> None:
        routines = [answer(1, version=1)]
        assert migrate(empty, [TABLE, self.WITH, COLUMN], routines) == [
            TABLE.name,
            self.WITH.name,
            "answer.sql",
            COLUMN.name,
        ]
        assert migrate(empty, [TABLE, self.WITH, COLUMN], routines) == []

    def test_names_files_that_are_there(self) -> None:
        known = {each.name for each in functions()}
        brought = {each.name: each.brings for each in migrations() if each.brings}
        assert len(brought["0112_jobs_updated_in_place.sql"]) == 7
        assert {name: names - known for name, names in brought.items()} == {name: set() for name in brought}
