"""Customers who want their data, or to be forgotten."""

from psycopg import Connection

from oncall.customer_requests import EraseCustomer, ExportCustomer
from skincare.app import App
from skincare.customers.models import CustomerRequest
from skincare.jobs import catalog
from skincare.jobs.repository import lease
from skincare.jobs.retry import Completed
from tests.support import ledger
from tests.support.oncall import ME, ask
from worker.registry import REGISTRY


def ask_erasure(app: App, *user_ids: str, delivered: bool = False) -> tuple[CustomerRequest, ...]:
    """Ask for accounts to be erased; the jobs are not run."""
    return tuple(
        ask(
            app,
            EraseCustomer(claimed_identity=ME, user_ids=list(user_ids), delivered=delivered, reason="asked for"),
        ).requests
    )


def ask_export(app: App, *user_ids: str) -> tuple[CustomerRequest, ...]:
    return tuple(ask(app, ExportCustomer(claimed_identity=ME, user_ids=list(user_ids), reason="asked for")).requests)


def run_customer_jobs(app: App, conn: Connection) -> int:
    """Run each unfinished job of the customers' requests once, as a worker would; return how many there were."""
    rows = conn.execute(
        "SELECT id, job_type, payload FROM jobs WHERE publish_at IS NOT NULL AND job_type = ANY (%s) ORDER BY id",
        [[catalog.ExportCustomer.job_type, catalog.EraseCustomer.job_type]],
    ).fetchall()
    for job_id, job_type, payload in rows:
        registration = REGISTRY.find(job_type)
        assert registration is not None
        conn.execute("UPDATE jobs SET run_at = now(), publish_at = now() WHERE id = %s", [job_id])
        token = ledger.new_token()
        ledger.claim_one(conn, job_id, token=token)
        registration.run(payload, app)
        assert lease.settle(conn, {job_id: Completed()}, token=token)
    return len(rows)


def erase(app: App, conn: Connection, user_id: str, *, delivered: bool = True) -> str:
    """Ask for an account to be erased and run its job once; return how far that came."""
    (request,) = ask_erasure(app, user_id, delivered=delivered)
    run_customer_jobs(app, conn)
    row = conn.execute(
        "SELECT CASE WHEN finished_at IS NULL THEN 'waits' ELSE 'erased' END FROM customer_requests WHERE id = %s",
        [request.id],
    ).fetchone()
    assert row is not None
    return str(row[0])


def finish_jobs(conn: Connection, order_number: str) -> None:
    """Let all jobs of an order be over, whatever they would have done."""
    conn.execute(
        "UPDATE jobs SET state = 'cancelled', publish_at = NULL, finished_at = now(), lease_token = NULL,"
        " leased_at = NULL, lease_until = NULL WHERE order_number = %s AND publish_at IS NOT NULL",
        [order_number],
    )


def everything(conn: Connection) -> dict[str, list[str]]:
    """Return every row of every table as text."""
    tables = conn.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1").fetchall()
    return {
        table: [row[0] for row in conn.execute(f"SELECT to_jsonb(t)::text FROM {table} t".encode()).fetchall()]
        for (table,) in tables
    }


def columns_with(conn: Connection, canary: str) -> set[str]:
    """Return the columns, as `table.column`, in which a text stands; in bytes too."""
    found = set()
    for table, column, kind in conn.execute(
        "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'public'"
    ).fetchall():
        as_text = f"encode({column}, 'escape')" if kind == "bytea" else f"{column}::text"
        query = f"SELECT 1 FROM {table} WHERE strpos({as_text}, %s) > 0 LIMIT 1".encode()
        if conn.execute(query, [canary]).fetchone():
            found.add(f"{table}.{column}")
    return found
