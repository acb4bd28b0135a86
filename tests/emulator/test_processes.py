import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from emulator.processes.children import Children, ChildrenStopped, ProcessIdentity, identify, is_alive, stop_leftovers
from tests.support.local_system import wait_for

SLEEP = [sys.executable, "-c", "import signal; signal.pause()"]


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(SLEEP, start_new_session=True) as process:
        yield process
        process.kill()


def remember(folder: Path, identity: ProcessIdentity) -> Path:
    file = folder / f"{identity.pid}.json"
    file.write_text(json.dumps({"name": "sleeper", **asdict(identity)}))
    return file


class TestTheIdentityOfAProcess:
    def test_it_stays_the_same_while_the_process_lives(self) -> None:
        identity = identify(os.getpid())
        assert identity is not None
        assert identity == identify(os.getpid())
        assert is_alive(identity)

    def test_another_process_with_the_same_number_is_another_one(self) -> None:
        assert not is_alive(ProcessIdentity(os.getpid(), "at another time"))

    def test_a_process_that_ended_has_none_although_nobody_asked_for_its_exit_code(
        self, sleeper: subprocess.Popen[bytes]
    ) -> None:
        identity = identify(sleeper.pid)
        assert identity is not None
        sleeper.send_signal(signal.SIGKILL)
        os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
        assert not is_alive(identity)


class TestWhatAKilledRunLeft:
    def test_a_child_is_killed_and_forgotten(self, tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
        identity = identify(sleeper.pid)
        assert identity is not None
        file = remember(tmp_path, identity)
        assert stop_leftovers(tmp_path) == ["sleeper"]
        assert sleeper.wait(timeout=10) == -signal.SIGKILL
        assert not file.exists()

    def test_a_stranger_that_got_the_number_of_a_child_is_left_alone(
        self, tmp_path: Path, sleeper: subprocess.Popen[bytes]
    ) -> None:
        file = remember(tmp_path, ProcessIdentity(sleeper.pid, "at another time"))
        assert stop_leftovers(tmp_path) == []
        assert sleeper.poll() is None
        assert not file.exists()

    @pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x"}', '{"name": "a"}'])
    def test_a_damaged_note_is_thrown_away(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "1.json").write_text(text)
        assert stop_leftovers(tmp_path) == []
        assert not list(tmp_path.iterdir())

    def test_there_is_nothing_to_do_where_nothing_ever_ran(self, tmp_path: Path) -> None:
        assert stop_leftovers(tmp_path / "never") == []


class TestChildren:
    def start(self, children: Children, folder: Path, *command: str) -> subprocess.Popen[bytes]:
        return children.start("child", command or SLEEP, environment={}, folder=folder, output=subprocess.DEVNULL)

    def test_a_living_child_is_remembered_and_an_ended_one_is_not(self, tmp_path: Path) -> None:
        children = Children(tmp_path)
        child = self.start(children, tmp_path)
        assert json.loads((tmp_path / f"{child.pid}.json").read_text())["name"] == "child"
        assert children.stop(child) == -signal.SIGKILL
        assert not list(tmp_path.iterdir())
        children.stop_all()

    def test_stopping_takes_along_what_a_child_started_itself(self, tmp_path: Path) -> None:
        children = Children(tmp_path / "notes")
        pid_file = tmp_path / "grandchild"
        script = (
            "import os, pathlib, signal; pid = os.fork();"
            f"pid and pathlib.Path({str(pid_file)!r}).write_text(f'{{pid}}.');"
            "signal.pause()"
        )
        self.start(children, tmp_path, sys.executable, "-c", script)
        wait_for(lambda: pid_file.exists() and pid_file.read_text().endswith("."), "the grandchild")
        grandchild = identify(int(pid_file.read_text().rstrip(".")))
        assert grandchild is not None
        children.stop_all()
        wait_for(lambda: not is_alive(grandchild), "the end of the grandchild")

    def test_nothing_starts_after_all_were_stopped(self, tmp_path: Path) -> None:
        children = Children(tmp_path)
        children.stop_all()
        with pytest.raises(ChildrenStopped):
            self.start(children, tmp_path)

    def test_a_signal_to_the_group_of_the_terminal_does_not_reach_a_child(self, tmp_path: Path) -> None:
        children = Children(tmp_path)
        child = self.start(children, tmp_path)
        assert os.getpgid(child.pid) == child.pid != os.getpgid(0)
        children.stop_all()
