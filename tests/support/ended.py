"""One row of each kind that retention removes, as it stands while somebody still needs it and once nobody does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from psycopg import Connection
from psycopg.types.json import Jsonb

from skincare.deployment.queues import QueueName
from skincare.identifiers import JobId, uuid7
from skincare.jobs.repository import dead_letter, lease, operations, quarantine
from skincare.jobs.retry import Completed, DeadLetter, Outcome
from skincare.payments.findings.models import Finding
from skincare.payments.findings.repository import findings, runs
from tests.support import ledger
from tests.support.factories import fill_cart, make_order, make_product, make_user_id

BODY = b'{"payer": "ani@example.com"}'


@dataclass(frozen=True)
class Kind:
    """How a row of this kind comes to be, ends, and comes back; all as the functions do it."""

    what: str
    make: Callable[[Connection], Any]
    """Returns what names the row."""
    end: Callable[[Connection, Any], None] | None
    """None: it has ended from the first."""
    back: Callable[[Connection, Any], None] | None
    """Somebody needs an ended row again; None: nobody can."""
    there: str
    """A query that answers whether it is there, by its name."""
    since_beginning: bool = False
    """Its time counts from when it came to be, however late it ends."""

    def is_there(self, conn: Connection, name: Any) -> bool:
        return conn.execute(self.there.encode(), [name]).fetchone() == (True,)


def run_job(conn: Connection, job_id: JobId, outcome: Outcome) -> None:
    """Let a job make one attempt."""
    token = ledger.new_token()
    lease.claim(conn, {job_id: None}, token=token, lease=ledger.MINUTE)
    assert lease.settle(conn, {job_id: outcome}, token=token) == {job_id}


def _job(conn: Connection) -> JobId:
    return ledger.enqueue(conn).job_id


def _dead(conn: Connection) -> JobId:
    job_id = _job(conn)
    run_job(conn, job_id, DeadLetter("NoSuchOrder", "order 7 is gone"))
    return job_id


def _cancel(conn: Connection, job_id: JobId) -> None:
    assert operations.cancel(conn, [job_id])


def _discard(conn: Connection, job_id: JobId) -> None:
    number = ledger.row(conn, job_id)["dead_letter_no"]
    assert dead_letter.discard(conn, [job_id], only_at=[number])


def _revive(conn: Connection, job_id: JobId) -> None:
    assert operations.revive(conn, [job_id])
    run_job(conn, job_id, DeadLetter("NoSuchOrder", "order 7 is gone"))


def _key(conn: Connection) -> str:
    return make_order(conn).order.order_number


def _cart(conn: Connection) -> str:
    user_id = make_user_id()
    fill_cart(conn, user_id, {make_product(conn).sku: 2})
    return user_id


def _touch(conn: Connection, user_id: str) -> None:
    fill_cart(conn, user_id, {make_product(conn).sku: 1})


def event(conn: Connection, state: str) -> str:
    """Store a payment event in a state."""
    event_id = str(uuid7())
    conn.execute(
        """
        INSERT INTO payment_events (id, gateway, event_key, body, headers, order_number, transaction_id, status,
            amount_rupiah, currency, state, flaw, applied_at)
        VALUES (%(id)s, 'doku', %(key)s, %(body)s, %(headers)s, 'SKN-00000-00001', 't', 'paid', 1, 'IDR', %(state)s,
            CASE %(state)s WHEN 'quarantined' THEN 'unreadable' END, CASE %(state)s WHEN 'applied' THEN now() END)""",
        {"id": event_id, "key": event_id, "body": BODY, "headers": Jsonb({}), "state": state},
    )
    return event_id


def _message(conn: Connection) -> int:
    return quarantine.keep(conn, QueueName.PAYMENTS, str(uuid7()), {}, reason="no job of ours")


def _meet_again(conn: Connection, number: int) -> None:
    row = conn.execute("SELECT body FROM quarantined_messages WHERE id = %s", [number]).fetchone()
    assert row is not None
    quarantine.keep(conn, QueueName.PAYMENTS, row[0], {}, reason="no job of ours")


def _finding(conn: Connection) -> str:
    subject = str(uuid7())
    findings.save(conn, [Finding("money_without_task", subject, None)])
    return subject


def _find_again(conn: Connection, subject: str) -> None:
    findings.save(conn, [Finding("money_without_task", subject, None)])


def _run(conn: Connection) -> int:
    """A run that ended, and saw every finding that is there: only one is open at a time."""
    run = runs.open_run(conn)
    conn.execute("UPDATE reconciliation_findings SET last_seen_at = now() WHERE gone_at IS NULL")
    runs.finish(conn, run)
    return run.id


def _execute(query: str) -> Callable[[Connection, Any], None]:
    def execute(conn: Connection, name: Any) -> None:
        assert conn.execute(query.encode(), [name]).rowcount == 1

    return execute


_JOB_THERE = "SELECT EXISTS (SELECT 1 FROM jobs WHERE id = %s)"
_BODY_THERE = "SELECT body IS NOT NULL FROM payment_events WHERE id = %s"

KINDS: Mapping[str, Kind] = {
    "completed job": Kind("jobs", _job, lambda conn, job: run_job(conn, job, Completed()), None, _JOB_THERE),
    "cancelled job": Kind("jobs", _job, _cancel, _revive, _JOB_THERE),
    "discarded job": Kind("jobs", _dead, _discard, _revive, _JOB_THERE),
    "key": Kind(
        "idempotency_keys",
        _key,
        None,
        None,
        "SELECT EXISTS (SELECT 1 FROM idempotency_keys WHERE order_number = %s)",
    ),
    "cart": Kind("cart_items", _cart, None, _touch, "SELECT EXISTS (SELECT 1 FROM cart_items WHERE user_id = %s)"),
    "applied event": Kind(
        "payment_events.body",
        lambda conn: event(conn, "received"),
        _execute("UPDATE payment_events SET state = 'applied', applied_at = now() WHERE id = %s"),
        None,
        _BODY_THERE,
        since_beginning=True,
    ),
    "ignored event": Kind(
        "payment_events.body", lambda conn: event(conn, "ignored"), None, None, _BODY_THERE, since_beginning=True
    ),
    "reviewed event": Kind(
        "payment_events.body",
        lambda conn: event(conn, "quarantined"),
        _execute("UPDATE payment_events SET reviewed_at = now() WHERE id = %s"),
        _execute("UPDATE payment_events SET reviewed_at = NULL WHERE id = %s"),
        _BODY_THERE,
        since_beginning=True,
    ),
    "quarantined message": Kind(
        "quarantined_messages",
        _message,
        _execute("UPDATE quarantined_messages SET closed_at = now() WHERE id = %s"),
        _meet_again,
        "SELECT EXISTS (SELECT 1 FROM quarantined_messages WHERE id = %s)",
    ),
    "finding": Kind(
        "reconciliation_findings",
        _finding,
        _execute("UPDATE reconciliation_findings SET gone_at = now() WHERE subject = %s"),
        _find_again,
        "SELECT EXISTS (SELECT 1 FROM reconciliation_findings WHERE subject = %s)",
    ),
    "reconciliation": Kind(
        "reconciliation_runs",
        _run,
        None,
        None,
        "SELECT EXISTS (SELECT 1 FROM reconciliation_runs WHERE id = %s)",
    ),
}
"""Every way in which a row ends that is removed later."""
