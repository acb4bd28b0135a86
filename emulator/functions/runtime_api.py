"""The Lambda Runtime API that AWS's runtime interface client talks to, one server for one container.

Four calls of https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html: next invocation, response,
error, initialization error. Only the process that was handed an event may answer it, and once.
"""

import contextlib
import json
import queue
import re
import socket
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime
from http.server import BaseHTTPRequestHandler
from typing import Any

from emulator.loopback.callers import why_refused
from emulator.settings import LOOPBACK

_VERSION = "/2018-06-01/runtime"
_NEXT = f"{_VERSION}/invocation/next"
_INIT_ERROR = f"{_VERSION}/init/error"
_ANSWER = re.compile(rf"{_VERSION}/invocation/([^/]+)/(response|error)")
_LONGEST_BODY = 64 * 1024 * 1024
"""Bytes that are read of an answer, to say how much too large it is."""
_PAUSE_S = 0.1

MAXIMUM_PAYLOAD = 6 * 1024 * 1024
"""Bytes of one synchronous request or response (AWS: "Lambda quotas")."""


@dataclass(frozen=True)
class Invocation:
    """One event on its way to a function."""

    request_id: str
    payload: bytes = field(repr=False)
    deadline: datetime
    function_arn: str
    trace_id: str


@dataclass(frozen=True)
class Answered:
    """The handler returned this JSON."""

    payload: bytes = field(repr=False)


@dataclass(frozen=True)
class Failed:
    """The handler raised, or the code could not be loaded."""

    error_type: str
    error_message: str = field(repr=False)


@dataclass(frozen=True)
class Gone:
    """The process ended by itself."""

    exit_code: int


Outcome = Answered | Failed | Gone


class RuntimeApi:
    """Hands events to one container and takes its answers.

    `ready` is set when the container asks for its first event, that is when its code is loaded.
    """

    def __init__(self) -> None:
        self.ready = threading.Event()
        self.outcomes: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self._invocations: queue.SimpleQueue[Invocation | None] = queue.SimpleQueue()
        self._listener = socket.create_server((LOOPBACK, 0))
        self._lock = threading.Lock()
        self._handed_out: str | None = None
        """The request id of the event that the container is at work on."""
        self._closing = False
        self.address = f"{LOOPBACK}:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, name="runtime-api", daemon=True).start()

    def offer(self, invocation: Invocation) -> None:
        """Let the container take this event as its next one."""
        self._invocations.put(invocation)

    def close(self) -> None:
        """Stop listening and let go of whoever waits for an event."""
        self._closing = True
        self._invocations.put(None)
        with contextlib.suppress(OSError):  # wakes the thread that accepts
            socket.create_connection(self._listener.getsockname(), timeout=1).close()

    def _accept(self) -> None:
        with self._listener:
            while True:
                try:
                    connection, address = self._listener.accept()
                    if self._closing:
                        connection.close()
                        return
                    threading.Thread(target=self._serve, args=(connection, address), daemon=True).start()
                except (OSError, RuntimeError):  # no descriptor or thread to be had now: the container tries again
                    time.sleep(_PAUSE_S)

    def _serve(self, connection: socket.socket, address: tuple[str, int]) -> None:
        with connection, contextlib.suppress(OSError, ValueError):
            _Handler(connection, address, self)

    def take(self) -> Invocation | None:
        """Wait for an event; None when the container is to end."""
        self.ready.set()
        invocation = self._invocations.get()
        with self._lock:
            self._handed_out = invocation.request_id if invocation else None
        return invocation

    def may_take(self) -> bool:
        """Tell whether the container has answered what it was handed."""
        with self._lock:
            return self._handed_out is None

    def accept_answer(self, request_id: str) -> bool:
        """Tell whether this is the event that is out; it is answered by that."""
        with self._lock:
            is_out = self._handed_out == request_id
            if is_out:
                self._handed_out = None
            return is_out


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Headers and body leave in one packet at once: Nagle's algorithm would wait 40 ms for an acknowledgement.
    disable_nagle_algorithm = True
    wbufsize = -1

    def __init__(self, connection: socket.socket, address: tuple[str, int], api: RuntimeApi) -> None:
        self._api = api
        # The base class only stores the server; ours is the Runtime API.
        super().__init__(connection, address, api)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        if self._is_refused():
            return
        if self.path != _NEXT:
            self._answer(404, b"{}")
            return
        if not self._api.may_take():
            self._answer(403, _error("InvalidStateTransition"))
            return
        invocation = self._api.take()
        if invocation is None:
            self.close_connection = True
            return
        self._answer(
            200,
            invocation.payload,
            {
                "Lambda-Runtime-Aws-Request-Id": invocation.request_id,
                "Lambda-Runtime-Deadline-Ms": str(int(invocation.deadline.timestamp() * 1000)),
                "Lambda-Runtime-Invoked-Function-Arn": invocation.function_arn,
                "Lambda-Runtime-Trace-Id": invocation.trace_id,
            },
        )

    def do_POST(self) -> None:
        if self._is_refused():
            return
        body = self._read_body()
        if body is None:
            self._refuse(400, "InvalidRequest")
            return
        match = _ANSWER.fullmatch(self.path)
        if match is None and (self.path != _INIT_ERROR or self._api.ready.is_set()):
            self._refuse(404, "NotFound")
            return
        if match and not self._api.accept_answer(match[1]):
            self._refuse(400, "InvalidRequestID")
            return
        # Told first: a container that ends upon its 202 must not be taken for one that ended without a word.
        self._api.outcomes.put(_outcome(body, failed=match is None or match[2] == "error"))
        self._answer(202, b'{"status":"OK"}')

    def _is_refused(self) -> bool:
        if reason := why_refused(self.headers.get):
            self._refuse(403, reason)
        return bool(reason)

    def _read_body(self) -> bytes | None:
        """Return the whole body; None where it was cut short, or nobody can tell how long it is."""
        length = self.headers.get("Content-Length", "")
        if length.isascii() and length.isdigit() and int(length) <= _LONGEST_BODY:
            body = self.rfile.read(int(length))
            return body if len(body) == int(length) else None
        return None

    def _refuse(self, status: int, reason: str) -> None:
        self.close_connection = True
        self._answer(status, _error(reason))

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the function's own lines tell what happens."""


def _error(reason: str) -> bytes:
    return json.dumps({"errorType": reason, "errorMessage": ""}).encode()


def _outcome(body: bytes, *, failed: bool) -> Outcome:
    if failed:
        return _failure(body)
    if len(body) > MAXIMUM_PAYLOAD:
        return Failed("Function.ResponseSizeTooLarge", f"{len(body)} bytes")
    return Answered(body)


def _failure(body: bytes) -> Failed:
    with contextlib.suppress(ValueError):
        error = json.loads(body)
        if isinstance(error, dict):
            return Failed(str(error.get("errorType")), str(error.get("errorMessage")))
    return Failed("Runtime.Unknown", "")
