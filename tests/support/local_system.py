"""What tests of the local system share: sample functions, and waiting for what will be."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from emulator.functions.function import FunctionDefinition
from emulator.functions.pool import FunctionPool
from emulator.log.logbook import LogBook
from emulator.processes.children import Children, identify

SAMPLES = Path(__file__).parents[1] / "lambda_samples"
TIMEOUT = timedelta(seconds=30)


def sample(handler: str, *, timeout: timedelta = timedelta(seconds=20), **environment: str) -> FunctionDefinition:
    """Return a function of tests/lambda_samples."""
    return FunctionDefinition(
        name=handler.replace(".", "-"),
        handler=handler,
        timeout=timeout,
        memory_mb=128,
        code=SAMPLES,
        environment={"PATH": os.defpath, **environment},
    )


@contextmanager
def pool_of(function: FunctionDefinition, folder: Path, *, concurrency: int = 1) -> Iterator[FunctionPool]:
    """Run a pool whose children and logs are remembered below `folder`."""
    for name in ("children", "logs"):
        (folder / name).mkdir(exist_ok=True)
    log = LogBook(folder / "logs", None)
    children = Children(folder / "children")
    pool = FunctionPool(function, children=children, log=log, concurrency=concurrency)
    try:
        yield pool
    finally:
        pool.stop()
        children.stop_all()
        log.close()


def pids_of(pool: FunctionPool) -> list[int]:
    """Return the processes that a pool has ready or at work."""
    with pool._changed:
        return [container.pid for container in pool._containers]


def wait_for(condition: Callable[[], object], what: str, *, timeout: timedelta = TIMEOUT) -> None:
    """Return once the condition holds; fail with `what` was awaited after the patience."""
    deadline = time.monotonic() + timeout.total_seconds()
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    return identify(pid) is not None
