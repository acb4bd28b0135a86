"""Starts a redrive of everything and kills it, again and again.

Each is forked from one process that has everything imported, so that it lives in its work and not in its start.
"""

import os
import random
import signal
import time

import psycopg

from cli.redrive import Redrive, which_jobs
from tests.support.crash_process import make_app
from tests.support.oncall import oncall_of

JOBS_A_SECOND = 3
"""So few that a run is killed in its first requests, and never comes to its end."""


def redrive_everything(environ: dict[str, str], *, max_rate: float | None) -> None:
    """Do what `skincare dlq redrive --all` does."""
    app = make_app(environ)
    redrive = Redrive(oncall_of(app), force=False, max_rate=max_rate, reason=None)
    redrive.run(which_jobs(None), dry_run=False)
    app.database.close()


def main(times: int, seed: int) -> None:
    """Let each run live for up to 0.35 s, or until it has brought back a job: on a busy machine that may come later."""
    chance = random.Random(seed)
    environ = dict(os.environ)
    for _ in range(times):
        run = os.fork()
        if run == 0:
            redrive_everything(environ, max_rate=JOBS_A_SECOND)
            os._exit(0)
        if chance.random() < 0.5:
            time.sleep(chance.uniform(0.01, 0.35))
        else:
            _until_fewer_are_dead(environ["DATABASE_URL"])
        os.kill(run, signal.SIGKILL)
        os.waitpid(run, 0)


def _until_fewer_are_dead(url: str) -> None:
    deadline = time.monotonic() + 30
    with psycopg.connect(url, autocommit=True) as conn:
        before = _dead(conn)
        while _dead(conn) == before and time.monotonic() < deadline:
            time.sleep(0.005)


def _dead(conn: psycopg.Connection) -> int:
    row = conn.execute("SELECT count(*) FROM jobs WHERE state = 'dead_letter'").fetchone()
    assert row is not None
    return int(row[0])
