"""The worker as a long-running process: it waits without spinning, stops politely, and survives being killed."""

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from skincare.jobs.ports import ReceivedMessage
from skincare.jobs.worker.consumer import consume
from tests.support.worker_bench import LIMITS, Bench


class WatchedQueue:
    """The bench's queue, which tells when it is asked and what; a receive waits like a long poll would."""

    def __init__(self, bench: Bench, stop: threading.Event) -> None:
        self._bench = bench
        self._stop = stop
        self.receives: list[timedelta] = []
        self.enqueue = bench.source.enqueue
        self.ack = bench.source.ack
        self.nack = bench.source.nack

    def receive(self, *, limit: int, wait: timedelta, visibility: timedelta | None = None) -> list[ReceivedMessage]:
        self.receives.append(wait)
        found = self._bench.source.receive(limit=limit, wait=timedelta(0), visibility=visibility)
        if not found:
            self._stop.set()
        return found


@pytest.fixture
def bench(database_url: str) -> Iterator[Bench]:
    bench = Bench(database_url)
    yield bench
    bench.close()


class TestConsumer:
    def test_works_off_the_queue_and_deletes_what_is_done(self, bench: Bench) -> None:
        jobs = [bench.add(f"job {number}") for number in range(25)]
        stop = threading.Event()
        queue = WatchedQueue(bench, stop)
        assert consume(queue, bench.worker.run, limits=LIMITS, stop=stop)
        assert {bench.state(job) for job in jobs} == {"completed"}
        assert bench.source.all() == []
        assert len(queue.receives) == 4

    def test_waits_for_work_in_long_polls(self, bench: Bench) -> None:
        stop = threading.Event()
        queue = WatchedQueue(bench, stop)
        consume(queue, bench.worker.run, limits=LIMITS, stop=stop)
        assert all(wait >= timedelta(seconds=1) for wait in queue.receives)

    def test_backs_off_while_the_queue_cannot_be_reached(self, bench: Bench) -> None:
        bench.source.down = True
        stop = threading.Event()
        queue = WatchedQueue(bench, stop)
        worker = threading.Thread(
            target=consume, args=(queue, bench.worker.run), kwargs={"limits": LIMITS, "stop": stop}
        )
        worker.start()
        worker.join(timeout=1)
        assert len(queue.receives) == 1
        stop.set()
        worker.join(timeout=5)
        assert not worker.is_alive()

    def test_a_stop_lets_what_runs_finish_and_hands_back_the_rest(self, database_url: str) -> None:
        bench = Bench(database_url, limits=replace(LIMITS, threads=1))
        stop = threading.Event()
        jobs = [bench.add(f"job {number}", stop.set) for number in range(3)]
        assert consume(WatchedQueue(bench, stop), bench.worker.run, limits=bench.limits, stop=stop)
        states = sorted(bench.state(job) for job in jobs)
        assert states == ["completed", "queued", "queued"]
        assert len(bench.ran) == 1
        assert len(bench.source.all()) == 2
        bench.close()

    def test_a_hung_handler_ends_the_process(self, database_url: str) -> None:
        limits = replace(LIMITS, handler_limit=timedelta(seconds=0.1), function_timeout=timedelta(seconds=2.6))
        bench = Bench(database_url, limits=limits)
        release, stop = threading.Event(), threading.Event()

        def hang() -> None:
            release.wait(timeout=30)

        bench.add("hung", hang)
        started = time.monotonic()
        assert not consume(WatchedQueue(bench, stop), bench.worker.run, limits=limits, stop=stop)
        assert time.monotonic() - started < 10
        release.set()
        bench.close()
