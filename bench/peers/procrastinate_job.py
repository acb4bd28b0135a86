"""Procrastinate on PostgreSQL: `python procrastinate_job.py enqueue`, then `python procrastinate_job.py work`."""

# mypy: ignore-errors

import asyncio
import sys

import job
import procrastinate
from psycopg_pool import AsyncConnectionPool

app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=job.URL))
pool = AsyncConnectionPool(job.URL, min_size=4, max_size=4, kwargs=job.OPTIONS, open=False)


@app.task(name="confirm")
async def confirm(order_number: str) -> None:
    async with pool.connection() as conn:
        await job.run_async(conn, order_number)


async def enqueue() -> None:
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        await confirm.batch_defer_async(*({"order_number": number} for number in job.numbers()))


async def work() -> None:
    await pool.open()
    async with app.open_async():
        await app.run_worker_async(concurrency=10)


if __name__ == "__main__":
    asyncio.run(enqueue() if sys.argv[1] == "enqueue" else work())
