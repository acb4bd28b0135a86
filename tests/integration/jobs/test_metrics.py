"""The numbers that alarms read: what a batch did, and how the ledger and the money stand."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, cast

import psycopg
import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext
from psycopg import Connection

from outbox_relay import lambda_function as relay_function
from skincare.app import App
from skincare.customers.gauges import ERASED_WITHIN, EXPORTED_WITHIN, customer_gauges
from skincare.customers.models import RequestKind
from skincare.customers.repository import open_request
from skincare.database.connection import Database, StaticCredentials
from skincare.deployment.metrics import Metric
from skincare.deployment.queues import QueueName
from skincare.errors import PermanentError, TransientError
from skincare.jobs.gauges import job_gauges
from skincare.jobs.repository import quarantine
from skincare.jobs.worker import Worker
from skincare.jobs.worker.batch_metrics import BatchMetrics
from skincare.jobs.worker.unprocessable import GIVE_UP_AT_RECEIVE
from skincare.payments.gauges import payment_gauges
from tests.support import ledger
from tests.support.payments import new_order, take_in, tell
from tests.support.worker_bench import Bench


@pytest.fixture
def bench(database_url: str) -> Iterator[Bench]:
    bench = Bench(database_url)
    bench.worker = measured_worker(bench, bench.database)
    yield bench
    bench.close()


def measured_worker(bench: Bench, database: Database) -> Worker[Bench]:
    return Worker(
        bench,
        registry=bench.registry,
        database=database,
        queue=bench.pair,
        publish=bench.publisher.publish_now,
        limits=bench.limits,
        leave=lambda: None,
        measured=lambda metrics: metrics.emit(stage="staging", queue=QueueName.NOTIFICATIONS),
    )


def fail_with(error: Exception) -> Any:
    def fail() -> None:
        raise error

    return fail


def printed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """Return the metrics printed since the last look: dimensions and values, without what CloudWatch needs."""
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    reported = []
    for line in (line for line in lines if "_aws" in line):
        (directive,) = line.pop("_aws")["CloudWatchMetrics"]
        assert directive["Namespace"] == "Skincare"
        (dimensions,) = directive["Dimensions"]
        assert set(line) == set(dimensions) | {metric["Name"] for metric in directive["Metrics"]}
        reported.append(line)
    return reported


class TestABatch:
    def test_tells_by_job_type_what_completed_came_to_be_retried_and_died(
        self, bench: Bench, capsys: pytest.CaptureFixture[str]
    ) -> None:
        bench.add("good")
        bench.add("later", fail_with(TransientError("later")))
        bench.add("bad", fail_with(PermanentError("never")))
        bench.work()
        by_type, by_queue = printed(capsys)
        assert (by_type["Stage"], by_type["JobType"]) == ("staging", "sample")
        assert [by_type[name] for name in ("JobsCompleted", "JobsRetried", "JobsDead")] == [[1.0]] * 3
        assert len(by_type["JobDuration"]) == len(by_type["QueueDelay"]) == 3
        assert by_queue == {"Stage": "staging", "Queue": "notifications", "ItemsFailed": [1.0]}

    def test_tells_the_delay_in_the_queue_once_per_job(self, bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
        bench.add("later", fail_with(TransientError("later")))
        bench.let_pass(timedelta(seconds=30))
        bench.work()
        assert printed(capsys)[0]["QueueDelay"][0] >= 30
        bench.let_pass(timedelta(seconds=30))
        bench.work()
        assert "QueueDelay" not in printed(capsys)[0]

    def test_does_not_call_a_message_failed_that_came_too_early(
        self, bench: Bench, capsys: pytest.CaptureFixture[str]
    ) -> None:
        job = bench.add("later", fail_with(TransientError("later")))
        bench.work()
        printed(capsys)
        with bench.database.connection() as conn:
            conn.execute("UPDATE jobs SET retry_at = now() + interval '1 minute'")
        bench.let_pass(timedelta(0))
        bench.time += 10
        assert len(bench.work()["batchItemFailures"]) == 1
        assert printed(capsys) == [{"Stage": "staging", "Queue": "notifications", "ItemsFailed": [0.0]}]
        assert bench.state(job) == "retry_waiting"

    def test_tells_of_a_job_that_its_last_crash_killed(self, bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
        job = bench.add("poison")
        with bench.database.connection() as conn:
            ledger.claim_one(conn, job.job_id)
            conn.execute("UPDATE jobs SET crashes = 4, lease_until = now()")
        bench.work()
        assert bench.state(job) == "dead_letter"
        assert {"Stage": "staging", "JobType": "sample", "JobsDead": [1.0]} in printed(capsys)

    def test_tells_of_every_message_that_failed_while_the_database_was_away(
        self, bench: Bench, capsys: pytest.CaptureFixture[str]
    ) -> None:
        bench.add("one")
        bench.add("two")
        away = Database(StaticCredentials("postgresql://app@127.0.0.1:1/shop"), max_connections=1)
        bench.work(worker=measured_worker(bench, away))
        assert printed(capsys)[-1]["ItemsFailed"] == [2.0]

    def test_without_a_job_has_no_metrics_of_jobs(self, capsys: pytest.CaptureFixture[str]) -> None:
        BatchMetrics().emit(stage="dev", queue=QueueName.PAYMENTS)
        assert printed(capsys) == [{"Stage": "dev", "Queue": "payments", "ItemsFailed": [0.0]}]


class TestUnreadableMessages:
    def test_are_judged_after_the_healthy_ones_ran(self, bench: Bench) -> None:
        bench.put("{oops")
        for _ in range(GIVE_UP_AT_RECEIVE - 1):
            bench.receive()
            bench.time += bench.limits.visibility_timeout.total_seconds() + 1
        lying: list[int] = []
        bench.add("healthy", lambda: lying.append(len(bench.dead_letters.all())))
        bench.work()
        assert lying == [0]
        assert len(bench.dead_letters.all()) == 1

    def test_wait_for_the_next_batch_where_no_time_is_left_to_dead_letter_them(self, bench: Bench) -> None:
        bench.put("{oops")
        for _ in range(GIVE_UP_AT_RECEIVE - 1):
            bench.receive()
            bench.time += bench.limits.visibility_timeout.total_seconds() + 1
        assert len(bench.work(time_left=lambda: timedelta(seconds=1))["batchItemFailures"]) == 1
        assert bench.dead_letters.all() == []


class TestTheLedger:
    def test_is_not_late_while_nothing_is_due(self, bench: Bench) -> None:
        with bench.database.connection() as conn:
            ledger.enqueue(conn)
        assert set(job_gauges(bench.database).values()) == {0}

    def test_is_as_late_as_the_job_that_has_waited_longest(self, bench: Bench) -> None:
        with bench.database.connection() as conn:
            ledger.enqueue(conn)
            ledger.let_pass(conn, timedelta(minutes=10))
            ledger.enqueue(conn)
        assert job_gauges(bench.database)[Metric.OUTBOX_LATENESS] == pytest.approx(480, abs=20)

    def test_counts_its_dead(self, bench: Bench) -> None:
        bench.add("bad", fail_with(PermanentError("never")))
        bench.work()
        assert job_gauges(bench.database)[Metric.DEAD_JOBS] == 1

    def test_counts_messages_that_belong_to_no_job_until_somebody_dealt_with_them(self, bench: Bench) -> None:
        with bench.database.connection() as conn:
            quarantine.keep(conn, QueueName.PAYMENTS, "{}", {}, reason="no job of ours")
            assert job_gauges(bench.database)[Metric.QUARANTINED_MESSAGES] == 1
            conn.execute("UPDATE quarantined_messages SET closed_at = now()")
        assert job_gauges(bench.database)[Metric.QUARANTINED_MESSAGES] == 0


def ignore_the_rest(gauges: dict[Metric, float]) -> tuple[float, float, float]:
    return (
        gauges[Metric.UNAPPLIED_PAYMENT_EVENTS],
        gauges[Metric.QUARANTINED_PAYMENT_EVENTS],
        gauges[Metric.OPEN_PAYMENT_ANOMALIES],
    )


class TestTheMoney:
    def test_waits_for_nobody_at_first(self, app: App) -> None:
        assert set(payment_gauges(app.database).values()) == {0}

    def test_counts_events_that_should_have_been_applied_by_now(self, app: App, owner_url: str) -> None:
        take_in(app)
        assert ignore_the_rest(payment_gauges(app.database)) == (0, 0, 0)
        with psycopg.connect(owner_url) as owner:
            owner.execute("UPDATE payment_events SET received_at = received_at - interval '6 minutes'")
        assert ignore_the_rest(payment_gauges(app.database)) == (1, 0, 0)

    def test_counts_quarantined_events_until_somebody_looked_at_them(self, app: App, conn: Connection) -> None:
        take_in(app, order_number="\x00")
        assert ignore_the_rest(payment_gauges(app.database)) == (0, 1, 0)
        conn.execute("UPDATE payment_events SET reviewed_at = now()")
        assert ignore_the_rest(payment_gauges(app.database)) == (0, 0, 0)

    def test_counts_open_anomalies(self, app: App, conn: Connection) -> None:
        tell(app, new_order(conn), "paid", amount_rupiah=1)
        assert ignore_the_rest(payment_gauges(app.database)) == (0, 0, 1)


class TestGaugesOfCustomersRequests:
    @pytest.mark.parametrize(
        ("kind", "within"), [(RequestKind.EXPORT, EXPORTED_WITHIN), (RequestKind.ERASE, ERASED_WITHIN)]
    )
    def test_count_those_that_are_not_done_in_time(
        self, app: App, conn: Connection, owner_url: str, kind: RequestKind, within: timedelta
    ) -> None:
        open_request(conn, kind, "sub-ani", delivered=False)
        seen = []
        with psycopg.connect(owner_url, autocommit=True) as owner:
            for age in (within - timedelta(hours=1), within + timedelta(hours=1)):
                owner.execute("UPDATE customer_requests SET created_at = now() - %s", [age])
                seen.append(customer_gauges(app.database)[Metric.OVERDUE_CUSTOMER_REQUESTS])
            owner.execute(
                "UPDATE customer_requests SET finished_at = now(), user_id = NULL,"
                " object_key = CASE kind WHEN 'export' THEN 'k' END"
            )
            seen.append(customer_gauges(app.database)[Metric.OVERDUE_CUSTOMER_REQUESTS])
        assert seen == [0, 1, 0]


class Context:
    aws_request_id = "invocation-1"

    def get_remaining_time_in_millis(self) -> int:
        return 5_000


class TestTheRelay:
    def test_tells_each_minute_how_everything_stands(
        self, app: App, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(relay_function, "get_app", lambda _: app)
        relay_function.lambda_handler({}, cast(LambdaContext, Context()))
        reported, *of_queues = printed(capsys)
        assert of_queues == [
            {
                "Stage": app.settings.stage,
                "Queue": queue,
                "UnacknowledgedDeadJobs": [0.0],
                "AcknowledgedDeadJobs": [0.0],
            }
            for queue in QueueName
        ]
        assert reported.pop("Stage") == app.settings.stage
        assert reported == {
            "OutboxLateness": [0.0],
            "JobsOfUnknownQueues": [0.0],
            "DeadJobs": [0.0],
            "PausedJobs": [0.0],
            "ForgottenPauses": [0.0],
            "QuarantinedMessages": [0.0],
            "UnappliedPaymentEvents": [0.0],
            "QuarantinedPaymentEvents": [0.0],
            "OpenPaymentAnomalies": [0.0],
            "CorrectedPaymentEvents": [0.0],
            "OpenFindings": [0.0],
            "OverdueCustomerRequests": [0.0],
        }
