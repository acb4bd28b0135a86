"""Starts a redrive of everything and kills it, again and again.

Each is forked from one process that has everything imported, so that it lives in its work and not in its start.
"""

import os
import random
import signal
import time

from cli.redrive import Redrive, which_jobs
from tests.crash_process import make_app
from tests.oncall import oncall_of

JOBS_A_SECOND = 3
"""So few that a run is killed in its first requests, and never comes to its end."""


def redrive_everything(environ: dict[str, str], *, max_rate: float | None) -> None:
    """Do what `skincare dlq redrive --all` does."""
    app = make_app(environ)
    redrive = Redrive(oncall_of(app), force=False, max_rate=max_rate, reason=None)
    redrive.run(which_jobs(None), dry_run=False)
    app.database.close()


def main(times: int, seed: int) -> None:
    """Let each run live for up to 0.35 s."""
    chance = random.Random(seed)
    environ = dict(os.environ)
    for _ in range(times):
        run = os.fork()
        if run == 0:
            redrive_everything(environ, max_rate=JOBS_A_SECOND)
            os._exit(0)
        time.sleep(chance.uniform(0.01, 0.35))
        os.kill(run, signal.SIGKILL)
        os.waitpid(run, 0)
