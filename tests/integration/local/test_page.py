import contextlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from psycopg import Connection

from emulator.gateway.answered import Answered
from emulator.log.logbook import LogBook
from emulator.switches import Switches
from local.chaos import Switch
from local.page import SystemState
from local.page import state as state_module
from local.page.health import Health
from local.queues import create_queues, queue_url
from skincare.adapters.aws import AwsSession
from skincare.database.connection import Database, DatabaseUnavailable, StaticCredentials
from skincare.deployment import alarms
from skincare.deployment.alarms import ALARM_RULES
from skincare.deployment.metrics import Metric
from skincare.deployment.queues import QueueName
from skincare.jobs.repository import quarantine
from skincare.jobs.repository.acknowledgements import acknowledge
from skincare.payments.gateways import GATEWAYS
from tests.support.aws import LONG_TIMEOUTS
from tests.support.factories import make_order
from tests.support.ledger import claim_one, enqueue, let_pass
from tests.support.local_system import wait_for

DEAD_AWS = "http://127.0.0.1:1"
COLUMNS_OF_A_JOB = {
    "id",
    "type",
    "job_type",
    "queue",
    "state",
    "order_number",
    "attempts",
    "crashes",
    "dead_letter_no",
    "created_at",
    "run_at",
    "publish_at",
    "retry_at",
    "finished_at",
    "error_class",
    "error_message",
    "request_id",
    "paused",
}


class Looker:
    """Looks at the state of a system as often as a test likes."""

    def __init__(self, database_url: str, aws: AwsSession, aws_endpoint: str, folder: Path) -> None:
        self.folder = folder
        self.mailbox = folder / "mails.jsonl"
        self.health: list[str] = []
        self.answered = Answered()
        self.state = SystemState(
            database_url,
            aws=aws,
            aws_endpoint_url=aws_endpoint,
            presence=folder / "workers.json",
            mailbox=self.mailbox,
            logs=folder,
            switches=Switches(folder / "switches"),
            health=Health(lambda: self.health, log=LogBook(folder, None), fresh_s=0),
            answered=self.answered,
        )

    def look(self) -> dict[str, Any]:
        """Return what is there now, as JSON brings it to the page."""
        self.state._seen_at = float("-inf")
        state: dict[str, Any] = json.loads(json.dumps(self.state.read()))
        return state

    def queue(self, name: QueueName) -> dict[str, Any]:
        [queue] = [queue for queue in self.look()["queues"] if queue["name"] == name]
        return dict(queue)


def indicator_of(state: dict[str, Any], name: str) -> dict[str, Any]:
    [indicator] = [indicator for indicator in state["lamps"] if indicator["name"] == name]
    return dict(indicator)


def firing(looker: Looker) -> list[str]:
    return sorted(indicator["name"] for indicator in looker.look()["lamps"] if indicator["lit"])


@pytest.fixture
def looker(database_url: str, aws: AwsSession, aws_endpoint: str, tmp_path: Path) -> Iterator[Looker]:
    sqs = aws.client("sqs", LONG_TIMEOUTS)

    def delete_queues() -> None:
        for queue in QueueName:
            for url in (queue_url(aws_endpoint, queue), f"{queue_url(aws_endpoint, queue)}-dead-letters"):
                with contextlib.suppress(sqs.exceptions.QueueDoesNotExist):
                    sqs.delete_queue(QueueUrl=url)

    delete_queues()  # moto's queues are those of the process, and other tests have used some of these
    create_queues(sqs)
    looker = Looker(database_url, aws, aws_endpoint, tmp_path)
    yield looker
    looker.state.close()
    delete_queues()


def kill(conn: Connection, job_id: object) -> None:
    """Dead-letter a job as a failed settle would."""
    conn.execute(
        """
        UPDATE jobs SET state = 'dead_letter', dead_letter_no = dead_letter_no + 1,
            lease_token = NULL, leased_at = NULL, lease_until = NULL,
            attempts = 3, last_failed_at = now(), error_class = 'MailRefused', error_message = 'no such user'
        WHERE id = %s""",
        [job_id],
    )


class TestTheHealthOfTheApi:
    def test_is_told_beside_what_the_page_itself_misses(self, looker: Looker) -> None:
        looker.health = ["database"]
        wait_for(lambda: looker.look()["health"] == ["database"], "the look at it")
        assert "database" not in looker.look()["missing"]


class TestTheStateOfAnEmptySystem:
    def test_it_has_every_queue_and_nothing_else(self, looker: Looker) -> None:
        state = looker.look()
        assert datetime.now(UTC) - datetime.fromisoformat(state.pop("at")) < timedelta(seconds=30)
        nothing = {"waiting": 0, "in_work": 0, "delayed": 0, "oldest_s": None, "dead_letters": 0, "dead": 0}
        nothing["oldest_dead_s"] = None
        assert [indicator["name"] for indicator in state.pop("lamps") if indicator["lit"] or indicator["value"]] == []
        assert {switch["name"]: switch["on"] for switch in state.pop("switches")} == dict.fromkeys(Switch, False)
        assert [gateway["name"] for gateway in state.pop("gateways")] == list(GATEWAYS)
        assert state == {
            "missing": [f"worker of {queue}" for queue in QueueName],
            "health": [],
            "mails_version": 0,
            "queues": [{"name": queue.value, **nothing, "has_worker": False} for queue in QueueName],
            "orders": [],
            "jobs": [],
            "job_counts": {},
            "pauses": [],
            "dead": {"groups": [], "acknowledged": [], "jobs": [], "quarantined": []},
        }


class TestTheQueues:
    def test_their_depth_is_what_sqs_says(self, looker: Looker, aws: AwsSession, aws_endpoint: str) -> None:
        sqs, url = aws.client("sqs", LONG_TIMEOUTS), queue_url(aws_endpoint, QueueName.PAYMENTS)
        for _ in range(3):
            sqs.send_message(QueueUrl=url, MessageBody="{}")
        sqs.send_message(QueueUrl=url, MessageBody="{}", DelaySeconds=900)
        sqs.send_message(QueueUrl=f"{url}-dead-letters", MessageBody="{}")
        sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=1)
        found = looker.queue(QueueName.PAYMENTS)
        assert [found[name] for name in ("waiting", "in_work", "delayed", "dead_letters")] == [2, 1, 1, 1]
        assert looker.queue(QueueName.DOCUMENTS)["waiting"] == 0

    def test_their_oldest_job_is_the_one_that_is_due_and_unfinished_longest(
        self, looker: Looker, conn: Connection
    ) -> None:
        finished, _ = enqueue(conn), enqueue(conn)
        let_pass(conn, timedelta(minutes=5))
        enqueue(conn)
        conn.execute(
            "UPDATE jobs SET created_at = now() - interval '1 day', budget_from = now() - interval '1 day', "
            "state = 'cancelled', publish_at = NULL WHERE id = %s",
            [finished.job_id],
        )
        enqueue(conn, run_at=datetime.now(UTC) + timedelta(hours=1))
        assert 300 <= looker.queue(QueueName.NOTIFICATIONS)["oldest_s"] < 400
        assert looker.queue(QueueName.PAYMENTS)["oldest_s"] is None

    def test_a_job_for_later_is_not_old(self, looker: Looker, conn: Connection) -> None:
        enqueue(conn, run_at=datetime.now(UTC) + timedelta(hours=1))
        assert looker.queue(QueueName.NOTIFICATIONS)["oldest_s"] is None

    def test_a_dead_job_is_old_as_a_dead_letter_only(self, looker: Looker, conn: Connection) -> None:
        job = enqueue(conn)
        claim_one(conn, job.job_id)
        kill(conn, job.job_id)
        let_pass(conn, timedelta(minutes=2))
        found = looker.queue(QueueName.NOTIFICATIONS)
        assert (found["oldest_s"], found["dead"]) == (None, 1)
        assert 120 <= found["oldest_dead_s"] < 200


class TestTheIndicators:
    def test_a_message_on_a_dead_letter_queue_lights_that_of_its_queue(
        self, looker: Looker, aws: AwsSession, aws_endpoint: str
    ) -> None:
        url = queue_url(aws_endpoint, QueueName.PAYMENTS)
        aws.client("sqs", LONG_TIMEOUTS).send_message(QueueUrl=f"{url}-dead-letters", MessageBody="{}")
        assert firing(looker) == ["dead-letters-payments"]

    def test_a_job_that_sqs_has_had_for_a_quarter_of_an_hour_lights_that_of_the_age(
        self, looker: Looker, conn: Connection
    ) -> None:
        enqueue(conn)
        conn.execute(
            "UPDATE jobs SET state = 'queued', sends = 1, budget_from = now() - interval '14 minutes', "
            "publish_at = now() + interval '1 hour'"
        )
        assert firing(looker) == []
        conn.execute("UPDATE jobs SET budget_from = now() - interval '15 minutes'")
        assert firing(looker) == ["queue-age-notifications"]

    def test_a_job_that_sqs_has_not_had_yet_lights_that_of_the_outbox(self, looker: Looker, conn: Connection) -> None:
        enqueue(conn)
        conn.execute(
            "UPDATE jobs SET budget_from = now() - interval '1 hour', publish_at = now() - interval '5 minutes'"
        )
        assert firing(looker) == ["outbox-late"]

    def test_failures_in_numbers_and_mail_that_stopped_are_taken_from_the_log(self, looker: Looker) -> None:
        looker.look()
        metric = {"_aws": {"Timestamp": 0}, "Stage": "local", "Queue": "notifications", "ItemsFailed": [12.0, 7.0]}
        lines = [json.dumps(metric), "no JSON: ItemsFailed", json.dumps({"message": "email.sending_stopped"})]
        (looker.folder / "worker-notifications.log").write_text("\n".join(lines) + "\n")
        assert firing(looker) == ["email-sending-stopped"]
        assert indicator_of(looker.look(), "items-failed-notifications")["value"] == 19
        with (looker.folder / "worker-notifications.log").open("a") as file:
            file.write(json.dumps({**metric, "ItemsFailed": [1.0]})[:-3])
            file.flush()
            assert indicator_of(looker.look(), "items-failed-notifications")["value"] == 19
            file.write("0]}\n")
        assert firing(looker) == ["email-sending-stopped", "items-failed-notifications"]

    def test_what_customers_meet_lights_those_of_the_api(self, looker: Looker) -> None:
        for _ in range(4):
            looker.answered.note(503, seconds=0.1)
        assert firing(looker) == []
        looker.answered.note(500, seconds=2.5)
        assert firing(looker) == ["api-errors", "api-slow"]

    def test_refused_webhooks_are_taken_from_the_log_of_the_api(self, looker: Looker) -> None:
        looker.look()
        line = json.dumps({"level": "WARNING", "message": "payment.webhook_refused"}) + "\n"
        (looker.folder / "api.log").write_text(line * 4)
        assert firing(looker) == []
        (looker.folder / "api.log").write_text(line * 5)
        assert firing(looker) == ["webhooks-refused"]

    def test_a_message_of_nobody_lights_its_own(self, looker: Looker, conn: Connection) -> None:
        quarantine.keep(conn, QueueName.PAYMENTS, "{", {}, reason="the body is not JSON")
        assert firing(looker) == ["messages-quarantined"]

    def test_a_dead_job_lights_that_of_its_queue_until_somebody_acknowledges_it(
        self, looker: Looker, conn: Connection, aws: AwsSession, aws_endpoint: str
    ) -> None:
        job = enqueue(conn)
        claim_one(conn, job.job_id)
        kill(conn, job.job_id)
        url = queue_url(aws_endpoint, QueueName.NOTIFICATIONS)
        aws.client("sqs", LONG_TIMEOUTS).send_message(QueueUrl=f"{url}-dead-letters", MessageBody="{}")
        assert firing(looker) == ["dead-jobs-notifications", "dead-letters-notifications"]
        acknowledge(conn, {job.job_id: 1}, claimed_identity="ani", reason="waits for 1.3", lasts=timedelta(days=2))
        assert firing(looker) == []
        dead = looker.look()["dead"]
        assert [group["acknowledged"] for group in dead["groups"]] == [1]
        reported = dead["jobs"][0]["acknowledgement"]
        assert (reported["by"], reported["reason"]) == ("ani", "waits for 1.3")
        assert reported["until"].endswith("Z")

    def test_there_is_one_for_every_rule_that_one_machine_can_judge(self, looker: Looker) -> None:
        names = {indicator["name"] for indicator in looker.look()["lamps"]}
        judged = [rule for rule in ALARM_RULES if isinstance(rule.metric, Metric)]
        for rule in (*judged, alarms.DEAD_LETTERS, alarms.QUEUE_AGE, alarms.API_ERRORS, alarms.API_SLOW):
            assert names >= ({f"{rule.name}-{queue}" for queue in QueueName} if rule.per_queue else {rule.name})

    def test_each_names_its_threshold_and_runbook(self, looker: Looker) -> None:
        indicator = indicator_of(looker.look(), "dead-letters-documents")
        assert indicator == {
            "name": "dead-letters-documents",
            "value": 0,
            "threshold": 1,
            "unit": "messages",
            "runbook": "docs/runbooks/dead-letters.md",
            "lit": False,
        }


class TestTheJobs:
    def test_they_are_shown_newest_first_with_their_attempts_and_last_error(
        self, looker: Looker, conn: Connection
    ) -> None:
        older, newer = enqueue(conn), enqueue(conn)
        claim_one(conn, older.job_id)
        kill(conn, older.job_id)
        state = looker.look()
        assert [job["id"] for job in state["jobs"]] == [str(newer.job_id), str(older.job_id)]
        dead = state["jobs"][1]
        assert dead.keys() == COLUMNS_OF_A_JOB
        assert (dead["state"], dead["attempts"], dead["error_class"], dead["error_message"]) == (
            "dead_letter",
            3,
            "MailRefused",
            "no such user",
        )
        assert dead["created_at"].endswith("Z")
        assert state["job_counts"] == {"pending": 1, "dead_letter": 1}

    def test_the_dead_are_dead_letters(self, looker: Looker, conn: Connection) -> None:
        jobs = [enqueue(conn) for _ in range(3)]
        for job in jobs[:2]:
            claim_one(conn, job.job_id)
            kill(conn, job.job_id)
        dead = looker.look()["dead"]
        assert {job["id"] for job in dead["jobs"]} == {str(job.job_id) for job in jobs[:2]}
        [group] = dead["groups"]
        assert (group["job_type"], group["error_class"], group["count"]) == (
            "send_confirmation_email",
            "MailRefused",
            2,
        )
        assert group["safe"]
        assert group["why"].startswith("sends nothing where")

    def test_many_jobs_in_one_state_do_not_hide_the_few_in_another(
        self, looker: Looker, conn: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(state_module, "_JOBS_PER_STATE", 2)
        early = enqueue(conn)
        claim_one(conn, early.job_id)
        newer = [enqueue(conn) for _ in range(4)]
        state = looker.look()
        expected = [newer[3].job_id, newer[2].job_id, early.job_id]
        assert [job["id"] for job in state["jobs"]] == [str(job_id) for job_id in expected]
        assert state["job_counts"] == {"pending": 4, "processing": 1}


class TestTheOrders:
    def test_they_are_everybodys_newest_first_and_bounded(
        self, looker: Looker, conn: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(state_module, "_ORDERS", 2)
        numbers = [make_order(conn).order.order_number for _ in range(3)]
        assert [order["order_number"] for order in looker.look()["orders"]] == [numbers[2], numbers[1]]

    def test_one_has_its_items_and_what_happened(self, looker: Looker, conn: Connection) -> None:
        placed = make_order(conn, email="ani@example.com").order
        [order] = looker.look()["orders"]
        timeline = order.pop("timeline")
        created_at = order.pop("created_at")
        [item] = placed.items
        assert order == {
            "order_number": placed.order_number,
            "status": "pending",
            "email": "ani@example.com",
            "locale": "id",
            "total_rupiah": placed.total_rupiah,
            "items": [
                {
                    "sku": item.sku,
                    "name": item.name,
                    "quantity": item.quantity,
                    "unit_price_rupiah": item.unit_price_rupiah,
                }
            ],
        }
        assert timeline == [
            {"at": created_at, "event": "order_placed", "about": None, "detail": None},
            {"at": created_at, "event": "job_queued", "about": "send_confirmation_email", "detail": None},
        ]

    def test_attempts_notifications_and_a_cancellation_are_part_of_it(self, looker: Looker, conn: Connection) -> None:
        number = make_order(conn).order.order_number
        for outcome, error in [("retry", "Busy"), ("completed", None)]:
            conn.execute(
                """
                INSERT INTO job_attempts (job_id, started_at, finished_at, outcome, error_class)
                SELECT id, now(), clock_timestamp(), %s, %s FROM jobs WHERE order_number = %s""",
                [outcome, error, number],
            )
        conn.execute(
            """
            INSERT INTO order_notifications (order_id, notification_type, status, created_at)
            SELECT id, 'order_confirmation', 'sent', clock_timestamp() FROM orders WHERE order_number = %s""",
            [number],
        )
        conn.execute("UPDATE orders SET status = 'cancelled', cancelled_at = clock_timestamp()")
        [order] = looker.look()["orders"]
        assert [step["event"] for step in order["timeline"]] == [
            "order_placed",
            "job_queued",
            "attempt_failed",
            "job_completed",
            "mail_sent",
            "order_cancelled",
        ]


class TestLooking:
    def test_it_cannot_write(self, looker: Looker) -> None:
        # A failed write in such a session means a database that only reads: to the pool, one that is away.
        with pytest.raises(DatabaseUnavailable), looker.state._database.connection() as conn:
            conn.execute("DELETE FROM jobs")

    def test_soon_again_it_tells_what_it_saw(self, looker: Looker, conn: Connection) -> None:
        before = looker.look()
        enqueue(conn)
        assert looker.state.read() == before
        assert looker.look() != before

    def test_a_new_mail_makes_a_new_version_of_the_mails(self, looker: Looker) -> None:
        looker.mailbox.write_text("{}\n")
        before = looker.look()["mails_version"]
        looker.mailbox.write_text("{}\n{}\n")
        assert looker.look()["mails_version"] != before

    def test_without_its_database_it_tells_the_queues(self, looker: Looker) -> None:
        looker.state._database = Database(StaticCredentials("postgresql://nobody@127.0.0.1:1/none"))
        state = looker.look()
        assert state["missing"][0] == "database"
        assert [state[name] for name in ("orders", "jobs", "job_counts", "dead")] == [None] * 4
        assert indicator_of(state, "outbox-late")["value"] is None
        assert indicator_of(state, "queue-age-payments")["value"] is None
        assert indicator_of(state, "dead-letters-payments")["value"] == 0
        assert [queue["waiting"] for queue in state["queues"]] == [0, 0, 0]
        assert [queue["oldest_s"] for queue in state["queues"]] == [None] * 3

    def test_without_its_queues_it_tells_the_database(
        self, database_url: str, aws_endpoint: str, conn: Connection, tmp_path: Path
    ) -> None:
        enqueue(conn)
        looker = Looker(database_url, AwsSession(DEAD_AWS), DEAD_AWS, tmp_path)
        state = looker.look()
        looker.state.close()
        assert state["missing"][0] == "queues"
        assert indicator_of(state, "dead-letters-payments")["value"] is None
        assert len(state["jobs"]) == 1
        assert [queue["waiting"] for queue in state["queues"]] == [None] * 3
        assert [queue["dead_letters"] for queue in state["queues"]] == [None] * 3
