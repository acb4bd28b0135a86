"""Ending in order: the first SIGINT, SIGTERM or SIGHUP interrupts, the others wait for the clean-up."""

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _StopRequested(BaseException):
    """Not an Exception: no handler of errors may take it for one."""


@contextlib.contextmanager
def until_stopped() -> Iterator[None]:
    """Run the block until a signal interrupts it, in the main thread; that is no error."""
    for number in _SIGNALS:
        # nohup lets a closed terminal pass; a shell that ignores SIGINT in the background means its own.
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)
    try:
        yield
    except _StopRequested:
        pass
    finally:
        _ignore_signals()


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    _ignore_signals()
    raise _StopRequested


def _ignore_signals() -> None:
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
