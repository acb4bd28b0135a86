"""Jobs per second of a job that is two statements, ours beside other queues doing the same on the same server."""

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

import psycopg
from psycopg import Connection

from bench.environment import BenchDatabase, BenchEnvironment, Effort, NotMeasured
from bench.figure import Figure, at_least
from bench.peers.environment import peer_python
from bench.processes import output_on_failure, redis, running, wait_until
from bench.rounds import interleave, ratios
from bench.shop import settle_down
from local.settings import ROOT
from skincare.deployment.queues import QueueName

_LIMITS = QueueName.NOTIFICATIONS.limits
_SCRIPTS = ROOT / "bench" / "peers"
_PROCESSES = 2
_JOBS = 2000


@dataclass(frozen=True)
class Contender:
    """How jobs get into a queue and who works on them: commands, run where the scripts are.

    `connections` are those with which each of our processes waits at the gate.
    """

    enqueue: Sequence[str]
    workers: Sequence[Sequence[str]]
    connections: int = 0


_OURS = {
    "batch-10": ("batch", 10, 2.0),
    "batch-100": ("batch", 100, 5.0),
    "each-10": ("each", 10, 0.9),
    "each-100": ("each", 100, 0.9),
}
"""Figure → whether a batch handler or one handler per job, the size of the batches, and what is aimed at."""


def measure(bench: BenchEnvironment, effort: Effort) -> Iterator[Figure]:
    """Ours, with a batch handler and with one handler per job, over the best of the others; two processes each."""
    if shutil.which("redis-server") is None:
        raise NotMeasured("Celery, Dramatiq and arq need redis-server (Debian: apt-get install redis-server)")
    python = str(peer_python())
    count = effort.times(_JOBS)
    rounds = min(effort.rounds, 3)
    contenders = {**_peers(python), **_ours()}
    values = interleave(
        {name: partial(_rate, bench, contender, count) for name, contender in contenders.items()}, rounds=rounds
    )
    parts = {f"{name} (jobs/s)": median(rates) for name, rates in values.items()}
    best = max(_peers(python), key=lambda name: median(values[name]))
    for name, (handler, size, aim) in _OURS.items():
        how = "a batch handler" if handler == "batch" else "one handler per job"
        yield Figure(
            f"jobs.{name}",
            f"jobs per second by {how}, batches of {size}, claim and settle counted ÷ {best}, the best of the others",
            ratios(values[f"ours, {name}"], values[best]),
            aim=at_least(aim),
            parts=parts if name == "batch-10" else {},
        )


def _peers(python: str) -> Mapping[str, Contender]:
    def script(name: str, *arguments: str) -> list[str]:
        return [python, f"{name}_job.py", *arguments]

    two = range(_PROCESSES)
    return {
        "Dramatiq": Contender(
            script("dramatiq"), [[python, "-m", "dramatiq", "dramatiq_job", "--processes", "2", "--threads", "8"]]
        ),
        "Celery": Contender(
            script("celery"),
            [[python, "-m", "celery", "--app", "celery_job", "worker", "--concurrency", "2", "--loglevel", "ERROR"]],
        ),
        "arq": Contender(script("arq"), [[python, "-m", "arq", "arq_job.WorkerSettings"] for _ in two]),
        "Procrastinate": Contender(script("procrastinate", "enqueue"), [script("procrastinate", "work") for _ in two]),
        "pgqueuer": Contender(script("pgqueuer", "enqueue"), [script("pgqueuer", "10") for _ in two]),
        "pgqueuer, batch 100": Contender(script("pgqueuer", "enqueue"), [script("pgqueuer", "100") for _ in two]),
    }


def _ours() -> Mapping[str, Contender]:
    return {
        f"ours, {name}": Contender(
            [],
            [
                [sys.executable, "-m", "bench.our_jobs", "{url}", str(size), str(part), str(_PROCESSES), handler]
                for part in range(_PROCESSES)
            ],
            connections=1 if handler == "batch" else _LIMITS.database_connections,
        )
        for name, (handler, size, _) in _OURS.items()
    }


def _rate(bench: BenchEnvironment, contender: Contender, count: int) -> float:
    """Return jobs per second from the moment in which all processes of a contender have work in hand."""
    with bench.database() as database, redis() as redis_url, contextlib.ExitStack() as stack:
        _orders_with_jobs(database.owner, count)
        environment = {
            "BENCH_DATABASE_URL": database.owner_url,
            "BENCH_REDIS_URL": redis_url,
            "PATH": os.defpath,
            "HOME": str(bench.scratch),
        }
        with output_on_failure() as output:
            if contender.enqueue:
                subprocess.run(
                    contender.enqueue, cwd=_SCRIPTS, env=environment, stdout=output, stderr=output, check=True
                )
            settle_down(database.owner)
            with _gate(database, contender.connections) as open_gate:
                for command in contender.workers:
                    ours = command[0] == sys.executable
                    arguments = [part.replace("{url}", database.url) for part in command]
                    folder = ROOT if ours else _SCRIPTS
                    stack.enter_context(running(arguments, folder=folder, environment=environment, output=output))
                seconds = open_gate(count)
        return count / seconds


def _orders_with_jobs(owner: Connection, count: int) -> None:
    owner.execute(
        """
        INSERT INTO orders (order_number, user_id, cart_version, total_rupiah, email, locale)
        SELECT 'SKN-00000-' || lpad(n::text, 5, '0'), 'user-' || n, 1, 50000, 'buyer@example.com', 'id'
        FROM generate_series(1, %(count)s) n""",
        {"count": count},
    )
    owner.execute(
        """
        INSERT INTO jobs (id, job_type, queue, payload, state, publish_at)
        SELECT uuidv7(), 'confirm', 'notifications', jsonb_build_object('order_number', order_number), 'queued',
            now() + interval '1 hour' FROM orders"""
    )


@contextlib.contextmanager
def _gate(database: BenchDatabase, connections: int) -> Iterator[Callable[[int], float]]:
    """Hold every job at its second statement until all processes wait there; then take the time to the last job."""
    with psycopg.connect(database.owner_url) as guard:
        guard.execute("LOCK TABLE order_notifications IN ACCESS EXCLUSIVE MODE")

        def open_gate(count: int) -> float:
            wait_until(lambda: _all_wait(database.owner, connections))
            guard.commit()
            started = time.perf_counter()
            wait_until(lambda: _done(database.owner) >= count, pause_s=0.005)
            return time.perf_counter() - started

        yield open_gate


def _all_wait(owner: Connection, connections: int) -> bool:
    """Tell whether all processes wait at the gate, ours with so many connections each.

    The others name their connections after their process.
    """
    row = owner.execute(
        """
        SELECT count(DISTINCT application_name), count(*) FILTER (WHERE application_name = 'skincare')
        FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"""
    ).fetchone()
    assert row is not None
    processes, our_connections = row
    return bool(our_connections >= _PROCESSES * connections if connections else processes >= _PROCESSES)


def _done(owner: Connection) -> int:
    row = owner.execute("SELECT count(*) FROM order_notifications").fetchone()
    assert row is not None
    return int(row[0])
