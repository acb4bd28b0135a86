import threading
from pathlib import Path

import pytest

from emulator.log.logbook import LogBook
from local.page.health import Health
from tests.support.local_system import wait_for


@pytest.fixture
def log(tmp_path: Path) -> LogBook:
    return LogBook(tmp_path, None)


class TestTheHealth:
    def test_is_told_by_the_last_look_while_another_takes_its_time(self, log: LogBook) -> None:
        found, may_look, looks = ["database"], threading.Event(), list[int]()

        def look() -> list[str]:
            looks.append(1)
            may_look.wait(30)
            return found

        health = Health(look, log=log, fresh_s=0)
        assert [health.missing() for _ in range(3)] == [[], [], []]
        wait_for(lambda: looks, "a look")
        assert len(looks) == 1
        may_look.set()
        wait_for(lambda: health.missing() == ["database"], "what it found")
        found = []
        wait_for(lambda: health.missing() == [], "another look")

    def test_is_not_looked_at_again_while_it_is_fresh(self, log: LogBook) -> None:
        looks = list[int]()

        def look() -> list[str]:
            looks.append(1)
            return ["api"]

        health = Health(look, log=log, fresh_s=3600)
        wait_for(lambda: health.missing() == ["api"], "the look")
        assert (health.missing(), len(looks)) == (["api"], 1)

    def test_is_bad_where_nobody_can_look(self, log: LogBook) -> None:
        health = Health(lambda: [str(1 / 0)], log=log, fresh_s=0)
        wait_for(lambda: health.missing() == ["api"], "the failed look")
