"""`skincare retention`: what it prints, and what it tells programs."""

import json
import re
from datetime import timedelta

import pytest
from psycopg import Connection
from typer.testing import CliRunner

from cli.main import app as cli
from cli.oncall import OnCall
from skincare.app import App
from skincare.jobs.retry import Completed
from skincare.retention.policy import RULES
from tests.support import ledger
from tests.support.ended import run_job
from tests.support.oncall import InProcess
from tests.support.retention import let_years_pass


def typed(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["retention", *arguments, "--stage", "tests"], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


@pytest.fixture(autouse=True)
def stage(app: App, conn: Connection, owner: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stage whose function is this process, with two jobs that have had their time."""
    monkeypatch.setattr(OnCall, "_functions", InProcess(app))
    for _ in range(2):
        run_job(conn, ledger.enqueue(conn).job_id, Completed())
    let_years_pass(owner, timedelta(days=100))
    owner.execute("ANALYZE jobs")


def test_prints_a_line_for_every_rule() -> None:
    head, *lines = typed().splitlines()
    assert head.split() == ["what", "kept", "rows", "oldest", "to", "go", "the", "oldest", "ended"]
    assert [line.split()[0] for line in lines] == [rule.what for rule in RULES]
    days = r"100 d( \d+ (min|s))? ago"
    assert re.fullmatch(rf"jobs +90 d +about 2 +{days} +2 +{days}", lines[0].rstrip())


def test_tells_programs_the_same() -> None:
    rules = json.loads(typed("--json"))["rules"]
    assert [rule["what"] for rule in rules] == [rule.what for rule in RULES]
    assert set(rules[0]) == {"what", "kept_days", "since", "why", "rows", "oldest", "due", "oldest_due"}
    assert (rules[0]["kept_days"], rules[0]["rows"], rules[0]["due"]) == (90, 2, 2)
