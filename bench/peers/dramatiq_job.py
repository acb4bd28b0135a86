"""Dramatiq on Redis: `python dramatiq_job.py` enqueues, `dramatiq dramatiq_job` works."""

# mypy: ignore-errors

import dramatiq
import job
from dramatiq.brokers.redis import RedisBroker

dramatiq.set_broker(RedisBroker(url=job.REDIS))


@dramatiq.actor
def confirm(order_number: str) -> None:
    job.run(order_number)


if __name__ == "__main__":
    for number in job.numbers():
        # Run as a script, this module has another name than the one that the workers import.
        confirm.send(number)
