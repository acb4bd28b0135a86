"""After trouble on this machine, such as a full disk, the local system is what it was before."""

import errno
import os
import signal
import threading
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from emulator.functions import container as container_module
from emulator.functions.function import InvocationFailed
from emulator.functions.pool import FunctionPool
from emulator.log.logbook import LogBook
from emulator.processes.children import Children
from emulator.switches import Switches
from local.functions import LocalEnvironment
from local.workers import Workers, queues_without_worker
from skincare.adapters.aws import AwsSession
from skincare.deployment.queues import QueueName
from tests.support.local_system import TIMEOUT, pids_of, pool_of, sample, wait_for


class Disk:
    """Full between `fill` and `free`: nothing can be written by path or descriptor, except to sockets and pipes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self._context: Any = None

    def fill(self) -> None:
        self._context = self._monkeypatch.context()
        patch = self._context.__enter__()
        patch.setattr(os, "write", _no_space)
        patch.setattr(Path, "write_text", _no_space)
        patch.setattr(Path, "write_bytes", _no_space)

    def free(self) -> None:
        if self._context is not None:
            self._context.__exit__(None, None, None)
            self._context = None


def _no_space(*_: object, **__: object) -> Any:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Any:
    disk = Disk(monkeypatch)
    yield disk
    disk.free()


def invoke(pool: FunctionPool, event: bytes = b"{}", *, timeout: timedelta = TIMEOUT) -> bytes:
    return pool.invoke(event, timeout=timeout)


class TestAFullDisk:
    def test_costs_the_pool_no_container(self, tmp_path: Path, disk: Disk) -> None:
        with pool_of(sample("samples.obey"), tmp_path) as pool:
            invoke(pool)
            (first,) = pids_of(pool)
            disk.fill()
            os.kill(first, signal.SIGKILL)
            # With a concurrency of one a lost slot would be the last.
            wait_for(lambda: pids_of(pool) not in ([], [first]), "another container")
            assert invoke(pool)

    def test_leaves_the_log_of_a_function_going(self, tmp_path: Path, disk: Disk) -> None:
        log = tmp_path / "logs" / "samples-obey.log"
        with pool_of(sample("samples.obey"), tmp_path) as pool:
            disk.fill()
            invoke(pool, b'{"print": "while it is full"}')
            wait_for(lambda: pool._log._lost, "the lost line")
            disk.free()
            invoke(pool, b'{"print": "with space again"}')
            wait_for(lambda: "with space again" in log.read_text(), "the line")

    def test_hides_the_workers_no_longer_than_it_lasts(self, tmp_path: Path, disk: Disk) -> None:
        presence = tmp_path / "workers.json"
        log = LogBook(tmp_path, None)
        workers = Workers(
            LocalEnvironment(database_url="", aws_endpoint_url="http://127.0.0.1:1"),
            aws=AwsSession("http://127.0.0.1:1"),
            children=Children(tmp_path / "children"),
            log=log,
            presence=presence,
            switches=Switches(tmp_path / "switches"),
        )

        class Up:
            ready = True
            polling = threading.Event()

        Up.polling.set()
        with ExitStack() as undo:
            undo.callback(workers._stopping.set)
            workers.pools = dict.fromkeys(QueueName, Up())  # type: ignore[arg-type]
            workers._sources = dict.fromkeys(QueueName, Up())  # type: ignore[arg-type]
            disk.fill()
            workers._begin_to_show_presence()
            wait_for(lambda: log._lost.get("presence"), "a failure to show it")
            assert queues_without_worker(presence) == list(QueueName)
            disk.free()
            wait_for(lambda: not queues_without_worker(presence), "the workers")


class TestAMistakeInAStart:
    def test_costs_the_pool_no_container(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with pool_of(sample("samples.obey"), tmp_path) as pool:
            with monkeypatch.context() as broken:
                broken.setattr(container_module, "RuntimeApi", lambda: 1 / 0)
                with pytest.raises(InvocationFailed, match="ZeroDivisionError"):
                    invoke(pool)
            assert invoke(pool)
