"""A redrive from outside: old jobs, killed runs, the AWS console, and what queues do meanwhile."""

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from psycopg import Connection

from cli.redrive import Redrive, Redriven, which_jobs
from skincare.adapters.aws import AwsSession
from skincare.adapters.sqs_message import message_from_record
from skincare.app import App
from skincare.deployment.queues import QueueName
from skincare.jobs.catalog import BUDGETS, SendConfirmationEmail
from skincare.jobs.models import DueJob
from skincare.jobs.ports import OutgoingMessage, QueuePair
from skincare.jobs.publisher import Publisher
from skincare.jobs.relay import run_relay, sweep
from skincare.jobs.repository import dead_letter, quarantine
from skincare.jobs.worker import Worker
from tests.fakes.email import FakeEmailSender
from tests.fakes.queue import MemoryQueue
from tests.integration.operations import redrive_kills
from tests.integration.operations.redrive_kills import redrive_everything
from tests.support import crash_process, ledger
from tests.support.aws import LONG_TIMEOUTS, create_queue
from tests.support.forked import Forked
from tests.support.http import open_app
from tests.support.oncall import die, oncall_of
from tests.support.randomness import Times
from tests.support.worker_bench import LIMITS, Bench, plenty
from worker.registry import REGISTRY

STALE = {"cancelled": 500, "mailed": 300, "applied": 100, "wanted": 100}


def redrive_all(app: App, **options: bool) -> Redriven:
    redrive = Redrive(oncall_of(app), force=options.get("force", False), max_rate=None, reason=None)
    return redrive.run(which_jobs(None), dry_run=False)


def dead_letter_stale_jobs(conn: Connection) -> None:
    """Leave dead jobs of five days ago: for orders that ended, were told, or still wait, and for applied events."""
    number = "'SKN-' || lpad(%s::text, 5, '0') || '-' || lpad(n::text, 5, '0')"
    for kind, (name, count) in enumerate(STALE.items()):
        order = number % kind
        status = "cancelled" if name == "cancelled" else "pending"
        conn.execute(
            f"""
            INSERT INTO orders (order_number, user_id, cart_version, status, total_rupiah, email, locale)
            SELECT {order}, 'user-{name}-' || n, 1, '{status}', 150000, 'buyer@example.com', 'id'
            FROM generate_series(1, {count}) n""".encode()
        )
        if name == "mailed":
            conn.execute("""
                INSERT INTO order_notifications (order_id, notification_type, status)
                SELECT id, 'order_confirmation', 'sent' FROM orders WHERE user_id LIKE 'user-mailed-%'""")
        payload = f"jsonb_build_object('order_number', {order})"
        job_type, queue = "send_confirmation_email", "notifications"
        if name == "applied":
            conn.execute(
                f"""
                INSERT INTO payment_events (id, gateway, event_key, body, headers, order_number, transaction_id, status,
                    amount_rupiah, currency, state, applied_at)
                SELECT gen_random_uuid(), 'standard_webhooks', n::text, '', '{{}}', {order}, 't-' || n, 'paid',
                    150000, 'IDR', 'applied', now() FROM generate_series(1, {count}) n""".encode()
            )
            job_type, queue = "process_payment", "payments"
            payload = "jsonb_build_object('event_id', (SELECT id FROM payment_events WHERE event_key = n::text))"
        conn.execute(
            f"""
            INSERT INTO jobs (id, job_type, queue, payload, state, order_number, publish_at, attempts, dead_letter_no,
                budget_from, first_failed_at, last_failed_at, error_class, error_message)
            SELECT gen_random_uuid(), '{job_type}', '{queue}', {payload}, 'dead_letter', {order}, now(), 9, 1,
                now() - interval '5 days', now() - interval '5 days', now() - interval '4 days', 'Outage', 'it was away'
            FROM generate_series(1, {count}) n""".encode()
        )


class Shop:
    """The real workers of all queues over queues in memory, and a mail provider that remembers."""

    def __init__(self, app: App) -> None:
        self.mails = FakeEmailSender()
        self.dead_letters = {name: MemoryQueue() for name in QueueName}
        self.pairs = {name: QueuePair(MemoryQueue(), letters) for name, letters in self.dead_letters.items()}
        self.app = replace(app, queues=self.pairs, publisher=Publisher(app.database, self.pairs), email=self.mails)

    def relay(self) -> None:
        run_relay(
            database=self.app.database,
            queues=self.pairs,
            publisher=self.app.publisher,
            budgets=BUDGETS,
            time_left=plenty,
        )

    def work(self) -> None:
        """Drain all queues."""
        for name, pair in self.pairs.items():
            worker = Worker(
                self.app,
                registry=REGISTRY,
                database=self.app.database,
                publish=self.app.publisher.publish_now,
                queue=pair,
                limits=name.limits,
            )
            while messages := pair.source.receive(limit=10, wait=timedelta(0)):
                result = worker.run(messages, time_left=plenty)
                pair.source.ack(result.acked)
                assert result.released == []

    def move_in_the_console(self) -> int:
        """Do what "start DLQ redrive" does: everything goes back, whatever the ledger thinks of it."""
        moved = 0
        for pair in self.pairs.values():
            while messages := pair.dead_letters.receive(limit=10, wait=timedelta(0)):
                pair.source.enqueue([OutgoingMessage(each.body, each.attributes) for each in messages])
                pair.dead_letters.ack(messages)
                moved += len(messages)
        return moved

    def letters(self) -> int:
        return sum(len(queue.all()) for queue in self.dead_letters.values())


def states(conn: Connection) -> dict[str, int]:
    return dict(conn.execute("SELECT state, count(*) FROM jobs GROUP BY state").fetchall())


class TestAThousandStaleJobs:
    def test_redriven_twice_and_once_more_in_the_console_have_each_effect_once(
        self, database_url: str, conn: Connection
    ) -> None:
        dead_letter_stale_jobs(conn)
        with open_app(database_url, max_connections=4) as app:
            shop = Shop(app)
            shop.relay()
            assert shop.letters() == 1000
            before = conn.execute("SELECT count(*), sum(amount_rupiah) FROM payments").fetchone()

            first = redrive_all(shop.app)
            assert (first.matched, first.counts["redriven"], first.counts["redriven_past_use"]) == (1000, 1000, 900)
            assert first.all_of_them
            shop.work()
            assert states(conn) == {"completed": 1000}
            assert len(shop.mails.sent) == STALE["wanted"]

            second = redrive_all(shop.app)
            assert (second.matched, second.job_ids) == (0, [])
            assert shop.move_in_the_console() == 1000
            shop.work()
            shop.relay()
            assert states(conn) == {"completed": 1000}
            assert len(shop.mails.sent) == STALE["wanted"]
            assert conn.execute("SELECT count(*), sum(amount_rupiah) FROM payments").fetchone() == before
            assert shop.letters() == 0


class TestARedriveInTheConsole:
    def test_brings_jobs_back_that_carry_their_current_number(self, database_url: str, conn: Connection) -> None:
        dead_letter_stale_jobs(conn)
        with open_app(database_url, max_connections=4) as app:
            shop = Shop(app)
            shop.relay()
            shop.move_in_the_console()
            shop.work()
            assert states(conn) == {"completed": 1000}
            assert len(shop.mails.sent) == STALE["wanted"]

    def test_works_over_real_sqs_messages(
        self, database_url: str, aws: AwsSession, aws_endpoint: str, tmp_path: Path
    ) -> None:
        environ = local_environment(database_url, aws, aws_endpoint, tmp_path)
        app = crash_process.make_app(environ)
        with app.database.connection() as conn:
            (number,) = place_dead(conn, 1)
        crash_process.relay_once(app)
        sqs = aws.client("sqs", LONG_TIMEOUTS)
        (letter,) = sqs.receive_message(
            QueueUrl=environ["DEAD_LETTER_QUEUE_URL"], MessageAttributeNames=["All"], WaitTimeSeconds=2
        )["Messages"]
        # A new message with the old body and attributes: that is what StartMessageMoveTask makes.
        sqs.send_message(
            QueueUrl=environ["QUEUE_URL"], MessageBody=letter["Body"], MessageAttributes=letter["MessageAttributes"]
        )
        sqs.delete_message(QueueUrl=environ["DEAD_LETTER_QUEUE_URL"], ReceiptHandle=letter["ReceiptHandle"])
        assert letter["MessageAttributes"]["order_number"]["StringValue"] == number
        crash_process.work_once(app)
        with app.database.connection() as conn:
            assert states(conn) == {"completed": 1}
        app.database.close()


def local_environment(database_url: str, aws: AwsSession, aws_endpoint: str, folder: Path) -> dict[str, str]:
    """The environment of a process of the system."""
    mail = folder / "mails"
    mail.touch()
    return {
        "DATABASE_URL": database_url,
        "AWS_ENDPOINT_URL": aws_endpoint,
        "QUEUE_URL": create_queue(aws, VisibilityTimeout="1"),
        "DEAD_LETTER_QUEUE_URL": create_queue(aws),
        "MAIL_FILE": str(mail),
    }


def place_dead(conn: Connection, count: int) -> list[str]:
    """Place orders whose confirmation died; return their numbers."""
    conn.execute(
        f"""
        INSERT INTO orders (order_number, user_id, cart_version, total_rupiah, email, locale)
        SELECT 'SKN-00000-' || lpad(n::text, 5, '0'), 'user-' || n, 1, 150000, 'buyer' || n || '@example.com', 'id'
        FROM generate_series(1, {count}) n""".encode()
    )
    numbers = [number for (number,) in conn.execute("SELECT order_number FROM orders")]
    for number in numbers:
        die(conn, ledger.enqueue(conn, SendConfirmationEmail(order_number=number), order_number=number))
    return numbers


class TestARunThatIsKilled:
    def test_again_and_again_at_random_loses_no_job_and_doubles_none(
        self,
        database_url: str,
        aws: AwsSession,
        aws_endpoint: str,
        tmp_path: Path,
        conn: Connection,
        times: Times,
        random_seed: int,
    ) -> None:
        environ = local_environment(database_url, aws, aws_endpoint, tmp_path)
        kills, jobs = times(short=10, long=50), times(short=60, long=160)
        place_dead(conn, jobs)
        killer = Forked(redrive_kills.main, kills, random_seed, environ={**os.environ, **environ})
        assert killer.wait(timeout_s=150) == 0
        left = states(conn)
        assert left["dead_letter"] < jobs, "no run came so far as to redrive a job"
        assert left["dead_letter"] > 0, "nothing was left for the last run"

        redrive_everything(environ, max_rate=None)
        app = crash_process.make_app(environ)
        for _ in range(200):
            if set(states(conn)) == {"completed"}:
                break
            ledger.let_pass(conn, timedelta(minutes=2))
            crash_process.relay_once(app)
            while crash_process.work_once(app, wait=timedelta(0)):
                pass
        app.database.close()
        assert states(conn) == {"completed": jobs}
        ends = conn.execute(
            "SELECT count(*), count(DISTINCT job_id) FROM job_attempts WHERE outcome = 'completed'"
        ).fetchone()
        assert ends == (jobs, jobs)
        assert len((tmp_path / "mails").read_text().splitlines()) == jobs
        audited = conn.execute("SELECT sum((counts ->> 'redriven')::integer) FROM operations_audit").fetchone()
        assert audited == (jobs,)


@pytest.fixture
def bench(database_url: str) -> Iterator[Bench]:
    bench = Bench(database_url)
    yield bench
    bench.close()


class TestARedrivenJob:
    """What SQS and time may do to a job that came back is as harmless as before."""

    def redriven(self, bench: Bench, name: str = "x") -> DueJob:
        job = bench.add(name)
        bench.source.purge()
        with bench.database.connection() as conn:
            die(conn, job)
        bench.publisher.publish(self.due(bench))
        with bench.database.connection() as conn:
            dead_letter.redrive(conn, [job.job_id])
        bench.publisher.publish(self.due(bench))
        return job

    def due(self, bench: Bench) -> list[DueJob]:
        from skincare.jobs.repository import outbox

        with bench.database.connection() as conn:
            return outbox.take_due(conn, limit=10)

    def test_is_run_by_one_worker_while_another_gets_a_copy(self, bench: Bench) -> None:
        job = self.redriven(bench)
        (message,) = bench.receive()
        other = bench.new_worker(bench.database)
        seen = []

        def meanwhile() -> None:
            seen.append(other.run([replace(message, receipt_handle="other")], time_left=plenty))

        bench.handlers["x"] = meanwhile
        bench.work([message])
        ((_, wait),) = seen[0].released
        assert timedelta(seconds=1) <= wait <= LIMITS.function_timeout
        assert bench.ran == ["x"]
        assert bench.state(job) == "completed"

    def test_of_which_a_batch_holds_copies_and_its_old_letter_runs_once(self, bench: Bench) -> None:
        job = self.redriven(bench)
        (message,) = bench.receive()
        (letter,) = bench.dead_letters.receive(limit=10, wait=timedelta(0))
        batch = [message, replace(message, receipt_handle="other"), letter]
        bench.work(batch)
        assert bench.ran == ["x"]
        assert bench.last is not None
        assert bench.last.acked == batch
        assert bench.state(job) == "completed"

    def test_whose_copies_fail_has_them_all_delivered_again(self, bench: Bench) -> None:
        self.redriven(bench)
        (message,) = bench.receive()
        bench.handlers["x"] = lambda: 1 // 0  # type: ignore[assignment]
        bench.work([message, replace(message, message_id="m-2")])
        assert bench.last is not None
        assert len(bench.last.released) == 2

    @pytest.mark.parametrize("attributes", [{}, {"ApproximateReceiveCount": "x"}, {"ApproximateReceiveCount": "0"}])
    def test_whose_message_lacks_its_attributes_runs_all_the_same(
        self, bench: Bench, attributes: dict[str, str]
    ) -> None:
        job = self.redriven(bench)
        (message,) = bench.receive()
        record = {
            "messageId": message.message_id,
            "receiptHandle": message.receipt_handle,
            "body": message.body,
            "attributes": attributes,
            "messageAttributes": {},
        }
        read = message_from_record(record)
        assert read.receive_count == 1
        bench.work([read])
        assert bench.state(job) == "completed"

    def test_that_fails_is_delivered_again_although_its_visibility_cannot_be_set(self, bench: Bench) -> None:
        job = self.redriven(bench)
        bench.handlers["x"] = lambda: 1 // 0  # type: ignore[assignment]
        bench.source.fail_next("nack")
        response = bench.work()
        assert len(response["batchItemFailures"]) == 1
        assert bench.state(job) == "retry_waiting"

    def test_that_fails_again_for_good_is_dead_with_both_histories(self, bench: Bench) -> None:
        job = self.redriven(bench)
        bench.source.purge()
        with bench.database.connection() as conn:
            die(conn, job, "StillBroken")
            assert ledger.attempts(conn, job.job_id) == ["dead_letter", "dead_letter"]
            assert ledger.row(conn, job.job_id)["dead_letter_no"] == 2


class TestAForeignMessageThatTheConsoleMovedBack:
    @pytest.mark.parametrize(
        "body", ['{"Event":"s3:TestEvent"}', "[]", '"x"', "null", '{"id":"j","type":"u","payload":{}}']
    )
    def test_disturbs_nobody_and_ends_in_the_quarantine(self, bench: Bench, body: str) -> None:
        bench.put(body)
        neighbour = bench.add("neighbour")
        for _ in range(10):
            bench.work()
            bench.let_pass(timedelta(minutes=7))
        assert bench.state(neighbour) == "completed"
        assert len(bench.dead_letters.all()) == 1
        sweep(bench.dead_letters, name=QueueName.PAYMENTS, database=bench.database, budgets=BUDGETS, time_left=plenty)
        with bench.database.connection() as conn:
            (message,) = quarantine.waiting(conn, limit=10)
            found = quarantine.content(conn, message.id)
        assert found is not None
        assert (found[1], found[2]["error_class"]) == (body, "MessageUnreadable")
