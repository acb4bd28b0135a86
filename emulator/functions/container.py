"""A container of a Lambda function: its real code under AWS's runtime interface client in a process of its own."""

import contextlib
import queue
import subprocess
import threading
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from emulator.functions.function import FunctionDefinition, InvocationFailed
from emulator.functions.runtime_api import Answered, Failed, Gone, Invocation, RuntimeApi
from emulator.log.logbook import LogBook
from emulator.processes.children import Children
from emulator.processes.threads import start_thread

_LONGEST_START = timedelta(seconds=60)
"""Far above Lambda's 10 s: a laptop that compiles something meanwhile is no error of the function."""


class Container:
    """One process that serves one event at a time, as on AWS."""

    def __init__(
        self,
        function: FunctionDefinition,
        *,
        children: Children,
        log: LogBook,
        on_exit: Callable[["Container"], None],
    ) -> None:
        """Start the process; `on_exit` is called when it ended, for whatever reason."""
        self._function = function
        self._children = children
        self._log = log
        self._on_exit = on_exit
        self._api = RuntimeApi()
        self._stopped = False
        self.exited = threading.Event()
        try:
            # Without -s a package in the developer's home would be importable that no deployed function has.
            self._process = children.start(
                function.name,
                [function.interpreter, "-s", "-m", "awslambdaric", function.handler],
                environment=_environment(function, self._api.address),
                folder=function.code,
                output=subprocess.PIPE,
            )
        except BaseException:
            self._api.close()
            raise
        self.pid = self._process.pid
        try:
            for work in (self._relay_output, self._await_exit):
                start_thread(function.name, work, log=log)
        except BaseException:
            self.stop()
            raise

    def wait_until_ready(self) -> None:
        """Wait until the code is loaded; raises `InvocationFailed` when it cannot be."""
        if not self._api.ready.wait(_LONGEST_START.total_seconds()):
            self.stop()
            raise InvocationFailed("Sandbox.Timedout", f"{self._function.name} did not start in {_LONGEST_START}")
        if self.exited.is_set():
            outcome = self._api.outcomes.get()
            raise _error(self._function, outcome)

    def invoke(self, payload: bytes, *, trace_id: str) -> bytes:
        """Let the function handle one event and return its JSON answer.

        Raises `InvocationFailed`: the handler raised, the process ended, or the timeout was over, upon which
        the process is killed in the middle of whatever it does.
        """
        timeout = self._function.timeout
        invocation = Invocation(
            request_id=str(uuid.uuid4()),
            payload=payload,
            deadline=datetime.now(UTC) + timeout,
            function_arn=self._function.arn,
            trace_id=trace_id,
        )
        self._api.offer(invocation)
        try:
            outcome = self._api.outcomes.get(timeout=timeout.total_seconds())
        except queue.Empty:
            self.stop()
            self._log.event(
                self._function.name, "function.timed_out", level="ERROR", aws_request_id=invocation.request_id
            )
            raise InvocationFailed("Sandbox.Timedout", f"timed out after {timeout.total_seconds():g} s") from None
        if isinstance(outcome, Answered):
            return outcome.payload
        raise _error(self._function, outcome)

    @property
    def usable(self) -> bool:
        """Whether it can handle another event: not once it was asked to stop, even before it has exited."""
        return not (self._stopped or self.exited.is_set())

    def crash(self) -> None:
        """Kill the process as if it had crashed."""
        self._process.kill()

    def stop(self) -> None:
        """Kill the process."""
        self._stopped = True
        self._children.stop(self._process)
        self._api.close()

    def _relay_output(self) -> None:
        assert self._process.stdout is not None  # noqa: S101  it was asked for
        with self._process.stdout as output:
            for line in output:
                self._log.relay(self._function.name, line.decode(errors="replace").rstrip())

    def _await_exit(self) -> None:
        # Whatever fails on the way, the pool learns of it: it would count the dead as at work for ever.
        with contextlib.ExitStack() as always:
            always.callback(self._on_exit, self)
            code = self._children.wait(self._process)
            self.exited.set()
            self._api.outcomes.put(Gone(code))
            self._api.ready.set()
            self._api.close()
            if not self._stopped and not self._children.stopping:
                self._log.event(self._function.name, "container.exited", level="ERROR", pid=self.pid, exit_code=code)


def _error(function: FunctionDefinition, outcome: Answered | Failed | Gone) -> InvocationFailed:
    match outcome:
        case Failed(error_type, message):
            return InvocationFailed(error_type, message)
        case Gone(code):
            return InvocationFailed("Runtime.ExitError", f"{function.name} exited with {code}")
        case Answered():
            return InvocationFailed("Runtime.Unknown", "answered without an event")


def _environment(function: FunctionDefinition, runtime_api: str) -> dict[str, str]:
    """Return what AWS sets (AWS: "Defined runtime environment variables") and the function's own settings."""
    return {
        **function.environment,
        "AWS_LAMBDA_RUNTIME_API": runtime_api,
        "AWS_EXECUTION_ENV": "AWS_Lambda_python3.13",
        "AWS_LAMBDA_FUNCTION_NAME": function.name,
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory_mb),
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        "AWS_LAMBDA_LOG_FORMAT": "JSON",
        "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{function.name}",
        "AWS_LAMBDA_LOG_STREAM_NAME": f"{datetime.now(UTC):%Y/%m/%d}/[$LATEST]{uuid.uuid4().hex}",
        "LAMBDA_TASK_ROOT": str(function.code),
        "_HANDLER": function.handler,
        "LANG": "en_US.UTF-8",
        "TZ": ":UTC",
    }
