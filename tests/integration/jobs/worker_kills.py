"""Starts a worker process and kills it, again and again.

Each is forked from one process that has everything imported, so that it lives in its work and not in its start.
"""

import os
import random
import signal
import threading
import time
from datetime import timedelta

import psycopg

from skincare.app import App
from skincare.deployment.queues import QueueName
from skincare.jobs.worker import Worker
from tests.support import ledger
from tests.support.crash_process import make_app
from worker.registry import REGISTRY

LIMITS = QueueName.NOTIFICATIONS.limits


def consume_for_ever(app: App) -> None:
    queue = app.queues[QueueName.NOTIFICATIONS]
    worker = Worker(
        app, registry=REGISTRY, database=app.database, publish=app.publisher.publish_now, queue=queue, limits=LIMITS
    )
    worker.consume(threading.Event())


def main(times: int, seed: int) -> None:
    """Let each worker live for up to 0.4 s; two minutes pass for the ledger after each, so that leases run out."""
    chance = random.Random(seed)
    environ = dict(os.environ)
    for _ in range(times):
        worker = os.fork()
        if worker == 0:
            consume_for_ever(make_app(environ))
        time.sleep(chance.uniform(0.05, 0.4))
        os.kill(worker, signal.SIGKILL)
        os.waitpid(worker, 0)
        with psycopg.connect(environ["DATABASE_URL"], autocommit=True) as conn:
            ledger.let_pass(conn, timedelta(minutes=2))
