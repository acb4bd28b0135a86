"""Exporting and erasing an account, as jobs: each step may be repeated, by a second job or after a crash."""

import json
import secrets
from datetime import timedelta

from skincare.customers import repository
from skincare.customers.errors import ExportNotReady, ExportTooLarge
from skincare.customers.models import MOST_ACCOUNTS, Accounts, CustomerRequests, ExportLink, Outcome, RequestKind
from skincare.database.connection import Connection, Database
from skincare.identifiers import new_job_id
from skincare.invoices.ports import ObjectStore
from skincare.jobs.catalog import EraseCustomer, ExportCustomer
from skincare.jobs.models import DueJob
from skincare.jobs.repository import timers
from skincare.observability import logger

LOOK_AGAIN_AFTER = timedelta(hours=1)
ORDERS_OF_A_STEP = 100
STEPS_OF_A_JOB = 20
_ORDERS_OF_A_PAGE = 100
MOST_ORDERS = 20_000
LINK_LASTS = timedelta(minutes=5)
_LISTED = 100


def find_accounts(database: Database, who: str) -> Accounts:
    """Return the accounts that an address or an account's own name leads to."""
    with database.connection() as conn:
        found = repository.accounts(conn, who, limit=MOST_ACCOUNTS + 1)
    return Accounts(tuple(found[:MOST_ACCOUNTS]), more=len(found) > MOST_ACCOUNTS)


def list_requests(database: Database) -> CustomerRequests:
    """Return the unfinished requests and the newest of the others, some hundred at most."""
    with database.connection() as conn:
        return CustomerRequests(tuple(repository.requests(conn, limit=_LISTED)))


def ask(conn: Connection, kind: RequestKind, user_id: str, *, delivered: bool) -> tuple[int, DueJob | None]:
    """Write a request down with its job, in the caller's transaction; return its id and the job to publish.

    A request that waits already is looked at again at once.
    """
    request_id, look, is_new = repository.open_request(conn, kind, user_id, delivered=delivered)
    job = (
        ExportCustomer(customer_request=request_id)
        if kind is RequestKind.EXPORT
        else EraseCustomer(customer_request=request_id, look=look)
    )
    if not is_new:
        timers.hasten(conn, job.unique_key)
    return request_id, timers.insert(conn, new_job_id(), job, unique_key=job.unique_key)


def export(request_id: int, *, database: Database, files: ObjectStore) -> None:
    """Write all that is known about a request's account into one file, unless that is done.

    No connection is held while the file is uploaded. Raises `ObjectStoreUnavailable`: nothing was marked; and
    `ExportTooLarge`.
    """
    with database.connection() as conn:
        user_id = repository.account_to_export(conn, request_id)
        if user_id is None:
            logger.info("customer.exported_before", customer_request=request_id)
            return
        document = repository.account(conn, user_id)
        document["orders"] = []
        after = 0
        while page := repository.orders(conn, user_id, after=after, limit=_ORDERS_OF_A_PAGE):
            document["orders"] += [order for _, order in page]
            after = page[-1][0]
            if len(document["orders"]) > MOST_ORDERS:
                raise ExportTooLarge(request_id, MOST_ORDERS)
    content = json.dumps(document, ensure_ascii=False, indent=1).encode()
    # A name of its own for each try: what is kept under a name never changes, and what is known may have.
    key = f"exports/{request_id}-{secrets.token_hex(16)}.json"
    files.put_if_absent(key, content, content_type="application/json")
    with database.connection() as conn:
        recorded = repository.record_exported(conn, request_id, key)
    logger.info("customer.exported", customer_request=request_id, orders=len(document["orders"]), recorded=recorded)


def link_of_export(request_id: int, *, database: Database, files: ObjectStore) -> ExportLink:
    """Return a link to an export's file that lasts for `LINK_LASTS`.

    Raises `ExportNotReady` and `ObjectStoreUnavailable`.
    """
    with database.connection() as conn:
        key = repository.exported_key(conn, request_id)
    if key is None:
        raise ExportNotReady(request_id)
    return ExportLink(request_id, files.link(key, filename=f"customer-{request_id}.json", expires_in=LINK_LASTS))


def erase(request_id: int, look: int, *, database: Database) -> Outcome:
    """Erase a request's account in short transactions, or leave it to a later job.

    While something is not over, the next job looks in `LOOK_AGAIN_AFTER`; the change of hands and that job are one
    transaction, so that there is always exactly one that acts.
    """
    for _ in range(STEPS_OF_A_JOB):
        with database.connection() as conn, conn.transaction():
            step = repository.erase(conn, request_id, look, limit=ORDERS_OF_A_STEP)
            if step.outcome is Outcome.WAITS:
                _hand_on(conn, request_id, look, after=LOOK_AGAIN_AFTER)
        if step.outcome is not Outcome.MORE:
            logger.info(
                "customer.erasure",
                customer_request=request_id,
                outcome=step.outcome,
                orders=step.orders_erased,
                waits_for=dict(step.waits_for),
            )
            return step.outcome
    with database.connection() as conn, conn.transaction():
        _hand_on(conn, request_id, look, after=timedelta(0))
    return Outcome.MORE


def _hand_on(conn: Connection, request_id: int, look: int, *, after: timedelta) -> None:
    run_at = repository.next_look(conn, request_id, look, after=after)
    if run_at is not None:
        job = EraseCustomer(customer_request=request_id, look=look + 1)
        timers.insert(conn, new_job_id(), job, unique_key=job.unique_key, run_at=run_at)
