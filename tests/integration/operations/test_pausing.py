"""People pause and resume jobs: what they type, what they are told, and what is written down."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from psycopg import Connection
from typer.testing import CliRunner, Result

from cli.main import app as cli
from cli.oncall import OnCall
from oncall.pause_requests import ListPauses, PauseJobs, ResumeJobs
from skincare.app import App
from skincare.deployment.providers import Provider
from skincare.jobs.catalog import TYPES_OF
from skincare.jobs.models import Verdict
from skincare.operations.queries import Queries
from tests.support import ledger
from tests.support.factories import make_order
from tests.support.oncall import ME, InProcess, ask, audit, refused

Run = Callable[..., Result]
WHY = "SES is down"


@pytest.fixture
def run(app: App, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(OnCall, "_functions", InProcess(app))

    def run(*arguments: object) -> Result:
        return CliRunner().invoke(cli, [*map(str, arguments), "--stage", "tests"], catch_exceptions=False)

    return run


def pausing(**fields: Any) -> PauseJobs:
    return PauseJobs(claimed_identity=ME, reason=WHY, **fields)


def resuming(**fields: Any) -> ResumeJobs:
    return ResumeJobs(claimed_identity=ME, reason="it is back", **fields)


class TestPause:
    @pytest.mark.parametrize(
        ("options", "scope", "name"),
        [
            (("--queue", "notifications"), "queue", "notifications"),
            (("--type", "send_confirmation_email"), "type", "send_confirmation_email"),
            (("--provider", "ses"), "provider", "ses"),
            (("--all",), "all", ""),
        ],
    )
    def test_holds_jobs_until_it_is_resumed_by_the_same_name(
        self, run: Run, conn: Connection, options: tuple[str, ...], scope: str, name: str
    ) -> None:
        job = ledger.enqueue(conn)
        result = run("jobs", "pause", *options, "--reason", WHY, "--json")
        assert result.exit_code == 0
        answer = json.loads(result.stdout)
        assert answer["counts"] == {"paused": 1}
        (listed,) = json.loads(run("jobs", "paused", "--json").stdout)["pauses"]
        assert (listed["scope"], listed["name"], listed["reason"], listed["paused_by"]) == (scope, name, WHY, ME)
        assert listed["ends_at"] is None
        assert ledger.claim_one(conn, job.job_id).verdict is Verdict.PAUSED
        assert run("jobs", "resume", *options, "--reason", "it is back").exit_code == 0
        assert json.loads(run("jobs", "paused", "--json").stdout) == {"pauses": []}
        assert ledger.claim_one(conn, job.job_id).verdict is Verdict.RUN

    def test_ends_by_itself_after_the_span_that_was_typed(self, run: Run, conn: Connection) -> None:
        job = ledger.enqueue(conn)
        result = run("jobs", "pause", "--all", "--for", "2h", "--reason", WHY, "--json")
        (pause,) = json.loads(result.stdout)["pauses"]
        assert pause["ends_at"] > pause["paused_at"]
        ledger.let_pass(conn, timedelta(minutes=119))
        assert ledger.claim_one(conn, job.job_id).verdict is Verdict.PAUSED
        ledger.let_pass(conn, timedelta(minutes=1))
        assert ledger.claim_one(conn, job.job_id).verdict is Verdict.RUN

    def test_of_a_provider_holds_each_type_that_calls_it_and_no_other(self, app: App, conn: Connection) -> None:
        ask(app, pausing(provider=Provider.SES))
        held = {
            job_type
            for types in TYPES_OF.values()
            for job_type in types
            if conn.execute("SELECT job_is_paused(%s, 'any')", [job_type]).fetchone() == (True,)
        }
        assert held == TYPES_OF[Provider.SES]

    @pytest.mark.parametrize("field", ["queue", "job_type"])
    def test_of_what_nobody_has_heard_of_names_the_field(self, app: App, conn: Connection, field: str) -> None:
        refusal = refused(app, pausing(**{field: "nonsense"}).model_dump(mode="json"))
        assert refusal.error.code == "request_malformed"
        assert refusal.error.fields.keys() == {field}
        assert audit(conn) == []
        ledger.enqueue(conn, ledger.Sample())
        conn.execute("UPDATE jobs SET queue = 'nonsense', job_type = 'nonsense'")
        assert ask(app, pausing(**{field: "nonsense"})).changed == 1

    @pytest.mark.parametrize("options", [(), ("--all", "--queue", "payments"), ("--type", "x", "--provider", "ses")])
    @pytest.mark.parametrize("command", ["pause", "resume"])
    def test_names_exactly_one_thing(self, run: Run, command: str, options: tuple[str, ...]) -> None:
        assert run("jobs", command, *options, "--reason", WHY).exit_code == 2

    @pytest.mark.parametrize("span", ["0min", "31d", "soon", "2", "-2h", ""])
    def test_takes_a_span_between_a_minute_and_thirty_days(self, run: Run, span: str) -> None:
        assert run("jobs", "pause", "--all", "--for", span, "--reason", WHY).exit_code == 2

    @pytest.mark.parametrize("reason", ["", " ", "two\nlines", "x" * 501])
    @pytest.mark.parametrize("command", ["pause", "resume"])
    def test_needs_a_reason(self, run: Run, command: str, reason: str) -> None:
        assert run("jobs", command, "--all", "--reason", reason).exit_code == 2

    def test_again_says_so(self, run: Run) -> None:
        run("jobs", "pause", "--all", "--for", "2h", "--reason", WHY)
        assert "already" in run("jobs", "pause", "--all", "--for", "1h", "--reason", WHY).stdout
        assert "longer" in run("jobs", "pause", "--all", "--reason", WHY).stdout


class TestResume:
    def test_tells_what_still_is_paused(self, run: Run) -> None:
        run("jobs", "pause", "--all", "--reason", WHY)
        run("jobs", "pause", "--queue", "payments", "--reason", WHY)
        result = run("jobs", "resume", "--all", "--reason", "it is back")
        assert result.exit_code == 0
        assert "queue payments" in result.stdout

    def test_of_what_is_not_paused_ends_with_1(self, run: Run, conn: Connection) -> None:
        assert run("jobs", "resume", "--all", "--reason", "it is back").exit_code == 1
        assert audit(conn) == []


class TestAudit:
    def test_has_each_change_with_its_reason(self, app: App, conn: Connection) -> None:
        ask(app, pausing(everything=True, lasts_s=3600))
        ask(app, pausing(everything=True, lasts_s=60))
        ask(app, pausing(everything=True))
        ask(app, resuming(everything=True))
        ask(app, resuming(everything=True))
        assert audit(conn) == [
            ("pause_jobs", WHY, {"paused": 1}),
            ("pause_jobs", WHY, {"extended": 1}),
            ("resume_jobs", "it is back", {"resumed": 1}),
        ]
        row = conn.execute("SELECT request FROM operations_audit ORDER BY id LIMIT 1").fetchone()
        assert row == ({"scope": "all", "name": "", "lasts_s": 3600},)


class TestShown:
    def test_lists_and_timelines_say_that_a_job_waits_and_why(self, run: Run, app: App, conn: Connection) -> None:
        order = make_order(conn).order.order_number
        job = ledger.enqueue(conn, order_number=order)
        running = ledger.enqueue(conn)
        ledger.claim_one(conn, running.job_id)
        assert not any(row["paused"] for row in json.loads(run("jobs", "list", "--json").stdout))
        ask(app, pausing(queue="notifications"))
        listed = {row["id"]: row["paused"] for row in json.loads(run("jobs", "list", "--json").stdout)}
        assert listed[str(job.job_id)] is True
        assert listed[str(running.job_id)] is False
        assert f"queue notifications: {WHY}" in run("jobs", "show", job.job_id).stdout
        assert "pending, paused" in " ".join(run("order", order).stdout.split())

    def test_counts_the_jobs_that_a_pause_holds_apart_from_those_that_are_due(self, app: App, conn: Connection) -> None:
        ledger.enqueue(conn)
        ledger.let_pass(conn, timedelta(hours=3))
        assert (Queries(app.database).outbox_state().due, Queries(app.database).outbox_state().late) == (1, 1)
        ask(app, pausing(queue="notifications"))
        state = Queries(app.database).outbox_state()
        assert (state.due, state.late, state.oldest_lateness_s, state.paused) == (0, 0, 0, 1)
        assert [pause.held for pause in ask(app, ListPauses()).pauses] == [1]
