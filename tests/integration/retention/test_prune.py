"""What has had its time goes, in short steps; nothing else does, whoever works, dies or waits meanwhile."""

from datetime import timedelta
from hashlib import sha256

import psycopg
import pytest
from psycopg import Connection, sql

from skincare.app import App
from skincare.database.connection import Database, DatabaseUnavailable, StaticCredentials
from skincare.jobs.retry import Completed, Retry
from skincare.retention import repository
from skincare.retention.policy import REMOVED, RULES
from skincare.retention.service import prune, retention_state
from tests.support import ledger
from tests.support.ended import BODY, KINDS, Kind, event, run_job
from tests.support.factories import fill_cart, make_order, make_product
from tests.support.oncall import dead_job
from tests.support.retention import AGES, let_years_pass, prune_all

KEPT = {rule.what: rule.kept for rule in RULES if rule.kept is not None}
RULE = {rule.what: rule for rule in RULES}
SOON = timedelta(minutes=5)
ENOUGH = lambda: timedelta(minutes=1)  # noqa: E731


@pytest.fixture
def database(app: App) -> Database:
    return app.database


def counted(database: Database) -> dict[str, int]:
    return {row.what: row.due for row in retention_state(database).rules if row.due}


def kinds(*, ending: bool = False, coming_back: bool = False) -> pytest.MarkDecorator:
    """Parametrize with every kind, or those that are not ended from the first, or those that may be needed again."""
    chosen = {name: kind for name, kind in KINDS.items() if (kind.end or not ending) and (kind.back or not coming_back)}
    return pytest.mark.parametrize("kind", chosen.values(), ids=chosen.keys())


class TestARowThatEnded:
    @kinds()
    def test_stays_to_the_end_of_its_window_and_goes_after_it(
        self, conn: Connection, owner: Connection, database: Database, kind: Kind
    ) -> None:
        name = kind.make(conn)
        if kind.end:
            kind.end(conn, name)
        let_years_pass(owner, KEPT[kind.what] - SOON)
        assert counted(database) == {}
        assert prune_all(database).removed[kind.what] == 0
        assert kind.is_there(conn, name)
        let_years_pass(owner, 2 * SOON)
        due = counted(database)
        removed = {what: rows for what, rows in prune_all(database).removed.items() if rows}
        assert due == removed
        assert removed[kind.what] == 1
        assert not kind.is_there(conn, name)
        assert counted(database) == {}

    @kinds(ending=True)
    def test_stays_for_ever_while_it_has_not_ended(
        self, conn: Connection, owner: Connection, database: Database, kind: Kind
    ) -> None:
        name = kind.make(conn)
        let_years_pass(owner, AGES)
        prune_all(database)
        assert kind.is_there(conn, name)

    @kinds(coming_back=True)
    def test_stays_where_somebody_needs_it_again(
        self, conn: Connection, owner: Connection, database: Database, kind: Kind
    ) -> None:
        assert kind.back is not None
        name = kind.make(conn)
        if kind.end:
            kind.end(conn, name)
        let_years_pass(owner, AGES)
        kind.back(conn, name)
        prune_all(database)
        assert kind.is_there(conn, name)

    @kinds()
    def test_stays_while_somebody_holds_it_and_nobody_waits(
        self, conn: Connection, owner: Connection, owner_url: str, database: Database, kind: Kind
    ) -> None:
        name = kind.make(conn)
        if kind.end:
            kind.end(conn, name)
        let_years_pass(owner, AGES)
        with psycopg.connect(owner_url) as holder:
            for table in ("jobs", "idempotency_keys", "carts", "payment_events", "quarantined_messages"):
                holder.execute(sql.SQL("SELECT 1 FROM {} FOR UPDATE").format(sql.Identifier(table)))
            holder.execute("SELECT 1 FROM reconciliation_findings FOR UPDATE")
            holder.execute("SELECT 1 FROM reconciliation_runs FOR UPDATE")
            assert prune_all(database).lag_s == 0
            assert kind.is_there(conn, name)
        prune_all(database)
        assert not kind.is_there(conn, name)


class TestAJob:
    @pytest.mark.parametrize("state", ["pending", "queued", "processing", "retry_waiting", "dead_letter"])
    def test_that_is_unfinished_or_dead_stays_with_its_attempts(
        self, conn: Connection, owner: Connection, database: Database, state: str
    ) -> None:
        job = dead_job(conn) if state == "dead_letter" else ledger.enqueue(conn)
        if state in {"processing", "retry_waiting"}:
            run_job(conn, job.job_id, Retry(timedelta(0), "Later", "later"))
        if state == "processing":
            ledger.claim_one(conn, job.job_id)
        if state == "queued":
            conn.execute("UPDATE jobs SET state = 'queued'")
        attempts = ledger.attempts(conn, job.job_id)
        # As where it had finished once and somebody brought it back by hand.
        conn.execute("UPDATE jobs SET finished_at = created_at")
        let_years_pass(owner, AGES)
        prune_all(database)
        assert ledger.row(conn, job.job_id)["state"] == state
        assert ledger.attempts(conn, job.job_id) == attempts

    def test_takes_its_attempts_along(self, conn: Connection, owner: Connection, database: Database) -> None:
        job = ledger.enqueue(conn)
        run_job(conn, job.job_id, Retry(timedelta(0), "Later", "later"))
        run_job(conn, job.job_id, Completed())
        let_years_pass(owner, AGES)
        assert prune_all(database).removed["jobs"] == 1
        assert conn.execute("SELECT count(*) FROM job_attempts").fetchone() == (0,)

    def test_that_finished_lately_stays_however_long_ago_it_was_enqueued(
        self, conn: Connection, owner: Connection, database: Database
    ) -> None:
        job = dead_job(conn)
        let_years_pass(owner, AGES)
        conn.execute("UPDATE jobs SET state = 'cancelled', publish_at = NULL, finished_at = now()")
        assert prune_all(database).removed["jobs"] == 0
        assert ledger.row(conn, job.job_id)["state"] == "cancelled"

    def test_is_found_behind_many_that_stay(self, conn: Connection, owner: Connection, database: Database) -> None:
        for _ in range(7):
            dead_job(conn)
        for _ in range(3):
            run_job(conn, ledger.enqueue(conn).job_id, Completed())
        let_years_pass(owner, AGES)
        pruned = prune(database, time_left=ENOUGH, step_rows=2, within_s=60)
        assert pruned is not None
        assert (pruned.removed["jobs"], pruned.lag_s) == (3, 0)
        assert conn.execute("SELECT count(*) FROM jobs").fetchone() == (7,)


class TestACart:
    def test_that_was_left_behind_is_empty_and_its_next_order_is_a_new_version(
        self, conn: Connection, owner: Connection, database: Database, app: App
    ) -> None:
        sku = make_product(conn).sku
        before = {make_order(conn, user_id="ani", lines={sku: 1}).order.order_number for _ in range(2)}
        fill_cart(conn, "ani", {sku: 2})
        let_years_pass(owner, AGES)
        assert prune_all(database).removed["cart_items"] == 1
        order = make_order(conn, user_id="ani", lines={sku: 3}).order
        assert order.order_number not in before
        assert [item.quantity for item in order.items] == [3]

    def test_with_an_old_line_and_a_new_one_stays_whole(
        self, conn: Connection, owner: Connection, database: Database
    ) -> None:
        skus = [make_product(conn).sku for _ in range(2)]
        fill_cart(conn, "ani", {skus[0]: 1})
        let_years_pass(owner, AGES)
        fill_cart(conn, "ani", {skus[1]: 1})
        prune_all(database)
        assert conn.execute("SELECT count(*) FROM cart_items").fetchone() == (2,)

    def test_is_found_behind_many_that_stay(self, conn: Connection, owner: Connection, database: Database) -> None:
        sku, other = (make_product(conn).sku for _ in range(2))
        for number in range(9):
            fill_cart(conn, f"user-{number}", {sku: 1})
        let_years_pass(owner, AGES)
        for number in range(7):
            fill_cart(conn, f"user-{number}", {other: 1})
        pruned = prune(database, time_left=ENOUGH, step_rows=2, within_s=60)
        assert pruned is not None
        assert (pruned.removed["cart_items"], pruned.lag_s) == (2, 0)


class TestABody:
    def test_leaves_its_hash_and_all_that_was_read_from_it(
        self, conn: Connection, owner: Connection, database: Database
    ) -> None:
        event(conn, "applied")
        let_years_pass(owner, AGES)
        query = "SELECT to_jsonb(e) - 'body' - 'body_sha256' FROM payment_events e"
        before = conn.execute(query).fetchall()
        prune_all(database)
        assert conn.execute(query).fetchall() == before
        assert conn.execute("SELECT body, body_sha256 FROM payment_events").fetchall() == [
            (None, sha256(BODY).digest())
        ]

    @pytest.mark.parametrize("state", ["received", "quarantined"])
    def test_of_an_event_that_waits_stays(
        self, conn: Connection, owner: Connection, database: Database, state: str
    ) -> None:
        event(conn, state)
        let_years_pass(owner, AGES)
        prune_all(database)
        assert conn.execute("SELECT body FROM payment_events").fetchall() == [(BODY,)]


class TestARun:
    @pytest.fixture
    def many(self, conn: Connection, owner: Connection) -> int:
        for _ in range(10):
            run_job(conn, ledger.enqueue(conn).job_id, Completed())
        let_years_pass(owner, AGES)
        return 10

    def test_takes_no_more_than_its_steps_and_tells_how_far_it_is_behind(self, database: Database, many: int) -> None:
        first = prune(database, time_left=ENOUGH, step_rows=3, steps=len(REMOVED))
        assert first is not None
        assert first.removed["jobs"] == 3
        assert first.lag_s == pytest.approx((AGES - KEPT["jobs"]).total_seconds(), abs=600)
        rest = prune_all(database)
        assert (rest.removed["jobs"], rest.lag_s) == (many - 3, 0)

    def test_does_not_begin_without_time(self, conn: Connection, database: Database, many: int) -> None:
        assert prune(database, time_left=lambda: timedelta(seconds=10)) is None
        assert conn.execute("SELECT count(*) FROM jobs").fetchone() == (many,)

    def test_ends_when_its_own_time_is_over(self, conn: Connection, database: Database, many: int) -> None:
        pruned = prune(database, time_left=ENOUGH, within_s=0)
        assert pruned is not None
        assert pruned.lag_s > 0
        assert conn.execute("SELECT count(*) FROM jobs").fetchone() == (many,)

    @pytest.mark.usefixtures("many")
    @pytest.mark.parametrize("broken", [function for _, function in REMOVED])
    def test_goes_on_where_one_table_fails(
        self, conn: Connection, owner: Connection, database: Database, broken: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        event(conn, "ignored")
        let_years_pass(owner, AGES)
        owner.execute(f"ALTER FUNCTION {broken} RENAME TO gone".encode())
        pruned = prune_all(database)
        removed = {what for what, rows in pruned.removed.items() if rows}
        expected = {"jobs": "prune_jobs", "payment_events.body": "prune_payment_event_bodies"}
        assert removed == {what for what, function in expected.items() if function != broken}
        assert (pruned.lag_s > 0) == (broken in expected.values())

    def test_without_a_database_says_so(self) -> None:
        away = Database(StaticCredentials("postgresql://app@127.0.0.1:1/shop"), max_connections=1)
        with pytest.raises(DatabaseUnavailable):
            prune(away, time_left=ENOUGH)

    def test_that_is_killed_within_a_step_has_removed_the_steps_before(
        self, conn: Connection, owner: Connection, database: Database, database_url: str, many: int
    ) -> None:
        with psycopg.connect(database_url) as dying:
            repository.prune(dying, "prune_jobs", limit=4, after=None)
            dying.commit()
            repository.prune(dying, "prune_jobs", limit=4, after=None)
            owner.execute("SELECT pg_terminate_backend(%s)", [dying.info.backend_pid])
            with pytest.raises(psycopg.OperationalError):
                dying.commit()
        assert conn.execute("SELECT count(*) FROM jobs").fetchone() == (many - 4,)
        assert prune_all(database).removed["jobs"] == many - 4

    def test_passes_over_the_rows_of_another(self, conn: Connection, database_url: str, many: int) -> None:
        """Two at once: neither waits, and together they remove each row once."""
        with psycopg.connect(database_url) as one, psycopg.connect(database_url) as other:
            for session in (one, other):
                session.execute("SET statement_timeout = '1s'")
            first = repository.prune(one, "prune_jobs", limit=6, after=None)
            second = repository.prune(other, "prune_jobs", limit=many, after=None)
        assert (first.removed, second.removed) == (6, many - 6)
        assert conn.execute("SELECT count(*) FROM jobs").fetchone() == (0,)

    def test_stands_in_nobodys_way(self, conn: Connection, database_url: str, many: int, app: App) -> None:
        """With a step open, a worker claims and settles and a customer orders, without a wait."""
        sku = make_product(conn).sku
        fill_cart(conn, "ani", {sku: 1})
        with psycopg.connect(database_url) as pruning:
            for _, function in REMOVED:
                repository.prune(pruning, function, limit=many, after=None)
            conn.execute("SET lock_timeout = '100ms'")
            run_job(conn, ledger.enqueue(conn).job_id, Completed())
            make_order(conn, user_id="ani", lines={sku: 1})
