"""pgqueuer on PostgreSQL: `python pgqueuer_job.py enqueue`, then `python pgqueuer_job.py BATCH_SIZE`."""

# mypy: ignore-errors

import asyncio
import sys

import job
import psycopg
from pgqueuer import PgQueuer
from pgqueuer.queries import Queries
from psycopg_pool import AsyncConnectionPool


async def enqueue() -> None:
    async with await psycopg.AsyncConnection.connect(job.URL, autocommit=True) as conn:
        queries = Queries.from_psycopg_connection(conn)
        await queries.install()
        numbers = job.numbers()
        count = len(numbers)
        await queries.enqueue(["confirm"] * count, [number.encode() for number in numbers], [0] * count)


async def work(batch_size: int) -> None:
    pool = AsyncConnectionPool(job.URL, min_size=4, max_size=4, kwargs=job.OPTIONS, open=False)
    await pool.open()
    async with await psycopg.AsyncConnection.connect(job.URL, autocommit=True) as conn:
        queue = PgQueuer.from_psycopg_connection(conn)

        @queue.entrypoint("confirm")
        async def confirm(task) -> None:
            async with pool.connection() as own:
                await job.run_async(own, task.payload.decode())

        await queue.run(batch_size=batch_size)


if __name__ == "__main__":
    asyncio.run(enqueue() if sys.argv[1] == "enqueue" else work(int(sys.argv[1])))
