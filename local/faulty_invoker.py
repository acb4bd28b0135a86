"""Fault injection between a queue and its worker function, as switched on."""

import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from datetime import timedelta
from functools import partial

import psycopg
from psycopg import Connection

from emulator.functions.container import Container
from emulator.functions.function import FunctionStopped, InvocationFailed
from emulator.functions.pool import FunctionPool
from emulator.log.logbook import LogBook
from emulator.processes.threads import start_thread
from emulator.switches import Switches
from local.chaos import Switch
from local.repository import end_leases, sleeps, take_away
from skincare.jobs.envelope import job_id_in

_LONGEST_WATCH_S = 20.0
_CONNECT_S = 2
_LOOK_AGAIN_S = 0.002
_CANCEL_AGAIN_S = 0.05


class Poison:
    """Which job kills its worker, for all queues of a system: the first that comes while the switch is on."""

    def __init__(self, database_url: str, switches: Switches) -> None:
        self._database_url = database_url
        self._switches = switches
        self._lock = threading.Lock()
        self._since: int | None = None
        self._job_id: str | None = None
        self._has_killed = False

    def among(self, job_ids: list[str]) -> str | None:
        """Return the poisoned job if it is one of these."""
        with self._lock:
            since = self._switches.on_since(Switch.POISON_JOB)
            if since != self._since:
                self._since, self._job_id, self._has_killed = since, None, False
            if since is None:
                return None
            if self._job_id is None and job_ids:
                self._job_id = job_ids[0]
            return self._job_id if self._job_id in job_ids else None

    def killed(self) -> None:
        """Stay with this job: it has killed a worker."""
        with self._lock:
            self._has_killed = True

    def missed(self) -> None:
        """Take another job next time, unless this one has killed before: it was faster than its poison."""
        with self._lock:
            if not self._has_killed:
                self._job_id = None

    def ledger(self) -> Connection:
        """Connect to the ledger. Raises `psycopg.Error`."""
        return psycopg.connect(self._database_url, autocommit=True, connect_timeout=_CONNECT_S)


class FaultyInvoker:
    """Invokes a pool, and now and then twice, or kills the container at work."""

    def __init__(self, pool: FunctionPool, *, switches: Switches, poison: Poison, log: LogBook) -> None:
        self._pool = pool
        self._switches = switches
        self._poison = poison
        self._log = log

    def invoke(self, payload: bytes, *, timeout: timedelta, trace_id: str | None = None) -> bytes:
        """Return the answer of the pool. Raises `InvocationFailed`, after a crash of ours as `FunctionStopped`."""
        if self._switches.is_on(Switch.DUPLICATE_DELIVERY):
            again = partial(self._deliver_again, payload, timeout, trace_id)
            start_thread(self._pool.name, again, log=self._log)
        invoke = partial(self._pool.invoke, payload, timeout=timeout, trace_id=trace_id)
        if self._switches.is_on(Switch.POISON_JOB):
            job_ids = _job_ids(payload)
            if poisoned := self._poison.among(job_ids):
                # Connected beforehand, for a job is done sooner; and without a database no job runs either.
                with suppress(psycopg.Error), self._poison.ledger() as ledger:
                    return self._crash_at(poisoned, invoke, ledger, batch=job_ids)
        return invoke()

    def _deliver_again(self, payload: bytes, timeout: timedelta, trace_id: str | None) -> None:
        try:
            self._pool.invoke(payload, timeout=timeout, trace_id=trace_id)
        except InvocationFailed as error:
            self._log.event(self._pool.name, "duplicate.failed", level="WARNING", error=error.error_type)

    def _crash_at(self, poisoned: str, invoke: Callable[..., bytes], ledger: Connection, *, batch: list[str]) -> bytes:
        """Kill the container as soon as it has the job, then let its batch come again at once.

        SQS would wait for six timeouts of the function, and a claim for the end of the lease.
        """
        killer = _Killer(poisoned, ledger, log=self._log)
        try:
            # Before anybody can have the job: some are done before a thread has begun.
            with suppress(psycopg.Error), self._poison.ledger() as other:
                killer.start(other)
            answer = invoke(at_work=killer.container.set_result)
        except FunctionStopped:
            raise
        except InvocationFailed:
            if not killer.has_killed:
                raise
            self._poison.killed()
            killer.stop()
            with suppress(psycopg.Error):
                end_leases(ledger, batch)
            self._log.event(self._pool.name, "chaos.worker_killed", job_id=poisoned, jobs=len(batch))
            # Its batch is shown again at once.
            raise FunctionStopped from None
        finally:
            killer.stop()
        self._poison.missed()
        return answer


class _Killer:
    """Watches the ledger and kills a container when it has a job."""

    def __init__(self, job_id: str, ledger: Connection, *, log: LogBook) -> None:
        self._job_id = job_id
        self._log = log
        self._ledger = ledger
        self._thread: threading.Thread | None = None
        self.container: Future[Container] = Future()
        self.has_killed = False

    def start(self, other: Connection) -> None:
        """Begin; returns once the ledger is watched. Raises `psycopg.Error`."""
        pid, deadline = self._ledger.info.backend_pid, time.monotonic() + _CONNECT_S
        self._thread = start_thread("chaos", self._run, log=self._log)
        while self._thread.is_alive() and time.monotonic() < deadline and not sleeps(other, pid):
            time.sleep(_LOOK_AGAIN_S)

    def stop(self) -> None:
        """Let the ledger alone from now on."""
        if self._thread:
            while self._thread.is_alive():
                with suppress(psycopg.Error):
                    self._ledger.cancel_safe(timeout=_CONNECT_S)
                self._thread.join(_CANCEL_AGAIN_S)

    def _run(self) -> None:
        with suppress(psycopg.Error, TimeoutError), self._ledger.transaction():
            if take_away(self._ledger, self._job_id, longest_s=_LONGEST_WATCH_S):
                container = self.container.result(timeout=_CONNECT_S)
                self.has_killed = True
                container.crash()


def _job_ids(payload: bytes) -> list[str]:
    found = [job_id_in(record["body"]) for record in json.loads(payload)["Records"]]
    return [str(job_id) for job_id in found if job_id is not None]
