"""The on-call function: what it tells, what it changes, and what it leaves alone."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import Connection

from oncall.dead_letter_requests import (
    CloseQuarantined,
    DeadLetterRef,
    Discard,
    FindDead,
    ListDead,
    Redrive,
    ShowQuarantined,
)
from oncall.job_requests import Cancel, ListJobs, LookAtJobs, RetryNow, ShowJob, ShowOrder, ShowOutbox
from oncall.lambda_function import lambda_handler
from oncall.payment_requests import ResolveAnomaly, ShowPayments
from skincare.app import App
from skincare.database.connection import Database, StaticCredentials
from skincare.deployment.queues import QueueName
from skincare.jobs.catalog import ProcessPayment, SendConfirmationEmail
from skincare.jobs.models import DueJob
from skincare.jobs.repository import lease, quarantine
from skincare.jobs.retry import DeadLetter
from skincare.payments.refunds.models import RefundRequest
from skincare.payments.refunds.repository import mark_refused
from tests.fakes.object_store import FakeObjectStore
from tests.support import ledger
from tests.support.factories import make_order
from tests.support.http import NOWHERE, make_app
from tests.support.log import recorded_log
from tests.support.oncall import ME, ask, audit, dead_job, die, invoke, refused
from tests.support.payments import ask_for_refund, new_order, take_in, tell
from tests.support.timers import asking, expire

SAMPLE = ledger.Sample()
"""Of a type that the catalog does not know: not safe to run again."""


def ref(job: DueJob, number: int = 1) -> DeadLetterRef:
    return DeadLetterRef(job_id=job.job_id, dead_letter_no=number)


def redrive(*refs: DeadLetterRef, **options: Any) -> Redrive:
    return Redrive(claimed_identity=ME, deaths=list(refs), **options)


def state(conn: Connection, job: DueJob) -> str:
    return str(ledger.row(conn, job.job_id)["state"])


class TestListingDeadJobs:
    def test_groups_them_by_type_and_error_with_what_a_person_must_know(self, app: App, conn: Connection) -> None:
        for number in range(3):
            dead_job(conn, order_number=f"SKN-00000-0000{number % 2}")
        dead_job(conn, SAMPLE)
        first, second = ask(app, ListDead()).groups
        assert (first.job_type, first.error_class, first.count) == ("send_confirmation_email", "NoSuchOrder", 3)
        assert (first.orders, first.order_numbers) == (2, ["SKN-00000-00000", "SKN-00000-00001"])
        assert first.safe
        assert "recorded as sent" in first.why
        assert (second.job_type, second.safe, second.why) == (
            "sample",
            False,
            "this release does not know the job type",
        )

    def test_also_lists_what_is_in_quarantine_without_its_content(self, app: App, conn: Connection) -> None:
        number = quarantine.keep(conn, QueueName.PAYMENTS, "{secret", {}, reason="the body is not JSON")
        answer = invoke(app, {"operation": "list_dead"})
        (message,) = answer["answer"]["quarantined"]
        assert (message["id"], message["queue"], message["size_bytes"]) == (number, "payments", 7)
        assert "{secret" not in json.dumps(answer)
        whole = ask(app, ShowQuarantined(message_id=number))
        assert whole.body == "{secret"

    def test_reads_no_queue(self, app: App, conn: Connection) -> None:
        dead_job(conn)
        assert app.queues == {}
        assert ask(app, ListDead()).groups


class TestFindingDeadJobs:
    def test_pages_through_them_in_the_order_of_their_ids(self, app: App, conn: Connection) -> None:
        jobs = sorted(str(dead_job(conn).job_id) for _ in range(5))
        page = ask(app, FindDead(limit=3))
        rest = ask(app, FindDead(limit=3, after=UUID(page.jobs[-1].id)))
        assert [job.id for job in (*page.jobs, *rest.jobs)] == jobs
        assert (page.more, rest.more) == (True, False)

    def test_takes_all_conditions_together(self, app: App, conn: Connection) -> None:
        old = dead_job(conn, order_number="SKN-00000-00001")
        ledger.let_pass(conn, timedelta(hours=2))
        dead_job(conn, order_number="SKN-00000-00001")
        dead_job(conn, SAMPLE, order_number="SKN-00000-00001")
        found = ask(
            app,
            FindDead(
                job_type="send_confirmation_email",
                error_class="NoSuchOrder",
                order_number="SKN-00000-00001",
                failed_before=datetime.now(UTC) - timedelta(hours=1),
            ),
        )
        assert [job.id for job in found.jobs] == [str(old.job_id)]
        assert ask(app, FindDead(error_class="Other")).jobs == ()

    def test_says_which_jobs_have_nothing_left_to_do(self, app: App, conn: Connection) -> None:
        placement = make_order(conn)
        job = placement.job
        assert job is not None
        die(conn, job)
        assert [each.past_use for each in ask(app, FindDead()).jobs] == [None]
        conn.execute("UPDATE orders SET status = 'cancelled', cancelled_at = now()")
        assert [each.past_use for each in ask(app, FindDead()).jobs] == ["the order is cancelled"]

    @pytest.mark.parametrize(
        ("state", "said"),
        [
            ("requested", None),
            ("refused", None),
            ("sent", "the refund is sent"),
        ],
    )
    def test_that_send_a_refund_have_something_to_do_until_it_is_sent(
        self, app: App, conn: Connection, state: str, said: str | None
    ) -> None:
        number = make_order(conn).order.order_number
        tell(app, number, "paid")
        conn.execute("UPDATE jobs SET publish_at = NULL, state = 'cancelled', finished_at = now()")
        refund = ask_for_refund(app, RefundRequest(number, "x", "x"))
        conn.execute("UPDATE refunds SET state = %s, refusal = 'x'", [state])
        conn.execute("UPDATE jobs SET state = 'dead_letter' WHERE job_type = 'send_refund'")
        assert [each.past_use for each in ask(app, FindDead()).jobs] == [said], refund.key

    def test_whose_payload_cannot_be_read_is_not_said_to_have_nothing_left_to_do(
        self, app: App, conn: Connection
    ) -> None:
        dead_job(conn)
        conn.execute("""UPDATE jobs SET payload = '{"order_number": 7}'""")
        assert [each.past_use for each in ask(app, FindDead()).jobs] == [None]

    def test_that_names_no_order_is_not_said_to_have_nothing_left_to_do(self, app: App, conn: Connection) -> None:
        dead_job(conn, SendConfirmationEmail.model_construct())
        dead_job(conn, SendConfirmationEmail(order_number="SKN-00000-00009"))
        found = [each.past_use for each in ask(app, FindDead()).jobs]
        assert found == [None, "there is no such order"]


class TestRedriving:
    def test_brings_a_job_back_with_its_history_and_publishes_it(self, app: App, conn: Connection) -> None:
        job = dead_job(conn)
        change = ask(app, redrive(ref(job)))
        assert (change.changed, change.job_ids) == (1, (str(job.job_id),))
        row = ledger.row(conn, job.job_id)
        assert (row["state"], row["attempts"]) == ("pending", 0)
        assert ledger.attempts(conn, job.job_id) == ["dead_letter"]
        assert [published.job_id for published in app.publisher.jobs] == [job.job_id]  # type: ignore[attr-defined]

    def test_of_a_request_whose_answer_was_lost_changes_nothing_more(self, app: App, conn: Connection) -> None:
        job = dead_job(conn)
        request = redrive(ref(job))
        ask(app, request)
        assert ask(app, request).counts["not_dead_any_more"] == 1
        die(conn, job)
        assert ask(app, request).counts["not_dead_any_more"] == 1
        assert state(conn, job) == "dead_letter"
        assert ask(app, redrive(ref(job, 2))).changed == 1
        assert len(audit(conn)) == 2

    def test_leaves_a_type_alone_that_is_not_safe_unless_it_is_forced(self, app: App, conn: Connection) -> None:
        job = dead_job(conn, SAMPLE)
        assert ask(app, redrive(ref(job))).counts["needs_force"] == 1
        assert state(conn, job) == "dead_letter"
        assert audit(conn) == []
        assert ask(app, redrive(ref(job), force=True)).counts["redriven"] == 1

    def test_counts_what_is_past_its_use(self, app: App, conn: Connection) -> None:
        order_number = new_order(conn)
        tell(app, order_number, "paid")
        (event_id,) = conn.execute("SELECT id FROM payment_events").fetchone() or [None]
        job = dead_job(conn, ProcessPayment(event_id=str(event_id)))
        assert ask(app, redrive(ref(job))).counts == {
            "redriven": 1,
            "redriven_past_use": 1,
            "not_dead_any_more": 0,
            "needs_force": 0,
            "unknown": 0,
        }

    def test_counts_jobs_that_nobody_knows(self, app: App) -> None:
        assert ask(app, redrive(DeadLetterRef(job_id=uuid4(), dead_letter_no=1))).counts["unknown"] == 1


class TestEveryChange:
    def test_is_written_down_with_who_what_and_why_in_its_own_transaction(self, app: App, conn: Connection) -> None:
        job = dead_job(conn)
        ask(app, Discard(claimed_identity=ME, deaths=[ref(job)], reason="the order was a test"))
        row = conn.execute(
            "SELECT claimed_identity, invocation_id, operation, reason, request, counts FROM operations_audit"
        ).fetchone()
        assert row == (
            ME,
            "invocation-1",
            "discard",
            "the order was a test",
            {"deaths": {str(job.job_id): 1}, "even_paid": False},
            {"discarded": 1, "not_dead_any_more": 0},
        )
        assert state(conn, job) == "cancelled"

    @pytest.mark.parametrize("operation", ["redrive", "discard", "cancel", "retry_now"])
    def test_that_cannot_be_written_down_does_not_happen(
        self, app: App, conn: Connection, owner_url: str, operation: str
    ) -> None:
        job = ledger.enqueue(conn)
        if operation in {"redrive", "discard"}:
            die(conn, job)
        before = ledger.row(conn, job.job_id) | {"now": None}
        with psycopg.connect(owner_url, autocommit=True) as owner:
            owner.execute("REVOKE INSERT ON operations_audit FROM app")
        what = (
            {"deaths": [{"job_id": str(job.job_id), "dead_letter_no": 1}]}
            if operation in {"redrive", "discard"}
            else {"job_ids": [str(job.job_id)]}
        )
        event = {"operation": operation, "claimed_identity": ME, "reason": "because", **what}
        assert refused(app, event).error.code == "failed"
        assert ledger.row(conn, job.job_id) | {"now": None} == before

    def test_is_never_rewritten(self, conn: Connection) -> None:
        for statement in ("UPDATE operations_audit SET reason = 'x'", "DELETE FROM operations_audit"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                conn.execute(statement)

    def test_cancels_and_retries_what_can_be(self, app: App, conn: Connection) -> None:
        job, later, dead = ledger.enqueue(conn), ledger.enqueue(conn, run_at=_in_an_hour(conn)), dead_job(conn)
        ids: list[UUID] = [job.job_id, later.job_id, dead.job_id]
        assert ask(app, RetryNow(claimed_identity=ME, job_ids=ids)).job_ids == (str(job.job_id),)
        change = ask(app, Cancel(claimed_identity=ME, job_ids=ids, reason="not wanted"))
        assert change.counts == {"cancelled": 3, "finished_or_unknown": 0}
        assert ask(app, Cancel(claimed_identity=ME, job_ids=ids, reason="not wanted")).changed == 0
        assert [entry[0] for entry in audit(conn)] == ["retry_now", "cancel"]

    def test_resolves_an_anomaly_and_closes_a_quarantined_message_once(self, app: App, conn: Connection) -> None:
        tell(app, new_order(conn), "paid", amount_rupiah=1)
        (anomaly,) = ask(app, ShowPayments()).anomalies
        number = quarantine.keep(conn, QueueName.PAYMENTS, "x", {}, reason="no")
        for changed in (1, 0):
            resolve = ResolveAnomaly(claimed_identity=ME, anomaly_id=anomaly.id, reason="given back")
            close = CloseQuarantined(claimed_identity=ME, message_id=number, reason="a test of ours")
            assert (ask(app, resolve).changed, ask(app, close).changed) == (changed, changed)
        assert ask(app, ShowPayments()).open_anomalies == 0
        assert len(audit(conn)) == 2


def _in_an_hour(conn: Connection) -> datetime:
    row = conn.execute("SELECT now() + interval '1 hour'").fetchone()
    assert row is not None
    found: datetime = row[0]
    return found


JOB = "01890000-0000-7000-8000-000000000000"
GOOD: dict[str, Any] = {
    "operation": "redrive",
    "claimed_identity": ME,
    "deaths": [{"job_id": JOB, "dead_letter_no": 1}],
}
MALFORMED: list[tuple[Any, str]] = [
    (None, "request"),
    ([], "request"),
    ("redrive", "request"),
    ({}, "operation"),
    ({"operation": "drop_table"}, "operation"),
    ({"operation": ["redrive"]}, "operation"),
    (GOOD | {"claimed_identity": ""}, "claimed_identity"),
    (GOOD | {"claimed_identity": None}, "claimed_identity"),
    (GOOD | {"deaths": []}, "deaths"),
    (GOOD | {"deaths": GOOD["deaths"] * 101}, "deaths"),
    (GOOD | {"deaths": [{"job_id": JOB}]}, "deaths.0.dead_letter_no"),
    (GOOD | {"deaths": [{"job_id": "x", "dead_letter_no": 1}]}, "deaths.0.job_id"),
    (GOOD | {"deaths": [{"job_id": JOB, "dead_letter_no": "1"}]}, "deaths.0.dead_letter_no"),
    (GOOD | {"deaths": [{"job_id": JOB, "dead_letter_no": 2**31}]}, "deaths.0.dead_letter_no"),
    (GOOD | {"force": 1}, "force"),
    (GOOD | {"sql": "DELETE FROM jobs"}, "sql"),
    (GOOD | {"reason": "   "}, "reason"),
    ({key: value for key, value in GOOD.items() if key != "claimed_identity"}, "claimed_identity"),
    (GOOD | {"operation": "discard"}, "reason"),
    ({"operation": "find_dead", "failed_before": "2026-01-01T00:00:00"}, "failed_before"),
    ({"operation": "find_dead", "limit": 101}, "limit"),
    ({"operation": "show_order", "order_number": "SKN-1' OR '1'='1"}, "order_number"),
    *((GOOD | {"reason": f"back{each}"}, "reason") for each in ("\x00", "\x1b[31m", "\n", "\u202e", "\ud800")),
    (GOOD | {"reason": "\u200b"}, "reason"),
    *(
        ({"operation": operation, field: "a\x00"}, field)
        for operation, field in (
            ("find_dead", "job_type"),
            ("find_dead", "error_class"),
            ("list_jobs", "queue"),
            ("list_jobs", "state"),
        )
    ),
    (
        {"operation": "refund", "claimed_identity": ME, "order_number": "SKN-00000-00000", "key": "k-1", "reason": "x"}
        | {"transaction_id": "tx\x00"},
        "transaction_id",
    ),
    *(
        (
            {"operation": "adjust_stock", "claimed_identity": ME, "sku": "SERUM", "key": "k", "reason": "x"}
            | {"delta": delta},
            "delta",
        )
        for delta in (0, 10**9 + 1, -(10**9) - 1)
    ),
]


class TestAMalformedRequest:
    @pytest.mark.parametrize(("event", "field"), MALFORMED)
    def test_changes_nothing_and_is_told_the_field(self, app: App, conn: Connection, event: object, field: str) -> None:
        job = dead_job(conn)
        before = ledger.row(conn, job.job_id) | {"now": None}
        error = refused(app, event).error
        assert (error.code, list(error.fields)) == ("request_malformed", [field])
        assert ledger.row(conn, job.job_id) | {"now": None} == before
        assert audit(conn) == []

    def test_is_told_what_to_do_about_a_text(self, app: App) -> None:
        fields = refused(app, GOOD | {"reason": "back\x00"}).error.fields
        assert fields == {"reason": "must be text without control characters"}
        fields = refused(app, {"operation": "show_order", "order_number": "canary"}).error.fields
        assert fields == {"order_number": "must be an order number such as SKN-4T9QX-0M7KD"}

    def test_is_not_repeated_in_the_log_or_the_answer(self, app: App) -> None:
        with recorded_log() as log:
            answer = invoke(app, GOOD | {"deaths": [{"job_id": "canary7f3a", "dead_letter_no": 1}]})
        assert "canary7f3a" not in log.text + json.dumps(answer)

    def test_never_reaches_the_database(self) -> None:
        assert refused(make_app(NOWHERE), {"operation": "drop"}).error.code == "request_malformed"


class TestWithoutADatabase:
    def test_the_caller_is_told_so(self) -> None:
        assert refused(make_app(NOWHERE), {"operation": "list_dead"}).error.code == "database_unavailable"

    def test_an_error_is_not_told_in_the_words_of_others(self, app: App, owner_url: str) -> None:
        with psycopg.connect(owner_url, autocommit=True) as owner:
            owner.execute("ALTER TABLE jobs RENAME TO jobs_canary")
        with recorded_log() as log:
            error = refused(app, {"operation": "list_dead"}).error
        assert error.code == "failed"
        assert "jobs" not in error.message
        assert "relation" not in log.text


class TestTimelines:
    def test_a_job_is_told_with_its_attempts_and_what_happened_to_its_order(self, app: App, conn: Connection) -> None:
        placement = make_order(conn)
        job = placement.job
        assert job is not None
        die(conn, job)
        timeline = ask(app, ShowJob(job_id=job.job_id))
        assert timeline.payload == {"order_number": placement.order.order_number}
        assert (timeline.release, timeline.safe, timeline.past_use) == ("1.2.3", True, None)
        (attempt,) = timeline.attempts
        assert (attempt.outcome, attempt.error_class, attempt.release) == ("dead_letter", "NoSuchOrder", "1.2.3")
        assert timeline.order is not None
        assert [each.what for each in timeline.order.happenings] == [
            "order placed",
            "job enqueued",
            "job enqueued",
            "job attempt: dead_letter",
        ]

    def test_an_order_is_told_in_time_order_without_a_word_about_who_ordered(self, app: App, conn: Connection) -> None:
        placement = make_order(
            conn,
            user_id="canary7f3a",
            email="canary7f3a@example.com",
            recipient_name="canary7f3a",
            shipping_address="canary7f3a",
            note="canary7f3a",
        )
        number = placement.order.order_number
        tell(app, number, "paid", amount_rupiah=1)
        tell(app, number, "paid", "two")
        answer = invoke(app, {"operation": "show_order", "order_number": number})
        reported = [each["what"] for each in answer["answer"]["happenings"]]
        assert reported[0] == "order placed"
        assert "payment event applied" in reported
        assert any(what.startswith("anomaly") for what in reported)
        assert "canary7f3a" not in json.dumps(answer)
        times = [each["at"] for each in answer["answer"]["happenings"]]
        assert times == sorted(times)

    def test_a_refund_is_told_from_its_request_to_its_booking_with_the_invoice(
        self, app: App, conn: Connection
    ) -> None:
        number = new_order(conn)
        tell(app, number, "paid", minute=1)
        not_done, done = (
            ask_for_refund(app, RefundRequest(number, "damaged in transit", "service desk", 50_000)) for _ in range(2)
        )
        mark_refused(conn, not_done.key, refusal="too late")
        tell(app, number, "partially_refunded", minute=2, amount_rupiah=50_000, refund_id=done.key)
        timeline = ask(app, ShowOrder(order_number=number))
        assert timeline is not None
        reported = [(each.what, each.detail) for each in timeline.happenings]
        assert ("refund requested", f"standard_webhooks, Rp50.000, now refused: too late ({not_done.key})") in reported
        assert ("refund requested", f"standard_webhooks, Rp50.000, now booked ({done.key})") in reported
        assert ("refund booked", f"Rp50.000 ({done.key})") in reported
        assert "invoice number taken" in [what for what, _ in reported]

    def test_an_expiry_is_told(self, app: App, conn: Connection) -> None:
        number = new_order(conn)
        expire(asking(app)[0], number)
        timeline = ask(app, ShowOrder(order_number=number))
        assert timeline is not None
        assert "order expired" in [each.what for each in timeline.happenings]

    def test_what_is_not_there_is_said_to_be_not_there(self, app: App) -> None:
        for event in (
            {"operation": "show_order", "order_number": "SKN-00000-00000"},
            {"operation": "show_job", "job_id": JOB},
            {"operation": "show_quarantined", "message_id": 1},
        ):
            assert refused(app, event).error.code == "not_found"


class TestBacklogs:
    def test_the_outbox_tells_what_is_due_and_what_is_late(self, app: App, conn: Connection) -> None:
        assert ask(app, ShowOutbox()).due == 0
        ledger.enqueue(conn)
        ledger.let_pass(conn, timedelta(minutes=2))
        ledger.enqueue(conn, run_at=_in_an_hour(conn))
        found = ask(app, ShowOutbox())
        assert (found.due, found.late, found.waiting_for_their_time, found.live, found.dead) == (1, 0, 1, 2, 0)
        ledger.let_pass(conn, timedelta(minutes=5))
        found = ask(app, ShowOutbox())
        assert found.late == 1
        assert 300 <= found.oldest_lateness_s <= 400

    def test_payments_tell_what_waits(self, app: App, conn: Connection) -> None:
        tell(app, new_order(conn), "paid", amount_rupiah=1)
        take_in(app, order_number=new_order(conn), event_id="waits")
        found = ask(app, ShowPayments())
        assert (found.unapplied, found.open_anomalies) == (1, 1)
        assert [event.state for event in found.events] == ["received"]

    def test_jobs_are_found_by_their_ids_and_by_their_order(self, app: App, conn: Connection) -> None:
        one, other = ledger.enqueue(conn), ledger.enqueue(conn, order_number="SKN-00000-00009")
        found = ask(app, LookAtJobs(job_ids=[one.job_id], order_number="SKN-00000-00009"))
        assert [job.id for job in found.jobs] == sorted([str(one.job_id), str(other.job_id)])
        assert len(ask(app, ListJobs(limit=1)).jobs) == 1


class TestADeadLetter:
    def test_carries_its_reason_as_attributes(self, conn: Connection) -> None:
        from skincare.jobs.publisher import _message
        from skincare.jobs.repository import outbox

        job = ledger.enqueue(conn, order_number="SKN-00000-00001", request_id="request-1")
        token = ledger.new_token()
        lease.claim(conn, {job.job_id: None}, token=token, lease=ledger.MINUTE, release="1.2.3")
        lease.settle(conn, {job.job_id: DeadLetter("NoSuchOrder", "order 7 is gone")}, token=token)
        (due,) = outbox.take_due(conn, limit=10)
        attributes = _message(due).attributes
        assert len(attributes) <= 10
        assert attributes == {
            "request_id": "request-1",
            "order_number": "SKN-00000-00001",
            "error_class": "NoSuchOrder",
            "error_message": "order 7 is gone",
            "attempts": "1",
            "crashes": "0",
            "first_failed_at": attributes["first_failed_at"],
            "last_failed_at": attributes["last_failed_at"],
            "release": "1.2.3",
        }


class Context:
    aws_request_id = "invocation-7"


class TestTheEntryPoint:
    def test_answers_with_the_invocation_that_cloudtrail_knows(
        self, database_url: str, conn: Connection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job = dead_job(conn)
        app = make_app(database_url)
        monkeypatch.setattr("oncall.lambda_function.get_app", lambda _: app)
        event = redrive(ref(job)).model_dump(mode="json")
        assert lambda_handler(event, Context())["ok"] is True  # type: ignore[arg-type]
        app.database.close()
        assert conn.execute("SELECT invocation_id FROM operations_audit").fetchone() == ("invocation-7",)


def test_a_redrive_waits_for_no_network_inside_its_transaction(database_url: str, conn: Connection) -> None:
    """When the publisher is asked, another session already sees the job come back."""
    job = dead_job(conn)
    seen = []

    class Watcher:
        def publish_now(self, jobs: Any, *, taken: bool) -> None:
            assert taken, "the relay would send them again"
            seen.append(state(conn, job))

    from skincare.operations.changes import Changes
    from skincare.operations.models import Caller

    database = Database(StaticCredentials(database_url))
    changes = Changes(database, Watcher(), FakeObjectStore(), caller=Caller(ME, "i"), reason=None)  # type: ignore[arg-type]
    changes.redrive({job.job_id: 1}, force=False, even_crashed=False)
    database.close()
    assert seen == ["pending"]
