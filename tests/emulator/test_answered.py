from datetime import timedelta

import pytest

from emulator.gateway.answered import Answered

MINUTE = timedelta(minutes=1)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def answered(clock: Clock) -> Answered:
    return Answered(clock)


class TestServerErrors:
    def test_are_counted_within_the_time(self, answered: Answered, clock: Clock) -> None:
        for status in (200, 404, 499, 500, 503):
            answered.note(status, seconds=0.1)
        assert answered.server_errors(within=MINUTE) == 2
        clock.now += 61
        answered.note(503, seconds=0.1)
        assert answered.server_errors(within=MINUTE) == 1
        assert answered.server_errors(within=3 * MINUTE) == 3


class TestTheSlowest:
    def test_of_none_is_no_time(self, answered: Answered) -> None:
        assert answered.slowest_ms() == 0

    def test_leave_one_in_a_hundred_out(self, answered: Answered) -> None:
        for seconds in (*range(1, 100), 1000):
            answered.note(200, seconds=seconds)
        assert answered.slowest_ms() == 99_000

    def test_are_forgotten_after_five_minutes(self, answered: Answered, clock: Clock) -> None:
        answered.note(200, seconds=9)
        clock.now += 301
        answered.note(200, seconds=0.5)
        assert answered.slowest_ms() == 500
