"""A shop whose finished jobs, keys and carts are gone answers, expires, redrives and reconciles as before."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import psycopg
import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext
from psycopg import Connection

from oncall.retention_requests import ShowRetention
from outbox_relay import lambda_function as relay_function
from skincare.app import App
from skincare.deployment.alarms import RETENTION_BEHIND
from skincare.deployment.queues import QueueName
from skincare.jobs import relay
from skincare.jobs.envelope import Envelope
from skincare.jobs.models import DueJob, Verdict
from skincare.jobs.ports import OutgoingMessage, QueuePair, ReceivedMessage
from skincare.jobs.publisher import PublishReport
from skincare.jobs.repository import dead_letter, operations
from skincare.jobs.retry import Completed
from skincare.payments.refunds.models import RefundRequest
from skincare.retention import repository
from skincare.retention.policy import RULES
from tests.fakes.queue import MemoryQueue
from tests.integration.jobs.test_metrics import printed
from tests.support import ledger
from tests.support.ended import run_job
from tests.support.factories import fill_cart, make_product
from tests.support.http import Client
from tests.support.oncall import ask, dead_job
from tests.support.payments import ask_for_refund, checked, new_order, order_status, tell
from tests.support.retention import let_years_pass, prune_all
from tests.support.shop import somebody_waits_for_a_lock, wait_until, written
from tests.support.timers import expire

YEARS = timedelta(days=1000)


@pytest.fixture
def sku(conn: Connection) -> str:
    """A product of which a customer wants one unit."""
    sku = make_product(conn).sku
    fill_cart(conn, "ani", {sku: 1})
    return sku


@pytest.fixture
def other(database_url: str) -> Iterator[Connection]:
    with psycopg.connect(database_url) as connection:
        yield connection


def run_all_jobs(conn: Connection) -> None:
    """Let every job that waits complete, whatever it is."""
    for (job_id,) in conn.execute("SELECT id FROM jobs WHERE publish_at IS NOT NULL").fetchall():
        conn.execute("UPDATE jobs SET run_at = NULL WHERE id = %s", [job_id])
        run_job(conn, job_id, Completed())


class TestAForgottenKey:
    def test_of_a_cart_that_stayed_as_it_was_is_told_the_order(
        self, conn: Connection, owner: Connection, app: App, sku: str
    ) -> None:
        first = Client(app, "ani").order("k-1")
        let_years_pass(owner, YEARS)
        prune_all(app.database)
        answer = Client(app, "ani").order("k-1")
        assert (answer.code, answer.body["order_number"]) == ("cart_already_ordered", first.body["order_number"])

    def test_of_a_cart_that_was_filled_anew_orders_that(
        self, conn: Connection, owner: Connection, app: App, sku: str
    ) -> None:
        client = Client(app, "ani")
        first = client.order("k-1")
        let_years_pass(owner, YEARS)
        prune_all(app.database)
        client.put_item(sku, 2)
        second = client.order("k-1", {"note": "another body"})
        assert second.status == 201
        assert second.body["order_number"] != first.body["order_number"]
        assert client.order("k-1", {"note": "another body"}).text == second.text
        assert written(conn)["orders"] == 2

    def test_leaves_its_order_and_what_the_customer_sees_of_it(
        self, conn: Connection, owner: Connection, app: App, sku: str
    ) -> None:
        client = Client(app, "ani")
        number = client.order("k-1").body["order_number"]
        run_all_jobs(conn)
        before = client.get(f"/v1/orders/{number}").body
        assert before["activity"]
        let_years_pass(owner, YEARS)
        prune_all(app.database)
        after = client.get(f"/v1/orders/{number}").body
        assert after["activity"] == []
        changing = {"activity", "created_at", "expires_at"}
        assert {k: v for k, v in after.items() if k not in changing} == {
            k: v for k, v in before.items() if k not in changing
        }

    def test_is_waited_for_while_it_is_being_forgotten(
        self, conn: Connection, owner: Connection, other: Connection, app: App, sku: str
    ) -> None:
        client = Client(app, "ani")
        client.order("k-1")
        let_years_pass(owner, YEARS)
        client.put_item(sku, 2)
        with ThreadPoolExecutor(1) as thread:
            assert repository.prune(other, "prune_idempotency_keys", limit=10, after=None).removed == 1
            answer = thread.submit(client.order, "k-1")
            wait_until(lambda: somebody_waits_for_a_lock(conn))
            other.commit()
            assert answer.result().status == 201
        assert written(conn)["orders"] == 2

    def test_that_goes_between_two_looks_at_it_is_to_be_sent_again(self, conn: Connection, app: App, sku: str) -> None:
        """The insert met it and the read did not: as where it leads to no order."""
        conn.execute(
            "INSERT INTO idempotency_keys (user_id, key, fingerprint, order_number) VALUES ('ani', 'k-1', '', 'gone')"
        )
        answer = Client(app, "ani").order("k-1")
        assert (answer.code, answer.status) == ("concurrent_request", 409)
        assert answer.headers["retry-after"]


class TestAPrunedLedger:
    def test_redrives_what_died(self, conn: Connection, owner: Connection, app: App) -> None:
        run_job(conn, ledger.enqueue(conn).job_id, Completed())
        job = dead_job(conn)
        let_years_pass(owner, YEARS)
        prune_all(app.database)
        assert dead_letter.redrive(conn, [job.job_id], only_at=[1]) == {job.job_id: 1}
        run_job(conn, job.job_id, Completed())
        assert ledger.attempts(conn, job.job_id) == ["dead_letter", "completed"]

    def test_says_that_a_removed_job_is_missing_and_revives_nothing(
        self, conn: Connection, owner: Connection, app: App
    ) -> None:
        job = ledger.enqueue(conn)
        operations.cancel(conn, [job.job_id])
        let_years_pass(owner, YEARS)
        prune_all(app.database)
        assert operations.revive(conn, [job.job_id]) == set()
        assert ledger.claim_one(conn, job.job_id).verdict is Verdict.MISSING

    def test_expires_an_order_whose_timer_was_dead_for_years(
        self, conn: Connection, owner: Connection, app: App
    ) -> None:
        number = new_order(conn)
        conn.execute("UPDATE jobs SET state = 'dead_letter' WHERE job_type = 'expire_order'")
        run_all_other = conn.execute("SELECT id FROM jobs WHERE job_type <> 'expire_order'").fetchall()
        for (job_id,) in run_all_other:
            run_job(conn, job_id, Completed())
        let_years_pass(owner, YEARS)
        assert prune_all(app.database).removed["jobs"] == len(run_all_other)
        expire(app, number)
        assert order_status(conn, number) == "expired"

    def test_reconciles_without_a_finding_or_a_job(self, conn: Connection, owner: Connection, app: App) -> None:
        numbers = [new_order(conn) for _ in range(3)]
        tell(app, numbers[0], "paid")
        tell(app, numbers[1], "paid", "two")
        ask_for_refund(app, RefundRequest(numbers[1], "x", "x"))
        conn.execute("UPDATE refunds SET state = 'booked', booked_at = now()")
        expire(app, numbers[2])
        run_all_jobs(conn)
        let_years_pass(owner, YEARS)
        prune_all(app.database)
        reconciled = checked(app)
        assert (reconciled.repaired, reconciled.findings) == ((), ())
        assert conn.execute("SELECT count(*) FROM jobs").fetchone() == (0,)

    def test_still_knows_that_a_person_cancelled_a_mail_while_reconciliations_look(
        self, conn: Connection, owner: Connection, app: App
    ) -> None:
        """At the end of the look-back the job is there, so the mail is a finding and is not sent after all."""
        tell(app, new_order(conn), "paid")
        query = "SELECT id FROM jobs WHERE job_type = 'send_payment_received_email'"
        operations.cancel(conn, [job_id for (job_id,) in conn.execute(query)])
        run_all_jobs(conn)
        conn.execute("UPDATE invoices SET object_key = 'x', made_at = now()")
        let_years_pass(owner, timedelta(days=34))
        prune_all(app.database)
        assert [finding.kind for finding in checked(app).findings] == ["paid_without_mail"]

    def test_takes_an_event_in_once_whose_body_is_gone(self, conn: Connection, owner: Connection, app: App) -> None:
        number = new_order(conn)
        tell(app, number, "paid")
        let_years_pass(owner, YEARS)
        assert prune_all(app.database).removed["payment_events.body"] == 1
        tell(app, number, "paid")
        assert conn.execute("SELECT count(*), count(body) FROM payment_events").fetchone() == (1, 0)
        assert order_status(conn, number) == "paid"


class Context:
    aws_request_id = "invocation-1"

    def get_remaining_time_in_millis(self) -> int:
        return 50_000


class TestTheRelay:
    @pytest.fixture
    def metrics(self, app: App, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
        monkeypatch.setattr(relay_function, "get_app", lambda _: app)

        def run() -> list[dict[str, Any]]:
            relay_function.lambda_handler({}, cast(LambdaContext, Context()))
            return [line for line in printed(capsys) if set(line) & {"RetentionLag", "RowsRemoved"}]

        return run

    def test_says_each_minute_that_nothing_is_behind(self, metrics: Any) -> None:
        assert metrics() == [{"Stage": "local", "RetentionLag": [0.0]}]

    def test_counts_by_table_what_it_removed(self, metrics: Any, conn: Connection, owner: Connection) -> None:
        for _ in range(2):
            run_job(conn, ledger.enqueue(conn).job_id, Completed())
        let_years_pass(owner, YEARS)
        assert metrics() == [
            {"Stage": "local", "RetentionLag": [0.0]},
            {"Stage": "local", "Table": "jobs", "RowsRemoved": [2.0]},
        ]

    def test_removes_also_while_its_backlog_and_dead_letters_fill_each_run(
        self, app: App, conn: Connection, owner: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run_job(conn, ledger.enqueue(conn).job_id, Completed())
        let_years_pass(owner, YEARS)
        left_s = [50.0]

        def publish(due: list[DueJob]) -> PublishReport:
            left_s[0] -= 1
            ledger.let_pass(conn, timedelta(minutes=2))
            return PublishReport(sent=len(due))

        class DeadLetters(MemoryQueue):
            def receive(self, **options: Any) -> list[ReceivedMessage]:
                left_s[0] -= 1
                return super().receive(**options)

        class Clock(Context):
            def get_remaining_time_in_millis(self) -> int:
                return int(1000 * left_s[0])

        ledger.enqueue(conn)
        ledger.let_pass(conn, timedelta(minutes=2))
        queues = {name: QueuePair(MemoryQueue(), DeadLetters()) for name in QueueName}
        dead = dead_job(conn)
        letter = OutgoingMessage(Envelope(dead.job_id, dead.job_type, dead.payload, 1).encode())
        for pair in queues.values():
            for _ in range(50):
                pair.dead_letters.enqueue([letter] * 10)
        monkeypatch.setattr(relay, "TAKE_LIMIT", 1)
        monkeypatch.setattr(app.publisher, "publish", publish)
        monkeypatch.setattr(relay_function, "get_app", lambda _: replace(app, queues=queues))
        answer = relay_function.lambda_handler({}, cast(LambdaContext, Clock()))
        assert answer["sent"] > 20
        assert answer["removed"] == 1

    def test_rings_where_rows_stay_that_have_had_their_time(
        self, metrics: Any, conn: Connection, owner: Connection
    ) -> None:
        run_job(conn, ledger.enqueue(conn).job_id, Completed())
        let_years_pass(owner, timedelta(days=91))
        owner.execute("REVOKE EXECUTE ON FUNCTION prune_jobs FROM app")
        (line,) = metrics()
        assert 86_000 < line["RetentionLag"][0] < RETENTION_BEHIND.threshold
        let_years_pass(owner, timedelta(days=2))
        (line,) = metrics()
        assert line["RetentionLag"][0] > RETENTION_BEHIND.threshold


class TestTheOnCallEngineer:
    def test_sees_what_is_kept_how_long_and_what_would_go(self, app: App, conn: Connection, owner: Connection) -> None:
        for _ in range(3):
            run_job(conn, ledger.enqueue(conn).job_id, Completed())
        let_years_pass(owner, timedelta(days=100))
        owner.execute("ANALYZE jobs")
        found = {rule.what: rule for rule in ask(app, ShowRetention()).rules}
        assert list(found) == [rule.what for rule in RULES]
        jobs = found["jobs"]
        assert (jobs.kept_days, jobs.rows, jobs.due) == (90, 3, 3)
        assert jobs.oldest <= jobs.oldest_due
        assert (found["orders"].kept_days, found["orders"].due, found["products"].kept_days) == (3653, None, None)

    def test_sees_it_on_an_empty_database(self, app: App) -> None:
        found = ask(app, ShowRetention()).rules
        assert {rule.due for rule in found} == {None, 0}
        assert {rule.oldest_due for rule in found} == {None}
