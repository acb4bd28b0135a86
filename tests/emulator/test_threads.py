import json
import re
import threading
from pathlib import Path

import pytest

from emulator.log.logbook import LogBook
from emulator.processes.threads import start_loop, start_thread
from tests.architecture.tree import ROOT
from tests.support.local_system import wait_for

STARTS = re.compile(r"threading\.Thread\(")
MAY_START_THEM = {
    "threads.py",
    "runtime_api.py",  # its connections; the loop that accepts them guards itself
    "workers.py",  # stops the pools side by side, and waits for them
}


@pytest.fixture
def log(tmp_path: Path) -> LogBook:
    return LogBook(tmp_path, None)


class TestALoop:
    def test_goes_on_after_whatever_a_step_raises(self, log: LogBook, tmp_path: Path) -> None:
        stopping, steps = threading.Event(), 0

        def step() -> None:
            nonlocal steps
            steps += 1
            if steps < 3:
                raise (OSError("secret"), ZeroDivisionError("secret"))[steps - 1]
            stopping.set()

        start_loop("presence", step, stopping=stopping, log=log).join(timeout=30)
        assert steps == 3
        text = (tmp_path / "presence.log").read_text()
        assert [json.loads(line)["error"] for line in text.splitlines()] == ["OSError", "ZeroDivisionError"]
        assert "secret" not in text

    def test_ends_when_it_is_told_to(self, log: LogBook) -> None:
        stopping = threading.Event()
        thread = start_loop("x", lambda: None, stopping=stopping, log=log, pause_s=60)
        stopping.set()
        thread.join(timeout=30)
        assert not thread.is_alive()


class TestAThread:
    def test_writes_down_what_ended_it(self, log: LogBook, tmp_path: Path) -> None:
        def fail() -> None:
            raise KeyError("secret")

        start_thread("refund", fail, log=log).join(timeout=30)
        assert json.loads((tmp_path / "refund.log").read_text())["error"] == "KeyError"

    def test_works_on_where_the_log_takes_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "logs").write_text("a file is in the way of the folder")
        log, stopping, steps = LogBook(tmp_path / "logs", None), threading.Event(), []

        def step() -> None:
            steps.append(1)
            raise OSError

        start_loop("x", step, stopping=stopping, log=log)
        wait_for(lambda: len(steps) > 1, "another step")
        stopping.set()


def test_no_other_thread_of_the_local_system_is_unguarded() -> None:
    modules = [path for folder in ("emulator", "local") for path in (ROOT / folder).rglob("*.py")]
    assert {path.name for path in modules if STARTS.search(path.read_text())} == MAY_START_THEM
