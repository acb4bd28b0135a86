"""Celery on Redis: `python celery_job.py` enqueues, `celery --app celery_job worker` works."""

# mypy: ignore-errors

import job
from celery import Celery

app = Celery("celery_job", broker=job.REDIS)
app.conf.update(task_acks_late=True, task_ignore_result=True, broker_connection_retry_on_startup=True)


@app.task(name="confirm")
def confirm(order_number: str) -> None:
    job.run(order_number)


if __name__ == "__main__":
    for number in job.numbers():
        confirm.delay(number)
