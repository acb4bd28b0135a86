"""Waiting for jobs to come to their end."""

import time
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import typer

from cli.oncall import OnCall
from skincare.jobs.models import JobState

_ENDED = {state for state in JobState if not state.is_live}
_LOOK_AGAIN_S = 1.0


def watch_jobs(oncall: OnCall, job_ids: Sequence[UUID], *, timeout: timedelta) -> list[Any]:
    """Return the jobs once none of them lives, or after the timeout; counts go to stderr as they change."""
    deadline = time.monotonic() + timeout.total_seconds()
    shown = ""
    while True:
        jobs = look_at(oncall, job_ids)
        counts = ", ".join(f"{count} {state}" for state, count in sorted(Counter(job.state for job in jobs).items()))
        if counts != shown:
            typer.echo(counts, err=True)
            shown = counts
        if all(job.state in _ENDED for job in jobs) or time.monotonic() > deadline:
            return jobs
        time.sleep(_LOOK_AGAIN_S)


def look_at(oncall: OnCall, job_ids: Sequence[UUID]) -> list[Any]:
    """Return these jobs as the ledger has them, however many."""
    from oncall.job_requests import LookAtJobs
    from oncall.request import MOST_JOBS

    chunks = [list(job_ids[start : start + MOST_JOBS]) for start in range(0, len(job_ids), MOST_JOBS)]
    return [job for chunk in chunks for job in oncall.ask(LookAtJobs(job_ids=chunk)).jobs]


def all_completed(jobs: Sequence[Any]) -> bool:
    """Tell whether every one of the jobs ended, and not dead."""
    return bool(jobs) and all(job.state in {"completed", "cancelled"} for job in jobs)
