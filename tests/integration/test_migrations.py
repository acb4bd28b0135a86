"""What becomes of rows that an older release wrote, and of migrations that several processes apply at once."""

import secrets
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from psycopg import Connection
from psycopg.sql import SQL, Identifier

from emulator.postgres import PostgresServer
from skincare.database import migrate as migrations
from skincare.database.migrate import migrate, migration_names
from tests.shop import wait_until

BEFORE_ENDS = "0018"
"""The first migration that knows the end of an order."""
DAY = timedelta(hours=24)


@pytest.fixture
def empty(postgres: PostgresServer) -> Iterator[str]:
    """The owner's URL of a database without a schema."""
    name = f"empty_{secrets.token_hex(6)}"
    with psycopg.connect(postgres.dsn(), autocommit=True) as admin:
        admin.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
        try:
            yield postgres.dsn(database=name)
        finally:
            admin.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


@pytest.fixture
def old(empty: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Connection]:
    """A database as the release before left it."""
    names = [name for name in migration_names() if name < BEFORE_ENDS]
    with monkeypatch.context() as patch:
        patch.setattr(migrations, "migration_names", lambda: names)
        assert migrate(empty) == names
    with psycopg.connect(empty, autocommit=True) as conn:
        conn.execute("INSERT INTO products (sku, name, price_rupiah, stock) VALUES ('SERUM', 'Serum', 150000, 100)")
        yield conn


def place(conn: Connection, number: str, user: str = "ani") -> None:
    """Check out as the release before does."""
    conn.execute("SELECT put_cart_item(%s, 'SERUM', 1, 50)", [user])
    conn.execute(
        "SELECT place_order(p_user_id => %(user)s, p_key => %(number)s, p_fingerprint => '',"
        " p_order_number => %(number)s, p_expected_total_rupiah => NULL, p_email => 'ani@example.com',"
        " p_locale => 'id', p_recipient_name => NULL, p_shipping_address => NULL, p_note => NULL,"
        " p_request_id => 'r', p_job_id => gen_random_uuid(), p_job_type => 'send_confirmation_email',"
        " p_job_queue => 'notifications', p_maximum_lines => 50, p_timer_id => gen_random_uuid(),"
        " p_expires_in => '24 hours 15 minutes', p_trace_id => NULL)",
        {"user": user, "number": number},
    )


def time_to_pay(conn: Connection, number: str) -> tuple[timedelta | None, timedelta]:
    """How long the order may be paid, and when after its checkout its timer goes off."""
    row = conn.execute(
        "SELECT o.expires_at - o.created_at, j.run_at - o.created_at FROM orders o JOIN jobs j USING (order_number)"
        " WHERE o.order_number = %s AND j.job_type = 'expire_order'",
        [number],
    ).fetchone()
    assert row is not None
    return row


class TestOrdersPlacedBefore:
    def test_keep_their_time_and_their_timer(self, empty: str, old: Connection) -> None:
        place(old, "SKN-00000-00001")
        old.execute("UPDATE orders SET created_at = created_at - interval '7 hours'")
        old.execute("UPDATE jobs SET run_at = run_at - interval '7 hours'")
        migrate(empty)
        assert time_to_pay(old, "SKN-00000-00001") == (DAY, timedelta(hours=24, minutes=15))

    def test_that_lost_their_timer_have_a_day(self, empty: str, old: Connection) -> None:
        place(old, "SKN-00000-00001")
        old.execute("DELETE FROM jobs")
        migrate(empty)
        assert old.execute("SELECT expires_at - created_at FROM orders").fetchone() == (DAY,)

    def test_whose_timer_was_moved_end_within_their_day(self, empty: str, old: Connection) -> None:
        for number, moved in enumerate(("-20 hours", "3 hours", "-30 hours")):
            place(old, f"SKN-00000-0000{number}")
            old.execute(
                "UPDATE jobs SET run_at = run_at + %s::interval WHERE order_number = %s",
                [moved, f"SKN-00000-0000{number}"],
            )
        migrate(empty)
        ends = [time_to_pay(old, f"SKN-00000-0000{number}")[0] for number in range(3)]
        assert ends == [timedelta(hours=4), DAY, DAY]

    def test_and_closed_have_none(self, empty: str, old: Connection) -> None:
        place(old, "SKN-00000-00001")
        old.execute("SELECT cancel_order('ani', 'SKN-00000-00001')")
        migrate(empty)
        assert old.execute("SELECT expires_at FROM orders").fetchone() == (None,)

    def test_are_placed_by_the_older_release_during_and_after_the_migration(self, empty: str, old: Connection) -> None:
        names = [name for name in migration_names() if name.startswith(BEFORE_ENDS)]
        done = {name for (name,) in old.execute("SELECT name FROM schema_migrations").fetchall()}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(migrations, "migration_names", lambda: sorted([*done, *names]))
            migrate(empty)
        place(old, "SKN-00000-00001")
        migrate(empty)
        place(old, "SKN-00000-00002")
        for number in ("SKN-00000-00001", "SKN-00000-00002"):
            assert time_to_pay(old, number) == (DAY, timedelta(hours=24, minutes=15))

    def test_count_against_the_limits_and_have_their_index(self, empty: str, old: Connection) -> None:
        place(old, "SKN-00000-00001")
        migrate(empty)
        row = old.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = 'orders_open_idx'::regclass").fetchone()
        assert row == (True,)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the migrator looks for files, empty."""
    monkeypatch.setattr(migrations, "files", lambda _package: tmp_path)
    made = tmp_path / "migrations"
    made.mkdir()
    return made


class TestAMigrationOutsideOfATransaction:
    MAKE = "CREATE TABLE t (n integer, s text DEFAULT ';');"
    INDEX = (
        "-- Outside of a transaction: x\nDROP INDEX CONCURRENTLY IF EXISTS i;\n"
        "CREATE UNIQUE INDEX CONCURRENTLY i ON t (n);\n"
    )

    def test_makes_an_index_while_others_write(self, empty: str, folder: Path) -> None:
        (folder / "a1.sql").write_text(self.MAKE)
        (folder / "a2.sql").write_text(self.INDEX)
        assert migrate(empty) == ["a1.sql", "a2.sql"]
        assert migrate(empty) == []

    def test_that_failed_is_not_noted_and_runs_again_whole(self, empty: str, folder: Path) -> None:
        (folder / "a1.sql").write_text(self.MAKE + "INSERT INTO t VALUES (1), (1);")
        (folder / "a2.sql").write_text(self.INDEX)
        with pytest.raises(psycopg.errors.UniqueViolation):
            migrate(empty)
        with psycopg.connect(empty, autocommit=True) as conn:
            assert conn.execute("SELECT name FROM schema_migrations").fetchall() == [("a1.sql",)]
            conn.execute("DELETE FROM t WHERE ctid = (SELECT max(ctid) FROM t)")
            assert migrate(empty) == ["a2.sql"]
            assert conn.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = 'i'::regclass").fetchone() == (
                True,
            )

    def test_is_applied_once_by_several_processes_that_start_together(self, empty: str, folder: Path) -> None:
        """Whoever waits must not hold up the index that the other one makes, or both would wait for ever."""
        (folder / "a1.sql").write_text(self.MAKE)
        (folder / "a2.sql").write_text(self.INDEX)
        with psycopg.connect(empty) as busy, ThreadPoolExecutor(3) as threads:
            migrate(empty)
            (folder / "a3.sql").write_text(self.INDEX.replace(" i", " j"))
            busy.execute("INSERT INTO t VALUES (1)")
            runs = [threads.submit(migrate, empty) for _ in range(3)]
            with psycopg.connect(empty, autocommit=True) as watcher:
                wait_until(lambda: _makes_an_index(watcher))
            busy.rollback()
            applied = [run.result(timeout=60) for run in runs]
        assert sorted(applied) == [[], [], ["a3.sql"]]


def _makes_an_index(conn: Connection) -> bool:
    row = conn.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%INDEX CONCURRENTLY%'"
        " AND pid <> pg_backend_pid() AND state = 'active'"
    ).fetchone()
    return row is not None and row[0] > 0
