"""Processes that tests kill: forked from one that has everything imported, so that they live in their work.

Each is a process of its own with its own environment, and dies as any other does. Their parent is started with the
first of them, has one thread and holds no connection.
"""

import multiprocessing
import os
from collections.abc import Callable, Mapping
from functools import cache
from multiprocessing.context import ForkServerContext

_PRELOADED = (
    "boto3",
    "rich.progress",
    "tests.support.crash_process",
    "tests.integration.payments.money_crash_process",
    "tests.integration.operations.redrive_kills",
    "tests.integration.jobs.worker_kills",
)


class Forked:
    """A running process."""

    def __init__(self, main: Callable[..., None], *arguments: object, environ: Mapping[str, str]) -> None:
        """Start `main(*arguments)`, a function of a module, with this environment and nothing on standard output."""
        self._process = _context().Process(target=_play, args=(main, arguments, dict(environ)), daemon=True)
        self._process.start()

    def kill(self) -> None:
        self._process.kill()

    def wait(self, *, timeout_s: float = 60) -> int:
        """Return the exit code, which is negative for a signal; raises `TimeoutError`, and then kills the process."""
        self._process.join(timeout_s)
        code = self._process.exitcode
        if code is None:
            self._process.kill()
            raise TimeoutError(f"the process had not ended after {timeout_s} s")
        return code


@cache
def _context() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_PRELOADED))
    return context


def _play(main: Callable[..., None], arguments: tuple[object, ...], environ: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environ)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    main(*arguments)
