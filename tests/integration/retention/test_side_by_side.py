"""Runs of retention beside customers and workers, all on the same rows at the same time."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

import psycopg
from psycopg import Connection

from skincare.jobs.retry import Completed
from skincare.retention import repository
from skincare.retention.policy import REMOVED
from tests.support import ledger
from tests.support.beside import beside
from tests.support.ended import run_job
from tests.support.factories import make_order, make_product
from tests.support.randomness import Times
from tests.support.retention import AGES
from tests.support.shop import wait_until

RUNS = 2


@contextmanager
def pruning(database_url: str) -> Iterator[None]:
    """Prune without a break, several at once; what fails in them fails here."""

    def prune(conn: Connection) -> None:
        for _, function in REMOVED:
            repository.prune(conn, function, limit=3, after=None)

    with ExitStack() as stack:
        runs = [stack.enter_context(psycopg.connect(database_url, autocommit=True)) for _ in range(RUNS)]
        with beside(*(partial(prune, conn) for conn in runs)):
            yield


def test_customers_order_with_keys_and_carts_that_are_just_being_forgotten(
    conn: Connection, owner: Connection, database_url: str, times: Times
) -> None:
    sku = make_product(conn, stock=10_000).sku
    orders = times(short=40, long=900)
    with pruning(database_url):
        for number in range(orders):
            make_order(conn, user_id="ani", lines={sku: 1}, idempotency_key="always the same")
            owner.execute("UPDATE idempotency_keys SET created_at = now() - %s", [AGES])
            owner.execute("UPDATE carts SET updated_at = now() - %s", [AGES])
            wait_until(lambda: owner.execute("SELECT count(*) FROM idempotency_keys").fetchone() == (0,))
            assert owner.execute("SELECT count(*) FROM orders").fetchone() == (number + 1,)
    assert owner.execute("SELECT stock FROM products").fetchone() == (10_000 - orders,)


def test_workers_run_what_is_new_while_what_they_finished_goes(
    conn: Connection, owner: Connection, database_url: str, times: Times
) -> None:
    jobs = times(short=60, long=3_000)
    with pruning(database_url):
        for _ in range(jobs):
            job_id = ledger.enqueue(conn).job_id
            run_job(conn, job_id, Completed())
            assert ledger.attempts(conn, job_id) == ["completed"]
            owner.execute("UPDATE jobs SET created_at = now() - %(t)s, finished_at = now() - %(t)s", {"t": AGES})
        wait_until(lambda: owner.execute("SELECT count(*) FROM jobs").fetchone() == (0,))
    assert owner.execute("SELECT count(*) FROM job_attempts").fetchone() == (0,)
