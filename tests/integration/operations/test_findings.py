"""A reconciliation looks through any number of orders in short statements; what it finds waits for a person."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from psycopg import Connection
from typer.testing import CliRunner, Result

from cli.main import app as cli
from cli.oncall import OnCall
from oncall.payment_requests import ReopenFinding, SettleFinding, ShowPayments
from skincare.app import App
from skincare.deployment.metrics import Metric
from skincare.jobs.catalog import ReconcilePayments
from skincare.payments.errors import ReconciliationUnfinished
from skincare.payments.findings.models import Place
from skincare.payments.findings.repository import looks
from skincare.payments.findings.service import look_through
from skincare.payments.gauges import payment_gauges
from skincare.payments.reconciliation import service
from tests.support.factories import make_order, pay
from tests.support.oncall import ME, InProcess, ask, audit
from tests.support.payments import checked, new_order, tell
from worker.handlers import reconcile_payments

Run = Callable[..., Result]
WHO: dict[str, Any] = {"claimed_identity": ME, "reason": "asked the bank"}


@pytest.fixture
def owner(owner_url: str) -> Iterator[Connection]:
    with psycopg.connect(owner_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def run(app: App, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(OnCall, "_functions", InProcess(app))

    def run(*arguments: object) -> Result:
        return CliRunner().invoke(cli, [*map(str, arguments), "--stage", "tests"], catch_exceptions=False)

    return run


def paid_orders(owner: Connection, count: int) -> None:
    """Make so many orders that look paid and have nothing else, one a second."""
    owner.execute(
        """
        INSERT INTO orders (order_number, user_id, cart_version, status, total_rupiah, email, locale, paid_at)
        SELECT 'SKN-00000-' || lpad(upper(to_hex(n)), 5, '0'), 'u' || n, 1, 'paid', 1, 'a@example.com', 'id',
            now() - interval '20 minutes' - n * interval '1 second'
        FROM generate_series(1, %s) n""",
        [count],
    )


def kinds(app: App) -> list[str]:
    return [finding.kind for finding in checked(app).findings]


class TestLookingThrough:
    def test_sees_every_order_whatever_the_size_of_a_piece(self, app: App, owner: Connection, conn: Connection) -> None:
        paid_orders(owner, 23)
        owner.execute("UPDATE orders SET paid_at = date_trunc('minute', paid_at)")
        for piece in (1, 4, 23, 24, 1000):
            owner.execute("DELETE FROM reconciliation_findings")
            owner.execute("DELETE FROM jobs")
            finished, new, enqueued = look_through(app.database, within_s=60, piece=piece)
            assert finished
            count = conn.execute(
                "SELECT count(*) FROM reconciliation_findings WHERE kind = 'order_differs_from_payment'"
            ).fetchone()
            assert (count, new, len(enqueued)) == ((23,), 23, 2 * 23)

    def test_goes_on_where_it_was_when_its_time_was_over(self, app: App, owner: Connection, conn: Connection) -> None:
        paid_orders(owner, 10)
        calls = 0
        while not look_through(app.database, within_s=0, piece=2)[0]:
            calls += 1
            assert calls < 20
        assert calls >= 5
        assert conn.execute(
            "SELECT count(*) FROM reconciliation_findings WHERE gone_at IS NULL AND kind = 'order_differs_from_payment'"
        ).fetchone() == (10,)
        assert conn.execute("SELECT count(*) FROM reconciliation_runs").fetchone() == (1,)

    def test_begins_anew_when_nobody_went_on_for_hours(self, app: App, owner: Connection, conn: Connection) -> None:
        paid_orders(owner, 5)
        assert not look_through(app.database, within_s=0, piece=2)[0]
        assert not look_through(app.database, within_s=0, piece=2)[0]
        owner.execute("UPDATE reconciliation_runs SET started_at = started_at - interval '13 hours'")
        assert not look_through(app.database, within_s=0, piece=2)[0]
        assert conn.execute("SELECT step, after_at FROM reconciliation_runs").fetchall() == [(1, None)]

    def test_keeps_what_it_found_before_until_all_is_looked_through(
        self, app: App, owner: Connection, conn: Connection
    ) -> None:
        paid_orders(owner, 6)
        look_through(app.database, within_s=60)
        owner.execute("UPDATE orders SET paid_at = NULL")
        paid_orders_left = "SELECT count(*) FROM reconciliation_findings WHERE gone_at IS NULL"
        assert not look_through(app.database, within_s=0, piece=2)[0]
        assert conn.execute(paid_orders_left).fetchone() == (6,)
        assert look_through(app.database, within_s=60, piece=2)[0]
        assert conn.execute(paid_orders_left).fetchone() == (0,)

    def test_of_the_periodic_job_comes_back_instead_of_failing(
        self, app: App, owner: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        paid_orders(owner, 3)
        monkeypatch.setattr(
            service, "look_through", lambda database, within_s: look_through(database, within_s=0, piece=1)
        )
        for _ in range(3):
            with pytest.raises(ReconciliationUnfinished, match="no time for everything"):
                reconcile_payments.handle(ReconcilePayments(), app)
        for _ in range(4):
            try:
                reconcile_payments.handle(ReconcilePayments(), app)
            except ReconciliationUnfinished:
                continue
            break
        else:
            pytest.fail("it never comes to its end")

    def test_stays_far_below_the_time_limit_of_a_statement_with_many_orders(
        self, app: App, owner: Connection, database_url: str
    ) -> None:
        paid_orders(owner, 60_000)
        owner.execute("ANALYZE orders")
        with psycopg.connect(database_url, autocommit=True) as conn:
            middle = conn.execute("SELECT paid_at, id FROM orders ORDER BY paid_at, id OFFSET 30000 LIMIT 1").fetchone()
            assert middle is not None
            conn.execute("SET statement_timeout = '1s'")
            piece = looks.of_orders(conn, Place(*middle), limit=5_000)
        assert piece.ends_at is not None
        assert len(piece.findings) == 200
        assert len(piece.owed) == 400


class TestAPaidOrder:
    @pytest.fixture
    def number(self, app: App, conn: Connection, owner: Connection) -> str:
        """An order that was paid an hour ago; its jobs are finished."""
        number = new_order(conn)
        tell(app, number, "paid")
        owner.execute("UPDATE orders SET paid_at = paid_at - interval '1 hour'")
        return number

    def test_whose_jobs_still_wait_is_no_finding(self, app: App, number: str) -> None:
        assert kinds(app) == []

    def test_whose_mail_was_cancelled_is_one(self, app: App, conn: Connection, number: str) -> None:
        conn.execute(
            "UPDATE jobs SET state = 'cancelled', publish_at = NULL WHERE job_type = 'send_payment_received_email'"
        )
        assert kinds(app) == ["paid_without_mail"]
        conn.execute(
            "INSERT INTO order_notifications (order_id, notification_type, status)"
            " SELECT id, 'payment_received', 'undeliverable' FROM orders"
        )
        assert kinds(app) == []

    def test_without_an_invoice_is_one(self, app: App, conn: Connection, number: str) -> None:
        conn.execute("UPDATE jobs SET state = 'cancelled', publish_at = NULL WHERE job_type = 'generate_invoice_pdf'")
        assert kinds(app) == ["paid_without_invoice"]

    def test_whose_cancelled_job_came_back_is_none_any_more(
        self, app: App, conn: Connection, number: str, run: Run
    ) -> None:
        conn.execute(
            "UPDATE jobs SET state = 'cancelled', publish_at = NULL WHERE job_type = 'send_payment_received_email'"
        )
        assert kinds(app) == ["paid_without_mail"]
        assert run("jobs", "revive", "--order", number, "--reason", "it was needed").exit_code == 0
        assert kinds(app) == []

    def test_that_was_given_back_needs_no_mail(
        self, app: App, conn: Connection, owner: Connection, number: str
    ) -> None:
        owner.execute("DELETE FROM jobs")
        conn.execute("UPDATE orders SET status = 'refunded'")
        conn.execute("UPDATE payments SET refunded_rupiah = amount_rupiah")
        assert kinds(app) == []


class TestAFinding:
    @pytest.fixture
    def found(self, app: App, conn: Connection) -> int:
        number = new_order(conn)
        tell(app, number, "paid")
        conn.execute("UPDATE orders SET status = 'refunded'")
        checked(app)
        (finding,) = ask(app, ShowPayments()).findings
        assert (finding.kind, finding.order_number) == ("order_differs_from_payment", number)
        return int(finding.id)

    def rings(self, app: App) -> bool:
        return payment_gauges(app.database)[Metric.OPEN_FINDINGS] > 0

    def test_rings_until_somebody_settled_it(self, app: App, conn: Connection, found: int) -> None:
        assert self.rings(app)
        assert ask(app, SettleFinding(finding_id=found, **WHO)).counts == {"settled": 1, "not_open": 0}
        assert not self.rings(app)
        assert ask(app, ShowPayments()).findings == ()
        assert audit(conn) == [("settle_finding", "asked the bank", {"settled": 1, "not_open": 0})]

    def test_that_is_settled_stays_so_while_it_stays(self, app: App, found: int) -> None:
        ask(app, SettleFinding(finding_id=found, **WHO))
        assert kinds(app) == []
        assert not self.rings(app)

    def test_that_went_and_comes_again_is_a_new_one(self, app: App, conn: Connection, found: int) -> None:
        ask(app, SettleFinding(finding_id=found, **WHO))
        conn.execute("UPDATE orders SET status = 'paid'")
        checked(app)
        conn.execute("UPDATE orders SET status = 'refunded'")
        assert kinds(app) == ["order_differs_from_payment"]
        assert self.rings(app)

    def test_can_be_opened_again(self, app: App, found: int) -> None:
        ask(app, SettleFinding(finding_id=found, **WHO))
        assert ask(app, ReopenFinding(finding_id=found, **WHO)).changed == 1
        assert self.rings(app)
        assert ask(app, ReopenFinding(finding_id=found, **WHO)).changed == 0

    def test_about_an_event_rings_as_that_event_and_not_twice(
        self, app: App, conn: Connection, owner: Connection
    ) -> None:
        tell(app, new_order(conn), "paid")
        owner.execute(
            "UPDATE payment_events SET state = 'received', applied_at = NULL, received_at = now() - interval '2 days'"
        )
        assert "event_not_applied" in kinds(app)
        assert not self.rings(app)

    def test_is_listed_and_settled_by_its_number(self, run: Run, found: int) -> None:
        listed = run("payments", "list").stdout
        assert "1 findings of the reconciliation." in listed
        assert "order_differs_from_payment" in listed
        settled = run("payments", "settle", found, "--reason", "x")
        assert (settled.exit_code, settled.stdout) == (0, "Settled.\n")
        again = run("payments", "settle", found, "--reason", "x")
        assert (again.exit_code, again.stdout) == (1, "No such finding is open.\n")
        assert run("payments", "settle", found, "--undo", "--reason", "x").stdout == "Open again.\n"


class TestTheCommand:
    def test_asks_until_everything_is_looked_through(
        self, run: Run, app: App, owner: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        paid_orders(owner, 4)
        monkeypatch.setattr(
            "skincare.operations.payment_changes.look_through",
            lambda database, within_s: look_through(database, within_s=0, piece=1),
        )
        result = run("payments", "reconcile", "--json")
        reported = json.loads(result.stdout)
        assert (result.exit_code, reported["finished"]) == (0, True)
        assert (len(reported["findings"]), len(reported["mended"])) == (4, 8)
        assert "Looking through the rest" in result.stderr


def test_orders_of_the_factories_are_no_finding_in_their_first_minutes(app: App, conn: Connection) -> None:
    pay(conn, make_order(conn).order.order_number)
    assert "paid_without_mail" not in kinds(app)
    assert timedelta(minutes=15) == looks._LATE
