"""The on-call function as tests use it: a request in, a checked answer out; and jobs that died."""

import json
from typing import Any

from psycopg import Connection

from cli.oncall import OnCall
from oncall.answers import Refusal, read_answer
from oncall.operations import answer
from oncall.request import Request
from skincare.app import App
from skincare.jobs.catalog import JobPayload
from skincare.jobs.models import DueJob
from skincare.jobs.repository import lease
from skincare.jobs.retry import DeadLetter
from tests.support import ledger

ME = "arn:aws:sts::123456789012:assumed-role/oncall/ani"


def invoke(app: App, event: object) -> Any:
    """Return the function's answer to an event, as JSON makes it."""
    return json.loads(json.dumps(answer(json.loads(json.dumps(event)), lambda: app, invocation_id="invocation-1")))


def ask(app: App, request: Request) -> Any:
    """Return what a request is answered with, or fail."""
    found = read_answer(request, invoke(app, request.model_dump(mode="json")))
    assert not isinstance(found, Refusal), found
    return found


def refused(app: App, event: object) -> Refusal:
    """Return the error that an event is answered with."""
    return Refusal.model_validate(invoke(app, event))


def die(conn: Connection, job: DueJob, error: str = "NoSuchOrder", message: str = "order 7 is gone") -> None:
    """Let a job's only attempt end it."""
    token = ledger.new_token()
    lease.claim(conn, {job.job_id: None}, token=token, lease=ledger.MINUTE, release="1.2.3")
    assert lease.settle(conn, {job.job_id: DeadLetter(error, message)}, token=token)


def dead_job(conn: Connection, payload: JobPayload = ledger.PAYLOAD, **options: Any) -> DueJob:
    """A job that died once of `NoSuchOrder`."""
    job = ledger.enqueue(conn, payload, **options)
    die(conn, job)
    return job


def audit(conn: Connection) -> list[tuple[str, str | None, dict[str, int]]]:
    """Return operation, reason and counts of every change, oldest first."""
    return conn.execute("SELECT operation, reason, counts FROM operations_audit ORDER BY id").fetchall()


class InProcess:
    """The functions of a stage that consists of this process."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.asked: list[str] = []

    def invoke(self, name: str, request: Any) -> Any:
        """Do what AWS does with an invocation of the on-call function."""
        self.asked.append(name)
        return invoke(self.app, request)

    def caller_identity(self) -> str:
        return ME


def oncall_of(app: App, stage: str = "tests") -> OnCall:
    """The on-call function of a stage that consists of this process."""
    oncall = OnCall(stage)
    vars(oncall)["_functions"] = InProcess(app)
    return oncall
