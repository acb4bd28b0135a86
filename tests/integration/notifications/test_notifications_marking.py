"""Look, send, then mark: what happens between the three, and what they cost."""

import threading
from typing import Any

import psycopg
import pytest

from skincare.database.connection import Database, DatabaseUnavailable, StaticCredentials
from skincare.notifications.models import NotificationOutcome
from tests.support.confirmation_bench import ConfirmationBench, WithinSend, bench
from tests.support.factories import make_product

__all__ = ["bench"]


class TestAMark:
    def test_that_fails_raises_and_the_mail_goes_out_once_more(self, bench: ConfirmationBench, owner_url: str) -> None:
        number = bench.order()
        with psycopg.connect(owner_url, autocommit=True) as owner:
            mail = WithinSend(lambda: owner.execute("ALTER TABLE order_notifications RENAME TO hidden"))
            with pytest.raises(psycopg.errors.UndefinedTable):
                bench.confirm(number, mail)
            assert len(mail.sent) == 1
            owner.execute("ALTER TABLE hidden RENAME TO order_notifications")
        assert bench.confirm(number) is NotificationOutcome.SENT
        assert bench.confirm(number) is NotificationOutcome.ALREADY_SENT
        assert len(bench.mail.sent) == 1

    def test_that_finds_the_database_gone_is_a_transient_failure(
        self, bench: ConfirmationBench, database_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        credentials = StaticCredentials(database_url)
        bench.database = Database(credentials)

        def lose_the_database() -> None:
            bench.database.close()
            monkeypatch.setattr(credentials, "conninfo", lambda **_: "host=127.0.0.1 port=1 dbname=none")

        mail = WithinSend(lose_the_database)
        with pytest.raises(DatabaseUnavailable):
            bench.confirm(bench.order(), mail)
        assert len(mail.sent) == 1
        assert bench.notifications() == []

    def test_survives_a_connection_that_died_while_the_mail_went_out(self, bench: ConfirmationBench) -> None:
        cut_the_others = """
            SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid()"""
        mail = WithinSend(lambda: bench.conn.execute(cut_the_others))
        assert bench.confirm(bench.order(), mail) is NotificationOutcome.SENT
        assert len(bench.notifications()) == 1

    def test_by_two_workers_at_once_is_one_row(self, bench: ConfirmationBench, database_url: str) -> None:
        number = bench.order()
        bench.database = Database(StaticCredentials(database_url), max_connections=2)
        mail = WithinSend(threading.Barrier(2, timeout=20).wait)
        outcomes: list[NotificationOutcome] = []
        workers = [
            threading.Thread(target=lambda: outcomes.append(bench.confirm(number, mail)), daemon=True) for _ in range(2)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(30)
        bench.database.close()
        assert outcomes == [NotificationOutcome.SENT] * 2
        assert len(mail.sent) == 2
        assert len(bench.notifications()) == 1

    def test_of_an_order_that_was_deleted_meanwhile_comes_to_rest(self, bench: ConfirmationBench) -> None:
        number = bench.order()
        mail = WithinSend(lambda: bench.delete(number))
        with pytest.raises(psycopg.errors.ForeignKeyViolation):
            bench.confirm(number, mail)
        assert bench.confirm(number) is NotificationOutcome.ORDER_GONE


class TestTheDatabase:
    @pytest.mark.parametrize("lines", [1, 30])
    def test_is_asked_twice_per_mail_however_many_lines_it_has(
        self, bench: ConfirmationBench, monkeypatch: pytest.MonkeyPatch, lines: int
    ) -> None:
        number = bench.order(lines={make_product(bench.conn).sku: 1 for _ in range(lines)})
        statements = count_statements(monkeypatch)
        assert bench.confirm(number) is NotificationOutcome.SENT
        assert [statement.split("(")[0].split()[:2] for statement in statements] == [
            ["SELECT", "o.id,"],
            ["SELECT", "record_notification"],
        ]

    def test_is_asked_once_where_there_is_nothing_to_send(
        self, bench: ConfirmationBench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        number = bench.order()
        bench.confirm(number)
        statements = count_statements(monkeypatch)
        assert bench.confirm(number) is NotificationOutcome.ALREADY_SENT
        assert [statement.split()[0] for statement in statements] == ["SELECT"]

    def test_has_its_only_connection_back_and_no_transaction_open_during_the_send(
        self, bench: ConfirmationBench
    ) -> None:
        seen: list[Any] = []

        def borrow() -> None:
            with bench.database.connection() as borrowed:
                seen.append(borrowed.execute("SELECT 'borrowed'").fetchall()[0][0])

        def look_around() -> None:
            others = "datname = current_database() AND pid <> pg_backend_pid()"
            seen.extend(row[0] for row in bench.conn.execute(f"SELECT state FROM pg_stat_activity WHERE {others}"))
            thread = threading.Thread(target=borrow, daemon=True)
            thread.start()
            thread.join(20)

        bench.confirm(bench.order(), WithinSend(look_around))
        assert seen == ["idle", "borrowed"]


def count_statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that grows by each statement that any connection is given from now on."""
    statements: list[str] = []
    execute: Any = psycopg.Cursor.execute

    def counting(cursor: psycopg.Cursor, query: str, *args: Any, **options: Any) -> Any:
        statements.append(query)
        return execute(cursor, query, *args, **options)

    monkeypatch.setattr(psycopg.Cursor, "execute", counting)
    return statements
