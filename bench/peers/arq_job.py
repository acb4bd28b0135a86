"""arq on Redis: `python arq_job.py` enqueues, `arq arq_job.WorkerSettings` works."""

# mypy: ignore-errors

import asyncio

import job
from arq import create_pool
from arq.connections import RedisSettings
from psycopg_pool import AsyncConnectionPool


async def confirm(context, order_number: str) -> None:
    async with context["pool"].connection() as conn:
        await job.run_async(conn, order_number)


async def open_pool(context) -> None:
    context["pool"] = AsyncConnectionPool(job.URL, min_size=4, max_size=4, kwargs=job.OPTIONS, open=False)
    await context["pool"].open()


class WorkerSettings:
    functions = (confirm,)
    on_startup = open_pool
    redis_settings = RedisSettings.from_dsn(job.REDIS)
    poll_delay = 0.01
    keep_result = 0


async def enqueue() -> None:
    redis = await create_pool(WorkerSettings.redis_settings)
    for number in job.numbers():
        await redis.enqueue_job("confirm", number)


if __name__ == "__main__":
    asyncio.run(enqueue())
