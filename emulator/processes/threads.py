"""Threads that outlive what goes wrong in them: each failure is written down, and the work goes on."""

import threading
from collections.abc import Callable

from emulator.log.logbook import LogBook

_PAUSE_AFTER_FAILURE_S = 0.5


def start_thread(name: str, work: Callable[[], object], *, log: LogBook) -> threading.Thread:
    """Run `work` once in the background; whatever it raises is logged. Raises RuntimeError where none can start."""
    thread = threading.Thread(target=guarded, args=(name, work), kwargs={"log": log}, name=name, daemon=True)
    thread.start()
    return thread


def start_loop(
    name: str, step: Callable[[], object], *, stopping: threading.Event, log: LogBook, pause_s: float = 0.0
) -> threading.Thread:
    """Run `step` over and over until `stopping`, `pause_s` apart; whatever it raises is logged and ends nothing."""

    def repeat() -> None:
        while not stopping.is_set():
            done = guarded(name, step, log=log)
            stopping.wait(pause_s if done else max(pause_s, _PAUSE_AFTER_FAILURE_S))

    return start_thread(name, repeat, log=log)


def guarded(name: str, work: Callable[[], object], *, log: LogBook) -> bool:
    """Do the work and tell whether it went through; what it raised is logged by its type, as it may quote anything."""
    try:
        work()
    except Exception as error:  # noqa: BLE001  the thread has nobody else to tell
        log.event(name, "thread.failed", level="ERROR", error=type(error).__name__)
        return False
    return True
