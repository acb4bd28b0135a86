"""The commands of the on-call engineer: what they print, what they tell programs, and how they end."""

import json
import re
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from psycopg import Connection
from typer.testing import CliRunner, Result

from cli.main import app as cli
from cli.oncall import OnCall
from cli.pace import Pace
from cli.tables import duration
from skincare.adapters.functions import FunctionUnreachable
from skincare.app import App
from skincare.deployment.queues import QueueName
from skincare.jobs.catalog import ProcessPayment
from skincare.jobs.repository import lease, operations, quarantine
from skincare.jobs.retry import Completed
from skincare.moments import iso, read_moment, shown
from tests.support import ledger
from tests.support.factories import make_order, make_product
from tests.support.http import NOWHERE, make_app
from tests.support.oncall import ME, InProcess, audit, dead_job
from tests.support.payments import new_order, take_in, tell

ORDER = "SKN-00000-00001"

Run = Callable[..., Result]


@pytest.fixture
def stage(app: App, monkeypatch: pytest.MonkeyPatch) -> InProcess:
    """A stage whose function is this process."""
    functions = InProcess(app)
    monkeypatch.setattr(OnCall, "_functions", functions)
    return functions


@pytest.fixture
def run(stage: InProcess) -> Run:
    def run(*arguments: object) -> Result:
        return CliRunner().invoke(cli, [*map(str, arguments), "--stage", "tests"], catch_exceptions=False)

    return run


def as_json(result: Result) -> Any:
    return json.loads(result.stdout)


class TestDlqList:
    def test_shows_groups_with_the_next_command(self, run: Run, conn: Connection, stage: InProcess) -> None:
        for _ in range(2):
            dead_job(conn, order_number=ORDER)
        dead_job(conn, ledger.Sample())
        result = run("dlq", "list")
        assert result.exit_code == 0
        head, first, second, *rest = [line.rstrip() for line in result.stdout.splitlines()]
        assert head.split()[:4] == ["job", "type", "error", "jobs"]
        assert first.split()[:3] == ["send_confirmation_email", "NoSuchOrder", "2"]
        assert "yes" in first.split()
        assert second.split()[:3] == ["sample", "NoSuchOrder", "1"]
        assert "no" in second.split()
        assert [line.strip() for line in rest if "skincare dlq" in line] == [
            "skincare dlq redrive --type send_confirmation_email --error NoSuchOrder --stage tests",
            "skincare dlq redrive --type sample --error NoSuchOrder --dry-run --stage tests",
        ]
        assert head.index("error") == first.index("NoSuchOrder") == second.index("NoSuchOrder")
        assert stage.asked == ["skincare-tests-oncall"]

    def test_of_nothing_says_so_and_ends_with_1(self, run: Run) -> None:
        result = run("dlq", "list")
        assert (result.exit_code, result.stdout) == (1, "Nothing is dead.\n")

    def test_shows_what_belongs_to_no_job(self, run: Run, conn: Connection) -> None:
        number = quarantine.keep(conn, QueueName.PAYMENTS, "{\x1b[31m", {"origin": "s3"}, reason="the body is not JSON")
        result = run("dlq", "list")
        assert "the body is not JSON" in result.stdout
        assert f"skincare dlq quarantined {number} --stage tests" in result.stdout
        shown = run("dlq", "quarantined", number)
        assert r"{\u001b[31m" in shown.stdout, "what a stranger sent must not reach the terminal as it is"
        assert run("dlq", "close", number, "--reason", "a test event of S3").exit_code == 0
        assert run("dlq", "close", number, "--reason", "a test event of S3").exit_code == 1
        assert run("dlq", "list").exit_code == 1

    def test_for_programs_keeps_its_shape(self, run: Run, conn: Connection) -> None:
        dead_job(conn, order_number=ORDER)
        quarantine.keep(conn, QueueName.PAYMENTS, "x", {}, reason="no")
        found = as_json(run("dlq", "list", "--json"))
        assert list(found) == ["groups", "quarantined", "acknowledged"]
        assert list(found["groups"][0]) == [
            "job_type",
            "error_class",
            "count",
            "oldest_failed_at",
            "newest_failed_at",
            "orders",
            "order_numbers",
            "safe",
            "why",
            "acknowledged",
        ]
        assert list(found["quarantined"][0]) == ["id", "queue", "reason", "size_bytes", "found_at", "last_found_at"]


class TestDlqShow:
    def test_tells_payload_attempts_and_order(self, run: Run, conn: Connection) -> None:
        placement = make_order(conn)
        job = dead_job(conn, order_number=placement.order.order_number)
        for command in ("dlq", "jobs"):
            result = run(command, "show", job.job_id)
            assert result.exit_code == 0
            for part in ("NoSuchOrder: order 7 is gone", "1.2.3", '"order_number"', "order placed", "Rp150.000"):
                assert part in result.stdout
        assert set(as_json(run("dlq", "show", job.job_id, "--json"))) == {
            "job",
            "payload",
            "release",
            "safe",
            "why",
            "past_use",
            "attempts",
            "order",
            "acknowledgement",
            "pauses",
        }

    def test_of_a_job_that_is_not_there_ends_with_1(self, run: Run) -> None:
        assert run("dlq", "show", UUID(int=0)).exit_code == 1


class TestDlqRedrive:
    @pytest.mark.parametrize(
        "which",
        [
            [],
            ["--all", "--type", "x"],
            [UUID(int=0), "--all"],
            [UUID(int=0), "--order", ORDER],
        ],
    )
    def test_needs_to_know_which_and_only_one_way(self, run: Run, which: list[object]) -> None:
        assert run("dlq", "redrive", *which).exit_code == 2

    @pytest.mark.parametrize(
        "which",
        [["--type", "send_confirmation_email"], ["--error", "NoSuchOrder"], ["--order", ORDER], ["--all"]],
    )
    def test_takes_what_matches_and_says_so(self, run: Run, conn: Connection, which: list[object]) -> None:
        job = dead_job(conn, order_number=ORDER)
        result = run("dlq", "redrive", *which, "--reason", "the provider is back")
        assert result.exit_code == 0
        assert "1 of 1 redriven" in result.stdout
        assert "1 of these have nothing left to do" in result.stdout
        assert f"skincare jobs watch {job.job_id} --stage tests" in result.stdout
        assert audit(conn)[0][:2] == ("redrive", "the provider is back")
        assert conn.execute("SELECT claimed_identity FROM operations_audit").fetchone() == (ME,)

    @pytest.mark.parametrize("zone", ["UTC", "Asia/Jakarta", "America/Los_Angeles"])
    def test_before_a_time_leaves_the_newer_ones(
        self, run: Run, conn: Connection, zone: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        try:
            old = dead_job(conn)
            ledger.let_pass(conn, timedelta(minutes=2))
            dead_job(conn)
            died = re.search(r"\S+ \S+ WIB", run("dlq", "show", old.job_id).stdout)
            assert died, "a printed time says its year and its zone"
            printed = read_moment(died[0])
            later, sooner = (shown(printed + timedelta(minutes=minutes)) for minutes in (1, -1))
            for before, found in ((later, [str(old.job_id)]), (sooner, [])):
                for text in (before, before.removesuffix(" WIB"), iso(read_moment(before))):
                    result = run("dlq", "redrive", "--before", text, "--dry-run", "--json")
                    assert [job["id"] for job in as_json(result)["jobs"]] == found, text
        finally:
            monkeypatch.undo()
            time.tzset()

    def test_before_a_text_that_is_no_time_is_typed_wrongly(self, run: Run) -> None:
        result = run("dlq", "redrive", "--before", "30.11. 22:27:52", "--dry-run")
        assert result.exit_code == 2
        assert "must be a time such as 2026-11-30 22:27:52 WIB" in " ".join(result.stderr.replace("│", "").split())

    def test_tells_programs_times_in_utc(self, run: Run, conn: Connection) -> None:
        job = dead_job(conn)
        found = as_json(run("dlq", "show", job.job_id, "--json"))["job"]
        assert all(found[name].endswith("Z") for name in ("created_at", "publish_at") if found[name])
        assert found["job_type"] == found["type"] == "send_confirmation_email"

    def test_dry_changes_nothing_and_lists_the_jobs(self, run: Run, conn: Connection) -> None:
        job = dead_job(conn)
        result = run("dlq", "redrive", "--all", "--dry-run")
        assert result.exit_code == 0
        assert str(job.job_id) in result.stdout
        assert "1 dead jobs match." in result.stdout
        assert ledger.row(conn, job.job_id)["state"] == "dead_letter"
        assert audit(conn) == []

    def test_leaves_what_is_unsafe_without_force_and_ends_with_1(self, run: Run, conn: Connection) -> None:
        dead_job(conn, ledger.Sample())
        dead_job(conn)
        result = run("dlq", "redrive", "--all")
        assert result.exit_code == 1
        assert "1 of 2 redriven" in result.stdout
        assert "1 left alone: not safe to run again" in result.stdout
        assert run("dlq", "redrive", "--all", "--force").exit_code == 0

    def test_of_some_jobs_counts_those_that_are_not_dead(self, run: Run, conn: Connection) -> None:
        dead, alive = dead_job(conn), ledger.enqueue(conn)
        result = run("dlq", "redrive", dead.job_id, dead.job_id, alive.job_id, "--json")
        assert result.exit_code == 1
        assert as_json(result) == {
            "dry_run": False,
            "stopped": False,
            "matched": 1,
            "job_ids": [str(dead.job_id)],
            "counts": {
                "redriven": 1,
                "redriven_past_use": 1,
                "not_dead_any_more": 0,
                "needs_force": 0,
                "unknown": 0,
                "not_dead": 1,
            },
            "jobs": [],
        }

    def test_of_nothing_ends_with_1(self, run: Run) -> None:
        assert run("dlq", "redrive", "--all").exit_code == 1

    def test_of_an_order_number_that_is_none_is_typed_wrongly(self, run: Run) -> None:
        assert run("dlq", "redrive", "--order", "nonsense").exit_code == 2

    def test_pages_through_more_than_one_request_takes(self, run: Run, conn: Connection) -> None:
        for _ in range(103):
            dead_job(conn)
        result = run("dlq", "redrive", "--all", "--json")
        assert result.exit_code == 0
        assert len(set(as_json(result)["job_ids"])) == 103
        assert [counts["redriven"] for _, _, counts in audit(conn)] == [100, 3]

    def test_stopped_by_a_person_tells_how_far_it_came(
        self, run: Run, conn: Connection, stage: InProcess, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for _ in range(103):
            dead_job(conn)
        invoke, redrives = stage.invoke, []

        def interrupted(name: str, request: Any) -> Any:
            if request["operation"] == "redrive":
                redrives.append(request)
                if len(redrives) == 2:
                    raise KeyboardInterrupt
            return invoke(name, request)

        monkeypatch.setattr(stage, "invoke", interrupted)
        result = run("dlq", "redrive", "--all")
        assert result.exit_code == 1
        assert "100 of 103 redriven" in result.stdout
        assert "continues from here" in result.stdout
        assert as_json(run("dlq", "redrive", "--all", "--json"))["matched"] == 3

    def test_that_loses_its_function_tells_how_far_it_came(
        self, run: Run, conn: Connection, stage: InProcess, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for _ in range(103):
            dead_job(conn)
        invoke, redrives = stage.invoke, []

        def lost(name: str, request: Any) -> Any:
            redrives.append(request["operation"])
            if redrives.count("redrive") == 2:
                raise FunctionUnreachable("lambda invoke failed (ReadTimeoutError)")
            return invoke(name, request)

        monkeypatch.setattr(stage, "invoke", lost)
        result = run("dlq", "redrive", "--all")
        assert result.exit_code == 3
        assert "Before that 100 were redriven" in result.stderr


class TestDlqDiscard:
    def test_gives_dead_jobs_up_for_a_reason(self, run: Run, conn: Connection) -> None:
        job = dead_job(conn)
        assert run("dlq", "discard", job.job_id).exit_code == 2
        assert run("dlq", "discard", job.job_id, "--reason", "  ").exit_code == 2
        assert run("dlq", "discard", job.job_id, "--reason", "a test order").exit_code == 0
        assert ledger.row(conn, job.job_id)["state"] == "cancelled"
        again = run("dlq", "discard", job.job_id, "--reason", "a test order")
        assert again.exit_code == 1
        assert "1 are not dead, or unknown." in again.stdout


class TestJobs:
    def test_are_cancelled_and_retried(self, run: Run, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        result = run("jobs", "retry-now", job.job_id)
        assert (result.exit_code, result.stdout) == (0, "1 retried, 0 not waiting for a retry\n")
        result = run("jobs", "cancel", job.job_id, "--reason", "not wanted")
        assert (result.exit_code, result.stdout) == (0, "1 cancelled, 0 finished or unknown\n")
        assert run("jobs", "cancel", job.job_id, "--reason", "not wanted").exit_code == 1

    def test_are_listed_newest_first(self, run: Run, conn: Connection) -> None:
        old, new = ledger.enqueue(conn), ledger.enqueue(conn)
        assert [job["id"] for job in as_json(run("jobs", "list", "--json"))] == [str(new.job_id), str(old.job_id)]
        assert str(old.job_id) in run("jobs", "list").stdout
        assert as_json(run("jobs", "list", "--state", "completed", "--json")) == []

    def test_of_one_queue_leave_the_others_out(self, run: Run, conn: Connection) -> None:
        mail = ledger.enqueue(conn)
        ledger.enqueue(conn, ProcessPayment(event_id=str(UUID(int=7))))
        assert [job["id"] for job in as_json(run("jobs", "list", "--queue", "notifications", "--json"))] == [
            str(mail.job_id)
        ]
        assert as_json(run("jobs", "list", "--queue", "notifications", "--state", "completed", "--json")) == []
        assert run("jobs", "list", "--queue", "mails").exit_code == 2

    def test_of_a_queue_that_another_release_knows_are_listed_and_cancelled_by_its_name(
        self, run: Run, conn: Connection
    ) -> None:
        job = ledger.enqueue(conn)
        conn.execute("UPDATE jobs SET queue = 'stock' WHERE id = %s", [job.job_id])
        other = ledger.enqueue(conn)
        assert [row["id"] for row in as_json(run("jobs", "list", "--queue", "stock", "--json"))] == [str(job.job_id)]
        assert run("jobs", "cancel", "--queue", "stock", "--reason", "given up").stdout.startswith("1 cancelled")
        assert [ledger.row(conn, each.job_id)["state"] for each in (job, other)] == ["cancelled", "pending"]

    @pytest.mark.parametrize("command", ["list", "cancel --reason x", "cancel --reason x --dry-run --json"])
    def test_of_no_queue_at_all_are_a_name_typed_wrongly(self, run: Run, conn: Connection, command: str) -> None:
        ledger.enqueue(conn)
        given = run("jobs", *command.split(), "--queue", "paymnets")
        assert (given.exit_code, given.stdout) == (2, "")
        assert f"must be one of {', '.join(QueueName)}" in " ".join(given.stderr.replace("│", " ").split())

    def test_are_watched_until_they_end(
        self, run: Run, conn: Connection, database_url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job, token = ledger.enqueue(conn), ledger.new_token()
        ledger.claim_one(conn, job.job_id, token=token)
        monkeypatch.setattr(
            "cli.watching.time.sleep", lambda _: lease.settle(conn, {job.job_id: Completed()}, token=token)
        )
        result = run("jobs", "watch", job.job_id)
        assert result.exit_code == 0
        assert result.stderr.splitlines() == ["1 processing", "1 completed"]
        assert run("jobs", "watch", dead_job(conn).job_id).exit_code == 1
        assert run("jobs", "watch", ledger.enqueue(conn).job_id, "--timeout", 0).exit_code == 1
        assert run("jobs", "watch", UUID(int=0)).exit_code == 1


class TestOtherScreens:
    def test_the_outbox(self, run: Run, conn: Connection) -> None:
        ledger.enqueue(conn)
        ledger.let_pass(conn, timedelta(minutes=10))
        result = run("outbox")
        assert result.exit_code == 0
        assert "1 (due for more than two minutes)" in result.stdout
        assert list(as_json(run("outbox", "--json"))) == [
            "due",
            "late",
            "oldest_lateness_s",
            "waiting_for_their_time",
            "live",
            "dead",
            "failing",
            "of_unknown_queues",
            "paused",
        ]

    def test_payments(self, run: Run, app: App, conn: Connection) -> None:
        tell(app, new_order(conn), "paid", amount_rupiah=1)
        result = run("payments", "list")
        assert "1 open anomalies" in result.stdout
        assert "wrong_amount" in result.stdout
        (anomaly,) = as_json(run("payments", "list", "--json"))["anomalies"]
        assert run("payments", "resolve", anomaly["id"]).exit_code == 2
        assert run("payments", "resolve", anomaly["id"], "--reason", "given back").exit_code == 0
        assert run("payments", "resolve", anomaly["id"], "--reason", "given back").exit_code == 1

    def test_a_quarantined_event_waits_until_a_person_has_looked_at_it(
        self, run: Run, app: App, conn: Connection
    ) -> None:
        take_in(app, amount_rupiah="much")
        (event,) = as_json(run("payments", "list", "--json"))["events"]
        assert event["state"] == "quarantined"
        assert run("payments", "review", event["id"], "--reason", "a test of the gateway").exit_code == 0
        assert run("payments", "review", event["id"], "--reason", "a test of the gateway").exit_code == 1
        assert as_json(run("payments", "list", "--json"))["quarantined"] == 0
        assert audit(conn)[0][0] == "review_event"

    def test_an_order(self, run: Run, conn: Connection) -> None:
        placement = make_order(conn)
        number = placement.order.order_number
        job = placement.job
        assert job is not None
        operations.cancel(conn, [job.job_id])
        result = run("order", number)
        assert result.exit_code == 0
        assert result.stdout.startswith(f"Order {number}: pending, Rp150.000\n")
        assert "send_confirmation_email, now cancelled" in result.stdout
        assert as_json(run("order", number, "--json"))["order_number"] == number
        assert run("order", ORDER).exit_code == 1
        assert run("order", "nonsense").exit_code == 2

    @pytest.mark.parametrize("heard", ["skn-ooooo-oooo1", "OOOOO OOOOL", " SKN 00000 0000I", "SKN–00000–00001"])
    def test_is_found_as_its_number_was_heard(self, run: Run, conn: Connection, heard: str) -> None:
        job = dead_job(conn, order_number=ORDER)
        found = as_json(run("dlq", "redrive", "--order", heard, "--dry-run", "--json"))
        assert [each["id"] for each in found["jobs"]] == [str(job.job_id)]
        # Nobody has it, but everybody could read it.
        assert run("order", heard).exit_code == 1
        assert run("payments", "refund", heard, "--reason", "x").exit_code == 1


class TestWhenNobodyAnswers:
    def test_a_database_that_is_gone_ends_with_3(self, run: Run, stage: InProcess) -> None:
        stage.app = make_app(NOWHERE)
        result = run("dlq", "list")
        assert (result.exit_code, result.stdout) == (3, "")
        assert "database unavailable" in result.stderr

    def test_aws_that_refuses_ends_with_3(self, run: Run, stage: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object) -> None:
            raise FunctionUnreachable("lambda invoke failed (AccessDeniedException)")

        monkeypatch.setattr(stage, "invoke", refuse)
        result = run("dlq", "list")
        assert result.exit_code == 3
        assert "AccessDeniedException" in result.stderr

    def test_an_answer_of_another_release_ends_with_3(
        self, run: Run, stage: InProcess, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(stage, "invoke", lambda *_: {"ok": True, "answer": {}})
        assert run("dlq", "list").exit_code == 3

    def test_a_local_system_that_does_not_run_ends_with_3(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PORT", "1")
        result = CliRunner().invoke(cli, ["dlq", "list"])
        assert result.exit_code == 3
        assert "PORT=1 make run" in result.stderr

    def test_a_stage_that_is_no_name_is_typed_wrongly(self) -> None:
        assert CliRunner().invoke(cli, ["dlq", "list", "--stage", "a/b"]).exit_code == 2


class TestThePace:
    def test_never_hands_out_more_a_second_than_asked_for(self) -> None:
        clock = [0.0]

        def wait(seconds: float) -> None:
            clock[0] += seconds

        pace = Pace(10, largest=100, now=lambda: clock[0], wait=wait)
        times = [(clock[0], len(group)) for page in ([0] * 25, [0] * 10) for group in pace.groups(page)]
        assert times == [(0, 10), (1, 10), (2, 5), (2.5, 10)]

    def test_without_a_limit_hands_out_the_largest_groups_at_once(self) -> None:
        pace = Pace(None, largest=100, wait=lambda _: pytest.fail("it waited"))
        assert [len(group) for group in pace.groups([0] * 250)] == [100, 100, 50]

    def test_below_one_a_second_hands_out_one_by_one(self) -> None:
        waits: list[float] = []
        pace = Pace(0.5, largest=100, now=lambda: 0.0, wait=waits.append)
        assert [len(group) for group in pace.groups([0] * 2)] == [1, 1]
        assert waits == [0, 2]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (59.9, "59 s"), (60, "1 min"), (3_725, "1 h 2 min"), (200_000, "2 d 7 h")]
)
def test_a_duration_is_told_in_its_two_largest_units(seconds: float, text: str) -> None:
    assert duration(seconds) == text


class TestStock:
    def test_is_shown_and_corrected_once_for_each_key(self, run: Run, conn: Connection) -> None:
        sku = make_product(conn, stock=10).sku
        make_order(conn, lines={sku: 2})
        assert as_json(run("stock", "show", sku.lower(), "--json")) == {
            "sku": sku,
            "available": 8,
            "on_hand": 10,
            "reserved": 2,
            "version": 2,
        }
        for _ in range(2):
            result = run("stock", "adjust", sku, "--delta", "-3", "--key", "shelf/1", "--reason", "broken", "--json")
            assert as_json(result)["available"] == 5
        assert len(audit(conn)) == 1
        moved = as_json(run("stock", "movements", sku, "--json"))
        assert [(each["reason"], each["on_hand"], each["reserved"]) for each in moved] == [
            ("correction", -3, 0),
            ("sold", 0, 2),
            ("received", 10, 0),
        ]
        assert moved[0]["reference"] == "broken"
        assert len(as_json(run("stock", "movements", sku, "--limit", 2, "--json"))) == 2

    def test_below_what_orders_hold_is_refused_with_the_numbers(self, run: Run, conn: Connection) -> None:
        sku = make_product(conn, stock=3).sku
        make_order(conn, lines={sku: 2})
        result = run("stock", "adjust", sku, "--delta", -2, "--reason", "lost")
        assert result.exit_code == 1
        assert "3 on the shelf, 2 of them reserved and 1 for sale" in " ".join(result.stderr.split())
        assert as_json(run("stock", "show", sku, "--json"))["available"] == 1

    def test_of_an_unknown_product_ends_with_1(self, run: Run) -> None:
        for command in (["show"], ["movements"], ["adjust", "--delta", 1, "--reason", "x"]):
            assert run("stock", *command, "NOBODY").exit_code == 1
