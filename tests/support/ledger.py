"""Jobs for tests: put some into the ledger, look at them, and let time pass."""

from datetime import timedelta
from typing import Any, ClassVar

from psycopg import Connection
from psycopg.rows import dict_row

from skincare.deployment.providers import Provider
from skincare.deployment.queues import QueueName
from skincare.identifiers import JobId, LeaseToken, new_job_id, uuid7
from skincare.jobs.catalog import JobPayload, SendConfirmationEmail
from skincare.jobs.models import Claim, DueJob, PauseTarget
from skincare.jobs.repository import lease, outbox, pauses

MINUTE = timedelta(minutes=1)


class Sample(JobPayload):
    """A job type that only tests know."""

    job_type: ClassVar[str] = "sample"
    queue: ClassVar[QueueName] = QueueName.NOTIFICATIONS
    providers: ClassVar[frozenset[Provider]] = frozenset({Provider.SES})
    name: str = "x"


class Other(JobPayload):
    """Another one, on another queue."""

    job_type: ClassVar[str] = "other"
    queue: ClassVar[QueueName] = QueueName.DOCUMENTS
    providers: ClassVar[frozenset[Provider]] = frozenset({Provider.INVOICE_BUCKET})


PAYLOAD = SendConfirmationEmail(order_number="SKN-00000-00001")


def enqueue(conn: Connection, payload: JobPayload = PAYLOAD, **options: Any) -> DueJob:
    """Put a job into the ledger and return it as it is to be published."""
    return outbox.insert(conn, new_job_id(), payload, **options)


def new_token() -> LeaseToken:
    return LeaseToken(uuid7())


def claim_one(
    conn: Connection,
    job_id: JobId,
    *,
    token: LeaseToken | None = None,
    dead_letter_no: int | None = None,
    held: timedelta = MINUTE,
    alone: bool = False,
) -> Claim:
    """Claim a single job."""
    (claim,) = lease.claim(conn, {job_id: dead_letter_no}, token=token or new_token(), lease=held, alone=alone)
    return claim


def pause(conn: Connection, scope: str, name: str = "", *, lasts: timedelta | None = None) -> str:
    """Pause a queue, a type, a provider (of the types of tests) or all."""
    types = {
        "type": [name],
        "provider": [each.job_type for each in (Sample, Other) if name in each.providers],
    }.get(scope)
    return pauses.pause(
        conn, PauseTarget(scope, name), job_types=types, reason="a test", paused_by="tests", lasts=lasts
    )


def resume(conn: Connection, scope: str, name: str = "") -> bool:
    return pauses.resume(conn, PauseTarget(scope, name))


def row(conn: Connection, job_id: JobId) -> dict[str, Any]:
    """Return the ledger's row; times as they are."""
    found = conn.cursor(row_factory=dict_row).execute("SELECT *, now() FROM jobs WHERE id = %s", [job_id]).fetchone()
    assert found is not None
    return found


def attempts(conn: Connection, job_id: JobId) -> list[str]:
    """Return the outcomes of a job's attempts, oldest first."""
    cur = conn.execute("SELECT outcome FROM job_attempts WHERE job_id = %s ORDER BY id", [job_id])
    return [outcome for (outcome,) in cur]


def let_pass(conn: Connection, time: timedelta) -> None:
    """Make all jobs as much older: to the ledger it is as if the time had passed."""
    with conn.transaction():
        # As text, for there are moments that Python does not know; and two rows of a job may become one.
        moved = conn.execute("DELETE FROM job_schedule RETURNING (look_at - %s)::text, job_id", [time]).fetchall()
        conn.execute(
            "INSERT INTO job_schedule (look_at, job_id)"
            " SELECT * FROM unnest(%s::timestamptz[], %s::uuid[]) ON CONFLICT DO NOTHING",
            [[moment for moment, _ in moved], [job_id for _, job_id in moved]],
        )
    conn.execute(
        """
        UPDATE job_pauses SET paused_at = paused_at - %(t)s, ends_at = ends_at - %(t)s,
            resumed_at = resumed_at - %(t)s""",
        {"t": time},
    )
    conn.execute(
        """
        UPDATE jobs SET created_at = created_at - %(t)s, run_at = run_at - %(t)s, publish_at = publish_at - %(t)s,
            taken_at = taken_at - %(t)s,
            budget_from = budget_from - %(t)s, retry_at = retry_at - %(t)s, leased_at = leased_at - %(t)s,
            lease_until = lease_until - %(t)s, first_failed_at = first_failed_at - %(t)s,
            last_failed_at = last_failed_at - %(t)s""",
        {"t": time},
    )
