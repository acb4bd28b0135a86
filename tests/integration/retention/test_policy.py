"""What is kept how long is said for every table, once, and the database holds it against any caller."""

from datetime import timedelta

import pytest
from psycopg import Connection, errors
from psycopg.sql import SQL, Identifier

from skincare.deployment.queues import DEAD_LETTER_RETENTION, SOURCE_RETENTION
from skincare.jobs.catalog import BUDGETS
from skincare.payments.findings.models import LOOK_BACK
from skincare.payments.reconciliation.repository import ASK_BACK
from skincare.retention.policy import BOOKS, REMOVED, RULES, Rule

BY_WHAT = {rule.what: rule for rule in RULES}
KEPT = {rule.what: rule.kept for rule in RULES if rule.kept is not None}
REMOVERS = [function for _, function in REMOVED]


class TestThePolicy:
    def test_names_every_table(self, conn: Connection) -> None:
        tables = {name for (name,) in conn.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}
        assert {rule.table for rule in RULES} == tables

    def test_names_each_thing_once_and_columns_that_exist(self, conn: Connection) -> None:
        assert len(BY_WHAT) == len(RULES)
        for column in (rule.what for rule in RULES if "." in rule.what):
            table, _, name = column.partition(".")
            conn.execute(SQL("SELECT {} FROM {} LIMIT 0").format(Identifier(name), Identifier(table)))

    @pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.what)
    def test_has_the_windows_that_the_database_obeys(self, conn: Connection, rule: Rule) -> None:
        expected = rule.kept if rule.removed_by else None
        assert conn.execute("SELECT kept_for(%s)", [rule.what]).fetchone() == (expected,)

    def test_has_a_rule_for_every_function_that_removes(self, conn: Connection) -> None:
        installed = conn.execute("SELECT proname FROM pg_proc WHERE proname LIKE 'prune\\_%' ORDER BY 1").fetchall()
        assert [name for (name,) in installed] == sorted(REMOVERS)

    def test_keeps_jobs_keys_and_books_as_long_as_was_promised(self) -> None:
        assert KEPT["jobs"] == KEPT["job_attempts"]
        assert KEPT["jobs"] >= timedelta(days=30)
        assert KEPT["idempotency_keys"] >= timedelta(days=90)
        books = ("orders", "payments", "payment_events", "refunds", "invoices", "credit_notes", "operations_audit")
        assert {KEPT[table] for table in books} == {BOOKS}
        assert timedelta(days=3652) <= BOOKS
        assert {BY_WHAT[table].removed_by for table in books} == {None}

    def test_keeps_jobs_for_longer_than_any_message_of_theirs_lives(self) -> None:
        """A message whose job is gone would be quarantined as nobody's."""
        assert KEPT["jobs"] > SOURCE_RETENTION + DEAD_LETTER_RETENTION + max(BUDGETS.values())

    @pytest.mark.parametrize("table", ["jobs", "reconciliation_runs", "reconciliation_findings", "payment_events.body"])
    def test_keeps_what_a_reconciliation_looks_back_at(self, table: str) -> None:
        """That a person cancelled the mail of a paid order is read from its job."""
        assert KEPT[table] > max(LOOK_BACK, ASK_BACK) + max(BUDGETS.values())


class TestTheRightsOfTheFunctions:
    @pytest.mark.parametrize("table", sorted({rule.table for rule, _ in REMOVED} - {"cart_items", "payment_events"}))
    def test_hold_no_deletion(self, conn: Connection, table: str) -> None:
        with pytest.raises(errors.InsufficientPrivilege):
            conn.execute(SQL("DELETE FROM {}").format(Identifier(table)))

    @pytest.mark.parametrize("change", ["body = NULL, body_sha256 = sha256(body)", "body = ''", "body_sha256 = NULL"])
    def test_leave_what_a_gateway_sent_alone(self, conn: Connection, change: str) -> None:
        with pytest.raises(errors.InsufficientPrivilege):
            conn.execute(f"UPDATE payment_events SET {change}".encode())

    @pytest.mark.parametrize("function", REMOVERS)
    def test_are_to_call_what_removes_and_nobody_elses(self, conn: Connection, function: str) -> None:
        """It runs as the owner, so nobody may put another table in its way."""
        rows = conn.execute(
            """
            SELECT p.prosecdef, p.proconfig @> ARRAY['search_path=public, pg_temp'],
                ARRAY(SELECT a.grantee::regrole::text FROM aclexplode(p.proacl) a WHERE a.grantee <> p.proowner),
                p.pronargs, p.provolatile::text
            FROM pg_proc p WHERE p.proname = %s""",
            [function],
        ).fetchall()
        assert rows == [(True, True, ["app"], 2, "v")]
