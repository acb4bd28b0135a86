import json
import queue
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from emulator.functions.function import InvocationFailed
from emulator.functions.schedule import Schedule
from emulator.log.logbook import LogBook


class FailingFunction:
    def __init__(self) -> None:
        self.events: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def invoke(self, payload: bytes, *, timeout: timedelta, trace_id: str | None = None) -> bytes:
        self.events.put(json.loads(payload))
        raise InvocationFailed("ValueError", "raised")


@pytest.fixture
def log(tmp_path: Path) -> LogBook:
    return LogBook(tmp_path, None)


class TestASchedule:
    def test_the_function_is_invoked_at_once_and_then_at_its_rate_whatever_becomes_of_it(self, log: LogBook) -> None:
        function = FailingFunction()
        schedule = Schedule(function, name="example", every=timedelta(milliseconds=1), log=log)
        schedule.start()
        events = [function.events.get(timeout=30) for _ in range(3)]
        schedule.stop()
        assert {(event["source"], event["detail-type"]) for event in events} == {("aws.scheduler", "Scheduled Event")}
        assert len({event["id"] for event in events}) == 3

    def test_it_does_not_invoke_again_before_its_time(self, log: LogBook) -> None:
        function = FailingFunction()
        schedule = Schedule(function, name="example", every=timedelta(hours=1), log=log)
        schedule.start()
        function.events.get(timeout=30)
        schedule.stop()
        assert schedule._thread is not None
        schedule._thread.join(timeout=30)
        assert function.events.empty()
