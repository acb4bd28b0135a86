"""Which jobs a command means: conditions for every command that changes jobs, any number, and beginnings of ids."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from psycopg import Connection
from typer.testing import CliRunner, Result

from cli import ids as cli_ids
from cli.main import app as cli
from cli.oncall import OnCall
from oncall.job_requests import FindIds, Kind
from skincare.app import App
from skincare.jobs.repository import lease, operations
from skincare.jobs.retry import Retry
from tests.support import ledger
from tests.support.oncall import InProcess, ask, audit, dead_job, die

Run = Callable[..., Result]
ORDER = "SKN-00000-00001"


@pytest.fixture
def stage(app: App, monkeypatch: pytest.MonkeyPatch) -> InProcess:
    functions = InProcess(app)
    monkeypatch.setattr(OnCall, "_functions", functions)
    return functions


@pytest.fixture
def run(stage: InProcess) -> Run:
    def run(*arguments: object) -> Result:
        return CliRunner().invoke(cli, [*map(str, arguments), "--stage", "tests"], catch_exceptions=False)

    return run


def states(conn: Connection) -> dict[str, int]:
    return dict(conn.execute("SELECT state, count(*) FROM jobs GROUP BY state").fetchall())


def waiting_jobs(conn: Connection, count: int, queue: str = "notifications", error: str = "Down") -> None:
    """Put jobs into the ledger that wait for their next attempt."""
    conn.execute(
        "INSERT INTO jobs (id, job_type, queue, payload, state, publish_at, retry_at, error_class, order_number)"
        " SELECT gen_random_uuid(), 'sample', %s, '{}', 'retry_waiting', now() + interval '1 hour',"
        " now() + interval '1 hour', %s, %s FROM generate_series(1, %s)",
        [queue, error, ORDER, count],
    )


def waits(conn: Connection) -> int:
    row = conn.execute("SELECT count(*) FROM jobs WHERE retry_at > now()").fetchone()
    assert row is not None
    return int(row[0])


class TestConditions:
    def test_reach_any_number_of_jobs_in_pieces(self, run: Run, conn: Connection, stage: InProcess) -> None:
        waiting_jobs(conn, 250)
        result = run("jobs", "retry-now", "--type", "sample", "--error", "Down")
        assert result.exit_code == 0
        assert waits(conn) == 0
        assert "250 retried" in result.stdout
        assert len(audit(conn)) == 3

    @pytest.mark.parametrize(
        ("conditions", "left"),
        [
            (["--queue", "payments"], 5),
            (["--error", "Down"], 3),
            (["--order", "SKN-00000-00009"], 8),
            (["--order", ORDER], 0),
            (["--type", "other"], 8),
            (["--before", "2020-01-01"], 8),
            (["--all"], 0),
            (["--queue", "payments", "--error", "Down"], 8),
        ],
    )
    @pytest.mark.parametrize("command", [["jobs", "retry-now"], ["jobs", "cancel", "--reason", "x"]])
    def test_hold_all_at_once(
        self, run: Run, conn: Connection, command: list[str], conditions: list[str], left: int
    ) -> None:
        waiting_jobs(conn, 5)
        waiting_jobs(conn, 3, queue="payments", error="Refused")
        result = run(*command, *conditions)
        assert waits(conn) == left
        assert result.exit_code == (0 if left < 8 else 1)

    @pytest.mark.parametrize("command", [["jobs", "retry-now"], ["jobs", "cancel", "--reason", "x"]])
    def test_of_a_dry_run_change_nothing(self, run: Run, conn: Connection, command: list[str]) -> None:
        waiting_jobs(conn, 120)
        result = run(*command, "--all", "--dry-run", "--json")
        assert (result.exit_code, len(json.loads(result.stdout)), waits(conn)) == (0, 120, 120)
        assert audit(conn) == []

    @pytest.mark.parametrize("wrong", [[], ["--all", "--type", "x"], ["01890000", "--all"]])
    @pytest.mark.parametrize(
        "command", [["jobs", "retry-now"], ["jobs", "cancel", "--reason", "x"], ["dlq", "discard", "--reason", "x"]]
    )
    def test_that_do_not_say_which_are_refused(self, run: Run, command: list[str], wrong: list[str]) -> None:
        assert run(*command, *wrong).exit_code == 2

    def test_of_a_discard_reach_more_than_a_hundred(self, run: Run, conn: Connection) -> None:
        for _ in range(103):
            dead_job(conn, ledger.Sample())
        dead_job(conn)
        result = run("dlq", "discard", "--type", "sample", "--reason", "x", "--dry-run")
        assert "103 dead jobs match." in result.stdout
        assert states(conn) == {"dead_letter": 104}
        assert run("dlq", "discard", "--type", "sample", "--reason", "x").stdout.startswith("103 of 103 discarded.")
        assert states(conn) == {"dead_letter": 1, "cancelled": 103}

    def test_of_a_queue_choose_dead_jobs(self, run: Run, conn: Connection) -> None:
        dead_job(conn)
        assert run("dlq", "redrive", "--queue", "payments").exit_code == 1
        assert run("dlq", "redrive", "--queue", "notifications").exit_code == 0

    def test_of_retry_now_leave_jobs_for_later_alone(self, run: Run, conn: Connection) -> None:
        later = datetime.now(UTC) + timedelta(days=1)
        ledger.enqueue(conn, ledger.Sample(), run_at=later)
        waiting_jobs(conn, 2)
        result = run("jobs", "retry-now", "--queue", "notifications")
        assert (result.exit_code, result.stdout) == (0, "2 retried, 0 not waiting for a retry\n")

    @pytest.mark.parametrize(
        ("command", "done"),
        [
            (["jobs", "retry-now"], "retried"),
            (["jobs", "cancel", "--reason", "x"], "cancelled"),
            (["jobs", "revive", "--reason", "x"], "revived"),
            (["dlq", "discard", "--reason", "x"], "discarded"),
            (["dlq", "acknowledge", "--reason", "x"], "acknowledged"),
            (["dlq", "unacknowledge"], "unacknowledged"),
        ],
    )
    def test_that_nothing_fits_tell_programs_so(self, run: Run, command: list[str], done: str) -> None:
        result = run(*command, "--order", ORDER, "--json")
        assert (result.exit_code, json.loads(result.stdout)[done]) == (1, 0)

    def test_do_not_touch_what_runs_or_is_over(self, run: Run, conn: Connection) -> None:
        job = ledger.enqueue(conn, ledger.Sample())
        lease.claim(conn, {job.job_id: None}, token=ledger.new_token(), lease=ledger.MINUTE)
        assert run("jobs", "retry-now", "--all").exit_code == 1
        assert run("jobs", "cancel", "--all", "--reason", "x").exit_code == 0


class TestBeginningsOfIds:
    def test_mean_the_only_job_that_has_them(self, run: Run, conn: Connection) -> None:
        job = dead_job(conn)
        assert json.loads(run("jobs", "show", str(job.job_id)[:18], "--json").stdout)["job"]["id"] == str(job.job_id)
        assert run("dlq", "redrive", str(job.job_id)[:20].upper()).exit_code == 0

    def test_of_several_list_them_and_change_nothing(self, run: Run, conn: Connection) -> None:
        ids = [UUID(f"01a22a41-6b21-7cce-a40e-{number:012x}") for number in range(12)]
        for job_id in ids:
            conn.execute(
                "INSERT INTO jobs (id, job_type, queue, payload, publish_at)"
                " VALUES (%s, 'sample', 'notifications', '{}', now())",
                [job_id],
            )
        result = run("jobs", "cancel", "01a22a41-6b21", "--reason", "x")
        assert result.exit_code == 2
        assert str(ids[0]) in result.stderr
        assert "…" in result.stderr
        assert states(conn) == {"pending": 12}

    def test_of_none_say_so(self, run: Run) -> None:
        result = run("jobs", "show", "deadbeef")
        assert (result.exit_code, result.stderr) == (1, "No job begins with deadbeef.\n")

    @pytest.mark.parametrize("word", ["xyz", "abc", "", "%", "01a22a41-6b21-7cce-a40e-17fc7222206d0", "0189'--"])
    def test_that_are_none_are_refused(self, run: Run, word: str) -> None:
        assert run("jobs", "show", "--", word).exit_code == 2

    def test_are_looked_up_for_any_length(self, app: App, conn: Connection) -> None:
        job = dead_job(conn)
        digits = job.job_id.hex
        beginnings = [digits[:length] for length in range(4, 33)]
        found = ask(app, FindIds(kind=Kind.JOB, beginnings=beginnings))
        assert [match.ids for match in found.matches] == [(str(job.job_id),)] * len(beginnings)
        none = ask(app, FindIds(kind=Kind.PAYMENT_EVENT, beginnings=beginnings))
        assert {match.ids for match in none.matches} == {()}

    def test_are_printed_where_the_screen_is_narrow(self, run: Run, conn: Connection, monkeypatch: Any) -> None:
        job = dead_job(conn, order_number=ORDER)

        class Narrow:
            is_terminal = True
            width = 80

        monkeypatch.setattr(cli_ids, "console", Narrow)
        assert cli_ids.shown(str(job.job_id)) == str(job.job_id)[:18]


class TestAJobThatTookItsWorkerDown:
    @pytest.fixture
    def job(self, conn: Connection) -> str:
        job = ledger.enqueue(conn)
        die(conn, job, "WorkerCrashed", "the job took its process down time after time")
        return str(job.job_id)

    def test_is_not_called_safe(self, run: Run, job: str) -> None:
        listed = run("dlq", "list").stdout
        assert "took its worker down 5 times" in listed
        assert "--error WorkerCrashed --dry-run" in listed
        assert json.loads(run("dlq", "show", job, "--json").stdout)["safe"] is False

    @pytest.mark.parametrize("options", [[], ["--force"]])
    def test_is_left_alone_unless_that_is_said(self, run: Run, conn: Connection, job: str, options: list[str]) -> None:
        result = run("dlq", "redrive", job, *options)
        assert result.exit_code == 1
        assert "--even-crashed" in result.stdout
        assert states(conn) == {"dead_letter": 1}

    def test_comes_back_when_it_is_said(self, run: Run, conn: Connection, job: str) -> None:
        assert run("dlq", "redrive", job, "--even-crashed").exit_code == 0
        assert states(conn) == {"pending": 1}


class TestACancelledJob:
    def test_comes_back_as_if_it_were_new(self, run: Run, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        token = ledger.new_token()
        ledger.claim_one(conn, job.job_id, token=token)
        lease.settle(conn, {job.job_id: Retry(ledger.MINUTE, "Down", "x")}, token=token)
        operations.cancel(conn, [job.job_id])
        assert run("jobs", "revive", job.job_id, "--reason", "needed after all").exit_code == 0
        row = ledger.row(conn, job.job_id)
        assert (row["state"], row["attempts"], row["finished_at"], row["retry_at"]) == ("pending", 0, None, None)
        assert ledger.claim_one(conn, job.job_id).verdict == "run"
        assert [operation for operation, _, _ in audit(conn)] == ["revive"]

    def test_is_not_doubled_where_another_has_its_key(self, run: Run, conn: Connection) -> None:
        for _ in range(3):
            conn.execute(
                "INSERT INTO jobs (id, job_type, queue, payload, state, unique_key, order_number)"
                " VALUES (gen_random_uuid(), 'sample', 'notifications', '{}', 'cancelled', 'k', %s)",
                [ORDER],
            )
        assert run("jobs", "revive", "--order", ORDER, "--reason", "x").exit_code == 1
        assert states(conn) == {"cancelled": 2, "pending": 1}
        assert run("jobs", "revive", "--order", ORDER, "--reason", "x").exit_code == 1
        assert states(conn) == {"cancelled": 2, "pending": 1}

    def test_that_is_done_stays_done(self, run: Run, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        assert run("jobs", "revive", job.job_id, "--reason", "x").exit_code == 1
