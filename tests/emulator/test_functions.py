import json
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from emulator.functions.function import InvocationFailed
from emulator.functions.pool import FunctionPool
from emulator.functions.runtime_api import MAXIMUM_PAYLOAD
from tests.support.local_system import SAMPLES, TIMEOUT, is_running, pids_of, pool_of, sample, wait_for


def invoke(pool: FunctionPool, event: Any, *, timeout: timedelta = TIMEOUT) -> Any:
    return json.loads(pool.invoke(json.dumps(event).encode(), timeout=timeout))


class TestAFunctionUnderTheRuntimeInterfaceClient:
    def test_it_gets_the_event_and_the_context_that_aws_would_give_it(self, tmp_path: Path) -> None:
        with pool_of(sample("samples.echo", timeout=timedelta(seconds=7)), tmp_path) as pool:
            payload = json.dumps({"näme": "é"}).encode()
            answer = json.loads(pool.invoke(payload, timeout=TIMEOUT, trace_id="Root=1-2-3"))
        assert answer["event"] == {"näme": "é"}
        assert 5_000 < answer["remaining_ms"] <= 7_000
        assert answer["trace_id"] == "Root=1-2-3"
        assert len(answer["request_id"]) == 36

    def test_its_environment_is_that_of_lambda_and_not_the_developers(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AWS_PROFILE", "of-the-developer")
        monkeypatch.setenv("PGPASSWORD", "of-the-developer")
        with pool_of(sample("samples.echo", GREETING="hello"), tmp_path) as pool:
            environment = invoke(pool, {})["environment"]
        assert environment["GREETING"] == "hello"
        assert environment["AWS_LAMBDA_FUNCTION_NAME"] == "samples-echo"
        assert environment["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"] == "128"
        assert environment["AWS_EXECUTION_ENV"] == "AWS_Lambda_python3.13"
        assert environment["AWS_LAMBDA_LOG_FORMAT"] == "JSON"
        assert environment["_HANDLER"] == "samples.echo"
        assert environment["LAMBDA_TASK_ROOT"] == str(SAMPLES)
        assert "of-the-developer" not in environment.values()

    def test_one_warm_container_serves_one_event_after_another(self, tmp_path: Path) -> None:
        with pool_of(sample("samples.obey"), tmp_path) as pool:
            assert len({invoke(pool, {})["pid"] for _ in range(5)}) == 1

    def test_what_it_raises_is_reported_and_the_container_lives_on(self, tmp_path: Path) -> None:
        with pool_of(sample("samples.obey"), tmp_path) as pool:
            pid = invoke(pool, {})["pid"]
            with pytest.raises(InvocationFailed, match="too bad") as caught:
                invoke(pool, {"raise": "too bad"})
            assert caught.value.error_type == "ValueError"
            assert invoke(pool, {})["pid"] == pid

    def test_at_its_timeout_it_is_killed_and_replaced(self, tmp_path: Path) -> None:
        with pool_of(sample("samples.obey", timeout=timedelta(seconds=1)), tmp_path) as pool:
            pid = invoke(pool, {})["pid"]
            with pytest.raises(InvocationFailed) as caught:
                invoke(pool, {"hang": True})
            assert caught.value.error_type == "Sandbox.Timedout"
            assert not is_running(pid)
            assert invoke(pool, {})["pid"] != pid

    def test_a_process_that_ends_in_the_middle_is_reported_and_replaced(self, tmp_path: Path) -> None:
        with pool_of(sample("samples.obey"), tmp_path) as pool:
            pid = invoke(pool, {})["pid"]
            with pytest.raises(InvocationFailed, match="exited with 3") as caught:
                invoke(pool, {"exit": 3})
            assert caught.value.error_type == "Runtime.ExitError"
            assert invoke(pool, {})["pid"] != pid

    def test_an_idle_container_that_was_killed_is_replaced_before_it_is_needed(self, tmp_path: Path) -> None:
        with pool_of(sample("samples.obey"), tmp_path) as pool:
            pid = invoke(pool, {})["pid"]
            os.kill(pid, signal.SIGKILL)
            wait_for(lambda: pids_of(pool) and pids_of(pool) != [pid], "another container")
            assert invoke(pool, {})["pid"] == pids_of(pool)[0]

    def test_that_one_was_killed_is_logged_unless_all_are_stopped(self, tmp_path: Path) -> None:
        log = tmp_path / "logs" / "samples-obey.log"
        with pool_of(sample("samples.obey"), tmp_path) as pool:
            pid = invoke(pool, {})["pid"]
            os.kill(pid, signal.SIGKILL)
            wait_for(lambda: pids_of(pool) and pids_of(pool) != [pid], "another container")
            pool._children.stop_all()
            wait_for(lambda: not pids_of(pool), "the end of the container")
        exits = [
            line for line in map(json.loads, log.read_text().splitlines()) if line["message"] == "container.exited"
        ]
        assert [(line["pid"], line["exit_code"]) for line in exits] == [(pid, -signal.SIGKILL)]

    def test_code_that_cannot_be_loaded_fails_the_invocation_at_once(self, tmp_path: Path) -> None:
        with pool_of(sample("broken.handler"), tmp_path) as pool:
            with pytest.raises(InvocationFailed, match="the module is broken") as caught:
                invoke(pool, {})
            assert caught.value.error_type == "RuntimeError"
            assert not pool.ready

    def test_an_answer_above_lambdas_limit_is_an_error(self, tmp_path: Path) -> None:
        with pool_of(sample("samples.obey"), tmp_path) as pool:
            with pytest.raises(InvocationFailed) as caught:
                invoke(pool, {"answer_bytes": MAXIMUM_PAYLOAD})
            assert caught.value.error_type == "Function.ResponseSizeTooLarge"
            assert len(invoke(pool, {"answer_bytes": MAXIMUM_PAYLOAD - 2})) == MAXIMUM_PAYLOAD - 2

    def test_what_it_prints_is_in_its_log(self, tmp_path: Path) -> None:
        with pool_of(sample("samples.obey"), tmp_path) as pool:
            invoke(pool, {"print": "a line of my own"})
            log = tmp_path / "logs" / "samples-obey.log"
            wait_for(lambda: log.exists() and "a line of my own" in log.read_text(), "the line")


class TestThePoolOfAFunction:
    def test_as_many_events_as_its_concurrency_are_at_work_at_once_and_no_more(self, tmp_path: Path) -> None:
        arrived, leave = tmp_path / "arrived", tmp_path / "leave"
        arrived.mkdir()
        event = {"arrive_in": str(arrived), "leave_by": str(leave)}
        with pool_of(sample("samples.obey"), tmp_path, concurrency=2) as pool, ThreadPoolExecutor(5) as callers:
            answers = [callers.submit(invoke, pool, event) for _ in range(5)]
            wait_for(lambda: len(list(arrived.iterdir())) == 2 and pool._waiting == 3, "two at work, three waiting")
            assert (len(pids_of(pool)), pool._starting) == (2, 0)
            leave.touch()
            assert {answer.result()["pid"] for answer in answers} == {int(file.name) for file in arrived.iterdir()}

    def test_who_finds_all_containers_busy_waits_no_longer_than_its_patience(self, tmp_path: Path) -> None:
        leave = tmp_path / "leave"
        with pool_of(sample("samples.obey"), tmp_path) as pool, ThreadPoolExecutor(1) as caller:
            (tmp_path / "arrived").mkdir()
            busy = caller.submit(invoke, pool, {"arrive_in": str(tmp_path / "arrived"), "leave_by": str(leave)})
            wait_for(lambda: list((tmp_path / "arrived").iterdir()), "the container at work")
            with pytest.raises(InvocationFailed) as caught:
                invoke(pool, {}, timeout=timedelta(milliseconds=50))
            assert caught.value.error_type == "TooManyRequestsException"
            leave.touch()
            busy.result()

    def test_stopping_it_lets_work_finish_within_the_grace_and_kills_the_rest(self, tmp_path: Path) -> None:
        arrived, leave = tmp_path / "arrived", tmp_path / "leave"
        arrived.mkdir()
        with pool_of(sample("samples.obey"), tmp_path, concurrency=1) as pool, ThreadPoolExecutor(1) as caller:
            answer = caller.submit(invoke, pool, {"arrive_in": str(arrived), "leave_by": str(leave)})
            wait_for(lambda: list(arrived.iterdir()), "the container at work")
            stopping = threading.Thread(target=pool.stop, kwargs={"grace": TIMEOUT})
            stopping.start()
            leave.touch()
            pid = answer.result()["pid"]
            stopping.join()
            assert not is_running(pid)
            assert not list((tmp_path / "children").iterdir())


# Gives a container work that never ends, and waits to be killed. (An idle one would notice by itself.)
PARENT = """
import sys
from pathlib import Path
from tests.support.local_system import TIMEOUT, pids_of, pool_of, sample
with pool_of(sample("samples.obey"), Path(sys.argv[1])) as pool:
    pool.invoke(b"{}", timeout=TIMEOUT)
    print(pids_of(pool)[0], flush=True)
    pool.invoke(b'{"announce_and_hang": "%s/hanging"}' % sys.argv[1].encode(), timeout=TIMEOUT)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent died")
class TestTheContainersOfAKilledParent:
    def test_they_die_with_it(self, tmp_path: Path) -> None:
        command = [sys.executable, "-c", PARENT, str(tmp_path)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
            assert parent.stdout is not None
            pid = int(parent.stdout.readline())
            wait_for((tmp_path / "hanging").exists, "the container at work")
            assert is_running(pid)
            parent.kill()
        wait_for(lambda: not is_running(pid), "the end of the container")
