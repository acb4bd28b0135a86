"""One start of a function's process under AWS's runtime interface client, with the CPU time it took."""

import contextlib
import json
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from psycopg import Connection

from emulator.functions.function import FunctionDefinition
from emulator.functions.runtime_api import Answered, Invocation, RuntimeApi

TASKS = "/proc/{}/task"
"""Where Linux lists a process's threads."""

_TIMEOUT_S = 60


@dataclass
class Start:
    """CPU milliseconds of one process from its exec: until it asks for an event, its first commit, its answer."""

    ready: float
    committed: float
    answered: float


def start_process(function: FunctionDefinition, event: dict[str, Any], commits: Connection) -> Start:
    """Start the function, give it the event and watch for its commit: `commits` listens for the announcement."""
    with _started(function) as (api, pid):
        ready = cpu_ms(pid)
        api.offer(
            Invocation(
                request_id=str(uuid.uuid4()),
                payload=json.dumps(event).encode(),
                deadline=datetime.now(UTC) + timedelta(seconds=_TIMEOUT_S),
                function_arn=function.arn,
                trace_id="Root=1-00000000-000000000000000000000000;Sampled=0",
            )
        )
        committed = 0.0
        for _ in commits.notifies(timeout=_TIMEOUT_S, stop_after=1):
            committed = cpu_ms(pid)
        outcome = api.outcomes.get(timeout=_TIMEOUT_S)
        answered = cpu_ms(pid)
        if not committed or not isinstance(outcome, Answered):
            raise RuntimeError(f"{function.name} did not do its work: {outcome}")
        return Start(ready, committed, answered)


def cpu_until_ready(function: FunctionDefinition) -> float:
    """Start the function and return the CPU milliseconds that it took until it asked for its first event."""
    with _started(function) as (_, pid):
        return cpu_ms(pid)


@contextlib.contextmanager
def _started(function: FunctionDefinition) -> Iterator[tuple[RuntimeApi, int]]:
    """Yield a process that asks for its first event, and the API where it does."""
    api = RuntimeApi()
    with contextlib.closing(api):
        process = subprocess.Popen(
            [function.interpreter, "-s", "-m", "awslambdaric", function.handler],
            env=_environment(function, api.address),
            cwd=function.code,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            if not api.ready.wait(_TIMEOUT_S):
                raise RuntimeError(f"{function.name} did not start")
            yield api, process.pid
        finally:
            process.kill()
            process.wait()


def _environment(function: FunctionDefinition, runtime_api: str) -> dict[str, str]:
    return {
        **function.environment,
        "AWS_LAMBDA_RUNTIME_API": runtime_api,
        "AWS_LAMBDA_FUNCTION_NAME": function.name,
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory_mb),
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_LOG_FORMAT": "JSON",
        "AWS_LAMBDA_LOG_GROUP_NAME": "bench",
        "AWS_LAMBDA_LOG_STREAM_NAME": "bench",
        "LAMBDA_TASK_ROOT": str(function.code),
        "_HANDLER": function.handler,
    }


def cpu_ms(pid: int) -> float:
    """Return the time that the process's threads have spent on a processor. Source: Linux, sched-stats."""
    tasks = Path(TASKS.format(pid)).iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1_000_000
