"""Work that goes on beside a test, as often as it can."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event


@contextmanager
def beside(*works: Callable[[], object], pause_s: float = 0) -> Iterator[None]:
    """Do each work again and again in a thread of its own; what fails there fails here."""
    over = Event()

    def run(work: Callable[[], object]) -> None:
        while not over.wait(pause_s):
            work()

    with ThreadPoolExecutor(len(works)) as threads:
        running = [threads.submit(run, work) for work in works]
        try:
            yield
        finally:
            over.set()
        for each in running:
            each.result()
