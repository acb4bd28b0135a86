"""A database of the former numbering: taken over where its tables are those of this release, refused where not."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import Connection

from emulator.postgres import PostgresServer
from skincare.database.adoption import BASELINE_ENDS, SchemaForeign, former_names, schema
from skincare.database.migrate import migrate
from skincare.database.sql_files import Migration, functions, migrations
from tests.support.former_migrations import apply_former, baseline, baseline_schema, former_migrations

LATER = Migration("9999_later.sql", "CREATE TABLE later ()")
FUNCTIONS = [each.name for each in functions()]


@pytest.fixture
def former(empty: str) -> Iterator[Connection]:
    """A database that every former migration was applied to."""
    apply_former(empty)
    with psycopg.connect(empty, autocommit=True) as conn:
        yield conn


def applied(conn: Connection) -> list[str]:
    return [name for (name,) in conn.execute("SELECT name FROM schema_migrations ORDER BY name").fetchall()]


class TestADatabaseOfTheFormerNumbering:
    def test_is_adopted_and_gets_the_functions_and_what_came_later(self, empty: str, former: Connection) -> None:
        later = [each.name for each in migrations() if each.name > BASELINE_ENDS]
        done = migrate(empty, [*migrations(), LATER])
        assert [name for name in done if name not in FUNCTIONS] == [*later, LATER.name]
        assert sorted(name for name in done if name in FUNCTIONS) == sorted(FUNCTIONS)
        assert applied(former) == [*(each.name for each in migrations()), LATER.name]
        assert migrate(empty, [*migrations(), LATER]) == []

    def test_ends_with_the_schema_of_a_new_one(
        self, empty: str, former: Connection, postgres: PostgresServer, database_name: str
    ) -> None:
        migrate(empty)
        with psycopg.connect(postgres.dsn(database=database_name), autocommit=True) as new:
            assert schema(former) == schema(new)
            assert routines(former) == routines(new)
            assert rights_of_the_migrator(former) == rights_of_the_migrator(new)

    def test_keeps_its_rows(self, empty: str, former: Connection) -> None:
        former.execute("INSERT INTO products (sku, name, price_rupiah, stock) VALUES ('SERUM', 'Serum', 150000, 7)")
        migrate(empty)
        assert former.execute("SELECT sku, stock FROM products").fetchall() == [("SERUM", 7)]

    @pytest.mark.parametrize("number", ["0002", "0008", "0027"])
    def test_that_lacks_some_is_refused_and_told_the_way_out(self, empty: str, number: str) -> None:
        had = apply_former(empty, before=number)
        missing = former_names()[len(had)]
        with pytest.raises(SchemaForeign, match=f"lacks migration {missing} .*: deploy the last release that has it"):
            migrate(empty)
        with psycopg.connect(empty, autocommit=True) as conn:
            assert applied(conn) == had

    def test_that_has_one_that_nobody_knows_is_refused(self, empty: str, former: Connection) -> None:
        former.execute("INSERT INTO schema_migrations (name, checksum) VALUES ('0028_loyalty.sql', '')")
        with pytest.raises(SchemaForeign, match=r"has migration 0028_loyalty\.sql on top"):
            migrate(empty)
        assert "0028_loyalty.sql" in applied(former)

    @pytest.mark.parametrize(
        ("change", "difference"),
        [
            ("ALTER TABLE products ADD COLUMN colour text", "column products.colour"),
            ("ALTER TABLE orders ALTER COLUMN email DROP NOT NULL", "column orders.email"),
            ("ALTER TABLE products DROP CONSTRAINT products_stock_not_negative", "constraint products.products_stock_"),
            ("DROP INDEX orders_open_idx", "index orders.orders_open_idx"),
            ("CREATE TABLE mine (id integer)", "column mine.id"),
            ("GRANT DELETE ON invoices TO app", "right invoices.delete app"),
            ("REVOKE UPDATE (object_key) ON invoices FROM app", "right invoices.update object_key app"),
        ],
    )
    def test_that_was_changed_by_hand_is_refused_and_stays(
        self, empty: str, former: Connection, change: str, difference: str
    ) -> None:
        former.execute(change.encode())
        with pytest.raises(SchemaForeign, match=f"at {difference}.*: undo what was changed by hand"):
            migrate(empty)
        assert applied(former) == former_names()


class TestAnyOtherDatabase:
    def test_is_not_looked_at(self, empty: str) -> None:
        migrate(empty)
        with psycopg.connect(empty, autocommit=True) as conn:
            conn.execute("CREATE TABLE mine (id integer)")
        assert migrate(empty) == []


class TestWhatIsExpected:
    def test_is_what_the_baseline_makes(self, empty: str, pytestconfig: pytest.Config) -> None:
        file = pytestconfig.rootpath / "layers/shared/python/skincare/database/adopted_schema.txt"
        assert file.read_text().splitlines() == baseline_schema(empty)

    def test_names_the_former_files(self) -> None:
        assert former_names() == [each.name for each in former_migrations()]
        assert not set(former_names()) & {each.name for each in migrations()}

    def test_is_a_file_of_this_release(self) -> None:
        assert baseline()[0][-1].name == BASELINE_ENDS


def routines(conn: Connection) -> list[tuple[object, ...]]:
    """Every function and trigger, as it runs."""
    return conn.execute(
        "SELECT proname, pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
        " UNION ALL SELECT tgname, pg_get_triggerdef(t.oid) FROM pg_trigger t WHERE NOT tgisinternal ORDER BY 1, 2"
    ).fetchall()


def rights_of_the_migrator(conn: Connection) -> list[tuple[object, ...]]:
    """What the role `app` may do with the tables that say which release has migrated."""
    return conn.execute(
        "SELECT table_name, privilege_type FROM information_schema.role_table_grants"
        " WHERE table_name LIKE 'schema\\_%' AND grantee = 'app'"
    ).fetchall()
