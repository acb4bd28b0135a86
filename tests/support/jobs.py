"""An App's jobs, run by its own handlers and settled in the ledger, one at a time and without a queue."""

from psycopg import Connection

from skincare.app import App
from skincare.jobs.catalog import BUDGETS
from skincare.jobs.models import Claim, Verdict
from skincare.jobs.repository import lease
from skincare.jobs.retry import Completed, Outcome, decide
from tests.support import ledger
from worker.registry import REGISTRY


def run_due(app: App, conn: Connection, *, of_type: str) -> int:
    """Run each job of a type that a worker would run now, once; return how many ran."""
    rows = conn.execute(
        "SELECT id FROM jobs WHERE job_type = %s AND state IN ('pending', 'queued', 'retry_waiting') ORDER BY id",
        [of_type],
    ).fetchall()
    ran = 0
    for (job_id,) in rows:
        token = ledger.new_token()
        claim = ledger.claim_one(conn, job_id, token=token)
        if claim.verdict is Verdict.RUN:
            lease.settle(conn, {job_id: _outcome(app, claim)}, token=token)
            ran += 1
    return ran


def states_of(conn: Connection, of_type: str) -> list[str]:
    """Return the states of the jobs of a type, oldest first."""
    return [state for (state,) in conn.execute("SELECT state FROM jobs WHERE job_type = %s ORDER BY id", [of_type])]


def _outcome(app: App, claim: Claim) -> Outcome:
    registration = REGISTRY.find(claim.job_type)
    assert registration is not None
    try:
        registration.run(claim.payload, app)
    except Exception as error:  # noqa: BLE001  as a worker does
        return decide(error, attempts=claim.attempts, age=claim.age, budget=BUDGETS[claim.job_type])
    return Completed()
