"""Connections that die, hang, refuse and are shared: against a real server, some through a wire that breaks."""

import contextlib
import select
import threading
import time
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import Connection, errors
from psycopg.pq import TransactionStatus
from psycopg.sql import SQL, Identifier, Literal

from skincare.database import connection as connection_module
from skincare.database.connection import (
    Database,
    DatabaseUnavailable,
    LockUnavailable,
    StatementTooLong,
    StaticCredentials,
)
from skincare.database.session import Session
from skincare.errors import ConfigurationError
from skincare.observability import describe
from tests.support.wire import Break, Wire

DEADLINE_S = 10


@pytest.fixture
def owner(owner_url: str) -> Iterator[Connection]:
    with psycopg.connect(owner_url, autocommit=True) as conn:
        conn.execute("CREATE TABLE notes (id int PRIMARY KEY, text text CHECK (text <> 'refused'))")
        yield conn


@pytest.fixture
def wire(owner: Connection, database_url: str) -> Iterator[Wire]:
    with Wire(database_url) as wire:
        yield wire


@pytest.fixture
def make_database() -> Iterator[Callable[..., Database]]:
    with contextlib.ExitStack() as stack:

        def make(url: str, max_connections: int = 1) -> Database:
            database = Database(StaticCredentials(url), max_connections=max_connections)
            stack.callback(database.close)
            return database

        yield make


@pytest.fixture
def database(owner: Connection, database_url: str, make_database: Callable[..., Database]) -> Database:
    return make_database(database_url)


def pid_of(database: Database) -> int:
    with database.connection() as conn:
        return conn.info.backend_pid


def notes_in(owner: Connection) -> list[int]:
    return [row[0] for row in owner.execute("SELECT id FROM notes ORDER BY id").fetchall()]


def for_app(owner: Connection, setting: str, value: str) -> None:
    """Set what sessions of the role `app` in this database start with."""
    statement = SQL("ALTER ROLE app IN DATABASE {} SET {} = {}")
    owner.execute(statement.format(Identifier(owner.info.dbname), Identifier(setting), Literal(value)))


def wait_for_news(descriptor: int) -> None:
    """Wait until the server said something on an idle connection."""
    assert select.select([descriptor], [], [], DEADLINE_S)[0], "the server said nothing"


class TestASessionThatDiedWhileIdle:
    def test_is_replaced_before_the_first_statement(self, database: Database, owner: Connection) -> None:
        with database.connection() as conn:
            first, descriptor = conn.info.backend_pid, conn.fileno()
        owner.execute("SELECT pg_terminate_backend(%s)", [first])
        wait_for_news(descriptor)
        with database.connection() as conn:
            conn.execute("INSERT INTO notes VALUES (1, 'after')")
            assert conn.info.backend_pid != first
        assert notes_in(owner) == [1]

    def test_is_replaced_when_the_network_hung_up_without_a_farewell(
        self, wire: Wire, make_database: Callable[..., Database]
    ) -> None:
        database = make_database(wire.url)
        with database.connection() as conn:
            first, descriptor = conn.info.backend_pid, conn.fileno()
        wire.cut()
        wait_for_news(descriptor)
        assert pid_of(database) != first
        assert len(wire.links) == 2

    def test_is_replaced_with_all_the_others_that_died(
        self, wire: Wire, make_database: Callable[..., Database]
    ) -> None:
        database = make_database(wire.url, 3)
        with database.connection() as one, database.connection() as two, database.connection() as three:
            descriptors = [conn.fileno() for conn in (one, two, three)]
        wire.cut()
        for descriptor in descriptors:
            wait_for_news(descriptor)
        with database.connection() as one, database.connection() as two, database.connection() as three:
            assert [conn.execute("SELECT 1").fetchone() for conn in (one, two, three)] == [(1,)] * 3
        assert len(wire.links) == 6

    def test_is_replaced_when_nobody_answers_after_a_long_sleep(
        self, wire: Wire, make_database: Callable[..., Database], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        database = make_database(wire.url)
        first = pid_of(database)
        wire.links[0].silent = True
        wall_clock = time.time
        monkeypatch.setattr(time, "time", lambda: wall_clock() + 61)
        started = time.monotonic()
        assert pid_of(database) != first
        assert 0.4 < time.monotonic() - started < 2

    def test_is_asked_after_a_long_sleep_only(
        self, wire: Wire, make_database: Callable[..., Database], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        database = make_database(wire.url)
        first = pid_of(database)
        assert pid_of(database) == first
        assert _queries(wire) == []
        wall_clock = time.time
        monkeypatch.setattr(time, "time", lambda: wall_clock() + 61)
        assert pid_of(database) == first
        assert _queries(wire) == [b"SELECT 1"]

    def test_is_known_by_its_last_word_also_while_it_has_not_hung_up(
        self, database: Database, owner: Connection
    ) -> None:
        with database.connection() as conn:
            conn.execute("LISTEN last_words")
            first, descriptor = conn.info.backend_pid, conn.fileno()
        owner.execute("NOTIFY last_words")
        wait_for_news(descriptor)
        assert pid_of(database) != first


class TestASessionThatDiesInUse:
    def test_before_the_server_saw_the_statement_nothing_is_written_and_nothing_repeated(
        self, wire: Wire, owner: Connection, make_database: Callable[..., Database]
    ) -> None:
        database = make_database(wire.url)
        wire.cut_at("lost on the way", Break.BEFORE_THE_SERVER)
        with pytest.raises(DatabaseUnavailable), database.connection() as conn:
            conn.execute("INSERT INTO notes VALUES (1, 'lost on the way')")
        assert notes_in(owner) == []
        assert len(wire.links) == 1

    def test_after_the_server_saw_the_statement_it_is_written_once_and_still_reported_as_unknown(
        self, wire: Wire, owner: Connection, make_database: Callable[..., Database]
    ) -> None:
        database = make_database(wire.url)
        wire.cut_at("answer lost", Break.AFTER_THE_SERVER)
        with pytest.raises(DatabaseUnavailable), database.connection() as conn:
            conn.execute("INSERT INTO notes VALUES (1, 'answer lost')")
        assert notes_in(owner) == [1]
        assert len(wire.links) == 1

    @pytest.mark.parametrize(
        ("where", "kept"), [(Break.BEFORE_THE_SERVER, []), (Break.AFTER_THE_SERVER, [1])], ids=["before", "after"]
    )
    def test_at_a_commit_it_is_never_taken_for_success_and_the_commit_not_sent_again(
        self, wire: Wire, owner: Connection, make_database: Callable[..., Database], where: Break, kept: list[int]
    ) -> None:
        database = make_database(wire.url)
        wire.cut_at("COMMIT", where)
        with pytest.raises(DatabaseUnavailable), database.connection() as conn, conn.transaction():
            conn.execute("INSERT INTO notes VALUES (1, 'text')")
        assert notes_in(owner) == kept
        assert [query for query in _queries(wire) if b"COMMIT" in query] == [b"COMMIT"]

    def test_by_the_hand_of_an_operator_the_next_use_has_a_new_one(self, database: Database, owner: Connection) -> None:
        def be_terminated() -> None:
            with database.connection() as conn:
                owner.execute("SELECT pg_terminate_backend(%s)", [conn.info.backend_pid])
                wait_for_news(conn.fileno())
                conn.execute("SELECT 1")

        first = pid_of(database)
        with pytest.raises(DatabaseUnavailable):
            be_terminated()
        assert pid_of(database) != first

    def test_in_a_transaction_that_idled_too_long_it_counts_as_unavailable(
        self, database: Database, owner: Connection
    ) -> None:
        for_app(owner, "idle_in_transaction_session_timeout", "50ms")

        def idle_too_long() -> None:
            with database.connection() as conn, conn.transaction():
                conn.execute("INSERT INTO notes VALUES (1, 'text')")
                wait_for_news(conn.fileno())
                conn.execute("INSERT INTO notes VALUES (2, 'text')")

        with pytest.raises(DatabaseUnavailable):
            idle_too_long()
        assert notes_in(owner) == []
        with database.connection() as conn:
            conn.execute("SELECT 1")

    @pytest.mark.parametrize("in_transaction", [False, True])
    def test_by_silence_it_is_given_up_and_not_used_again(
        self, database: Database, owner: Connection, monkeypatch: pytest.MonkeyPatch, in_transaction: bool
    ) -> None:
        first = pid_of(database)
        monkeypatch.setattr(Session, "_timeout_s", 0.3)
        started = time.monotonic()

        def wait_for_an_answer() -> None:
            with database.connection() as conn, conn.transaction() if in_transaction else contextlib.nullcontext():
                conn.execute("SELECT pg_sleep(4)")

        with pytest.raises(DatabaseUnavailable):
            wait_for_an_answer()
        assert time.monotonic() - started < 2
        monkeypatch.undo()
        assert pid_of(database) != first


class TestAFailedStatement:
    def test_leaves_the_session_ready_for_the_next_job(self, database: Database, owner: Connection) -> None:
        first = pid_of(database)
        with pytest.raises(errors.CheckViolation), database.connection() as conn:
            conn.execute("INSERT INTO notes VALUES (1, 'refused')")
        with database.connection() as conn:
            assert conn.info.transaction_status == TransactionStatus.IDLE
            conn.execute("INSERT INTO notes VALUES (2, 'good')")
            assert conn.info.backend_pid == first
        assert notes_in(owner) == [2]

    def test_in_an_open_transaction_leaves_no_aborted_session(self, database: Database, owner: Connection) -> None:
        def fail_in_a_transaction() -> None:
            with database.connection() as conn:
                conn.execute("BEGIN")
                conn.execute("INSERT INTO notes VALUES (1, 'good')")
                conn.execute("INSERT INTO notes VALUES (2, 'refused')")

        first = pid_of(database)
        with pytest.raises(errors.CheckViolation):
            fail_in_a_transaction()
        with database.connection() as conn:
            assert conn.info.transaction_status == TransactionStatus.IDLE
            assert conn.info.backend_pid == first
            conn.execute("INSERT INTO notes VALUES (3, 'good')")
        assert notes_in(owner) == [3]

    def test_that_its_handler_swallowed_leaves_no_aborted_session(self, database: Database, owner: Connection) -> None:
        with database.connection() as conn:
            conn.execute("BEGIN")
            with contextlib.suppress(errors.CheckViolation):
                conn.execute("INSERT INTO notes VALUES (1, 'refused')")
            assert conn.info.transaction_status == TransactionStatus.INERROR
        with database.connection() as conn:
            conn.execute("INSERT INTO notes VALUES (2, 'good')")
        assert notes_in(owner) == [2]

    def test_is_not_needed_for_an_open_transaction_to_be_undone(self, database: Database, owner: Connection) -> None:
        with database.connection() as conn:
            conn.execute("BEGIN")
            conn.execute("INSERT INTO notes VALUES (1, 'forgotten')")
            first = conn.info.backend_pid
        with database.connection() as conn:
            assert conn.info.transaction_status == TransactionStatus.IDLE
            assert conn.info.backend_pid == first
        assert notes_in(owner) == []

    def test_that_ran_into_the_statement_timeout_says_so_and_keeps_its_session(
        self, database: Database, owner: Connection
    ) -> None:
        for_app(owner, "statement_timeout", "50ms")
        first = pid_of(database)
        with pytest.raises(StatementTooLong) as caught, database.connection() as conn:
            conn.execute("SELECT pg_sleep(4)")
        # Whoever handles an outage handles it; but nobody is told that the database was away.
        assert isinstance(caught.value, DatabaseUnavailable)
        assert "unavailable" not in str(caught.value)
        assert pid_of(database) == first


class TestLocks:
    def test_a_row_that_stays_locked_is_told_apart_and_keeps_the_session(
        self, database: Database, owner: Connection, owner_url: str
    ) -> None:
        for_app(owner, "lock_timeout", "50ms")
        first = pid_of(database)
        owner.execute("INSERT INTO notes VALUES (1, 'text')")
        with psycopg.connect(owner_url) as other:
            other.execute("UPDATE notes SET text = 'held' WHERE id = 1")
            with pytest.raises(LockUnavailable), database.connection() as conn:
                conn.execute("UPDATE notes SET text = 'wanted' WHERE id = 1")
        assert pid_of(database) == first

    def test_a_deadlock_is_told_apart_too(
        self, database_url: str, owner: Connection, make_database: Callable[..., Database]
    ) -> None:
        for_app(owner, "deadlock_timeout", "50ms")
        database = make_database(database_url, 2)
        owner.execute("INSERT INTO notes VALUES (1, 'text'), (2, 'text')")
        both_hold_one = threading.Barrier(2)
        outcomes: list[str] = []

        def lock(first: int, second: int) -> None:
            try:
                with database.connection() as conn, conn.transaction():
                    conn.execute("SELECT 1 FROM notes WHERE id = %s FOR UPDATE", [first])
                    both_hold_one.wait(timeout=DEADLINE_S)
                    conn.execute("SELECT 1 FROM notes WHERE id = %s FOR UPDATE", [second])
                outcomes.append("locked")
            except LockUnavailable:
                outcomes.append("unavailable")

        threads = [threading.Thread(target=lock, args=pair) for pair in ((1, 2), (2, 1))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=DEADLINE_S)
        assert sorted(outcomes) == ["locked", "unavailable"]


class TestAFailover:
    def test_a_server_that_turned_read_only_is_left(self, database: Database, owner: Connection) -> None:
        for_app(owner, "default_transaction_read_only", "on")
        old_writer = pid_of(database)
        for_app(owner, "default_transaction_read_only", "off")
        with pytest.raises(DatabaseUnavailable, match="25006"), database.connection() as conn:
            conn.execute("INSERT INTO notes VALUES (1, 'text')")
        with database.connection() as conn:
            conn.execute("INSERT INTO notes VALUES (2, 'text')")
            assert conn.info.backend_pid != old_writer
        assert notes_in(owner) == [2]


class TestADatabaseThatIsGone:
    def test_is_unavailable_at_once_where_nobody_listens(self, make_database: Callable[..., Database]) -> None:
        database = make_database("postgresql://app:canary@127.0.0.1:9/skincare")
        with pytest.raises(DatabaseUnavailable) as caught, database.connection():
            pytest.fail("there is no such connection")
        assert describe(caught.value) == "database unavailable (OperationalError)"

    def test_is_unavailable_within_three_seconds_where_nobody_answers(
        self, wire: Wire, make_database: Callable[..., Database]
    ) -> None:
        database = make_database(wire.url)
        wire.silent = True
        started = time.monotonic()
        with pytest.raises(DatabaseUnavailable), database.connection():
            pytest.fail("there is no such connection")
        assert time.monotonic() - started < 3

    def test_is_unavailable_within_three_seconds_also_after_a_long_sleep(
        self, wire: Wire, make_database: Callable[..., Database], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        database = make_database(wire.url)
        pid_of(database)
        wire.silent = True
        wall_clock = time.time
        monkeypatch.setattr(time, "time", lambda: wall_clock() + 3600)
        started = time.monotonic()
        with pytest.raises(DatabaseUnavailable), database.connection():
            pytest.fail("there is no such connection")
        assert time.monotonic() - started < 3

    def test_is_found_again_when_it_is_back(self, wire: Wire, make_database: Callable[..., Database]) -> None:
        database = make_database(wire.url)
        wire.silent = True
        with pytest.raises(DatabaseUnavailable), database.connection():
            pytest.fail("there is no such connection")
        wire.silent = False
        assert pid_of(database) > 0

    @pytest.mark.parametrize(
        "url", ["postgresql://app:%zzcanary@127.0.0.1/db", "postgresql://app:canary@[127.0.0.1/db", "canary"]
    )
    def test_is_not_what_a_malformed_setting_means(self, make_database: Callable[..., Database], url: str) -> None:
        database = make_database(url)
        with pytest.raises(ConfigurationError, match="DATABASE_URL") as caught, database.connection():
            pytest.fail("there is no such connection")
        assert "canary" not in str(caught.value)
        assert caught.value.__suppress_context__


class TestSharing:
    def test_twenty_threads_open_no_more_connections_than_allowed(
        self, wire: Wire, make_database: Callable[..., Database]
    ) -> None:
        database = make_database(wire.url, 4)
        ready = threading.Barrier(20)
        seen: list[int] = []

        def use() -> None:
            ready.wait(timeout=DEADLINE_S)
            for _ in range(5):
                with database.connection() as conn:
                    (count,) = conn.execute("""
                        SELECT count(*) FROM pg_stat_activity, pg_sleep(0.002)
                        WHERE usename = 'app' AND datname = current_database()""").fetchone() or (99,)
                    seen.append(count)

        threads = [threading.Thread(target=use) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=DEADLINE_S)
        assert len(seen) == 100
        assert max(seen) <= 4
        assert 1 < len(wire.links) <= 4

    def test_a_connection_is_lent_to_one_at_a_time(
        self, database_url: str, make_database: Callable[..., Database]
    ) -> None:
        database = make_database(database_url, 2)
        with database.connection() as one, database.connection() as two:
            assert one.info.backend_pid != two.info.backend_pid

    def test_a_turn_that_does_not_come_is_unavailability_and_no_hang(
        self, database: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(connection_module, "_TURN_WITHIN_S", 0.05)
        with (
            database.connection(),
            pytest.raises(DatabaseUnavailable, match="TimeoutError"),
            database.connection(),
        ):
            pytest.fail("the only connection is lent")
        assert pid_of(database) > 0

    def test_failures_give_their_turn_back(self, wire: Wire, make_database: Callable[..., Database]) -> None:
        database = make_database(wire.url.replace(f":{urlsplit(wire.url).port}", ":9"))
        for _ in range(3):
            with pytest.raises(DatabaseUnavailable, match="OperationalError"), database.connection():
                pytest.fail("there is no such connection")

    def test_closing_ends_the_idle_ones_and_leaves_the_database_usable(
        self, database: Database, owner: Connection
    ) -> None:
        first = pid_of(database)
        database.close()
        assert pid_of(database) != first


def _queries(wire: Wire) -> list[bytes]:
    """Return the texts of all statements that went over the wire."""
    parsed = [content.split(b"\0")[1] for kind, content in wire.said() if kind == "P"]
    return parsed + [content.rstrip(b"\0") for kind, content in wire.said() if kind == "Q"]
