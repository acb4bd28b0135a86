"""The job as the scripts beside this one do it: where, and on which connection."""

# mypy: ignore-errors

import os
import threading

import psycopg
from statements import INSERT, SELECT

URL = os.environ["BENCH_DATABASE_URL"]
REDIS = os.environ.get("BENCH_REDIS_URL", "")
NUMBERS = "SELECT order_number FROM orders ORDER BY id"
OPTIONS = {"autocommit": True, "application_name": f"peer-{os.getpid()}"}

_local = threading.local()


def numbers() -> list[str]:
    """Return the order numbers to enqueue."""
    with psycopg.connect(URL) as conn:
        return [row[0] for row in conn.execute(NUMBERS)]


def run(order_number: str) -> None:
    """Do the job on this thread's connection."""
    if not hasattr(_local, "conn"):
        # Asked for again: a process that was forked has another number.
        _local.conn = psycopg.connect(URL, autocommit=True, application_name=f"peer-{os.getpid()}")
    order_id, _, _ = _local.conn.execute(SELECT, [order_number]).fetchone()
    _local.conn.execute(INSERT, [order_id])


async def run_async(conn: psycopg.AsyncConnection, order_number: str) -> None:
    """Do the job on a connection of an event loop."""
    order_id, _, _ = await (await conn.execute(SELECT, [order_number])).fetchone()
    await conn.execute(INSERT, [order_id])
