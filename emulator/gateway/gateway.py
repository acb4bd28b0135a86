"""API Gateway: an HTTP API with a JWT authorizer in front of one function, on loopback only.

It lets through what the one on AWS would; what it answers by itself is a problem (RFC 9457) where AWS says
`{"message": …}`.
"""

import json
import socket
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import timedelta
from functools import partial
from http.client import HTTPException
from typing import IO, Any, cast
from wsgiref.types import StartResponse, WSGIEnvironment

from werkzeug import Request, Response
from werkzeug.exceptions import ClientDisconnected, RequestEntityTooLarge
from werkzeug.serving import DechunkedInput, WSGIRequestHandler, make_server
from werkzeug.utils import redirect

from emulator.aws.mailbox import MAILS
from emulator.functions.function import Function, FunctionStopped, InvocationFailed
from emulator.functions.runtime_api import MAXIMUM_PAYLOAD
from emulator.gateway import cors
from emulator.gateway.answered import Answered
from emulator.gateway.http_api import HttpApi
from emulator.gateway.http_event import GatewayRequest, MalformedAnswer, response_from
from emulator.gateway.problems import Refused, failed, malformed, no_route, too_large, unavailable
from emulator.gateway.tokens import TokenIssuer, Unauthorized
from emulator.log.logbook import LogBook
from emulator.loopback.callers import why_page_refused
from emulator.processes.threads import start_thread
from emulator.settings import LOOPBACK

_LOCAL = "/_local/"
"""What is below this path is for this machine only: no page of another origin may read it."""


class Gateway:
    """Answers HTTP: `/health` and `/_local/…` itself, everything else through the function."""

    def __init__(
        self,
        function: Function,
        *,
        api: HttpApi,
        tokens: TokenIssuer,
        missing: Callable[[], list[str]],
        mails: Callable[[], list[dict[str, Any]]],
        log: LogBook,
        page: Callable[[Request], Response | None] = lambda _: None,
        waiting: Collection[str] = (),
        answered: Answered | None = None,
    ) -> None:
        """`missing` names the parts of the system that are not ready; `mails` are those sent, newest first.

        `page` answers what is below `/_local/` beside the mails, None where there is nothing; `waiting` are its paths
        that need the database. `answered` counts what the API's callers were answered.
        """
        self._answered = answered or Answered()
        self._function = function
        self._tokens = tokens
        self._missing = missing
        self._mails = mails
        self._page = page
        self._log = log
        self._api = api
        self._waiting = waiting
        self.open = threading.Event()
        """Set once the database is migrated: until then only `/health` is answered."""

    def serve(self, listener: socket.socket) -> None:
        """Answer on a listening socket, in background threads."""
        port = listener.getsockname()[1]
        self._server = make_server(
            LOOPBACK, port, self, threaded=True, request_handler=_QuietHandler, fd=listener.fileno()
        )
        start_thread("gateway", partial(self._server.serve_forever, 0.1), log=self._log)

    def stop(self) -> None:
        """Answer no more."""
        self._server.shutdown()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = Request(environ)
        request_id = str(uuid.uuid4())
        started = time.monotonic()
        try:
            response = self._answer(request, request_id)
        except Refused as refusal:
            response = self._refuse(request, refusal, request_id)
        except Exception as error:  # noqa: BLE001  a caller gets an answer with its request id, whatever happens
            self._log.event("gateway", "http.failed", level="ERROR", error=type(error).__name__, request_id=request_id)
            response = self._refuse(request, failed("The gateway failed."), request_id)
        response.headers.setdefault("X-Request-Id", request_id)
        if not request.path.startswith(_LOCAL):
            cors.add_headers(request, response, self._api.cors)
            self._answered.note(response.status_code, seconds=time.monotonic() - started)
        return response(environ, start_response)

    def _refuse(self, request: Request, refusal: Refused, request_id: str) -> Response:
        self._log.event(
            "gateway",
            "http.refused",
            route=self._logged_route(request),
            status=refusal.status,
            code=refusal.code,
            request_id=request_id,
        )
        return refusal.response(request_id, urn=self._api.urn)

    def _answer(self, request: Request, request_id: str) -> Response:
        if (request.method, request.path, request.query_string) == ("GET", "/health", b""):
            return self._health()
        if request.path.startswith(_LOCAL):
            return self._local(request)
        if f"{request.path}/" == _LOCAL or _is_a_visit(request):
            return redirect(_LOCAL, 308 if request.path != "/" else 302)
        if sum(len(line) for line in _head(request)) > self._api.max_head_bytes:
            raise Refused(431, "head_too_large", "The headers are too large", _HEAD_TOO_LARGE)
        route = self._api.routes.find(request.method, request.path)
        if route is None:
            # A route that matched OPTIONS would get it, and its authorizer find no token.
            if (answer := cors.preflight(request, self._api.cors)) is not None:
                return answer
            raise no_route()
        if not self.open.is_set():
            raise unavailable("The local system is starting.")
        claims = self._claims(request) if route.needs_token else None
        body = self._read_body(request)
        return self._integrate(GatewayRequest(request, body, route.key, route.parameters or None, claims, request_id))

    def _claims(self, request: Request) -> Mapping[str, Any]:
        try:
            return self._tokens.claims(request.headers.get("Authorization"))
        except Unauthorized as refusal:
            raise Refused(401, "unauthenticated", "Please sign in", f"Refused: {refusal}.") from refusal

    def _read_body(self, request: Request) -> bytes:
        request.max_content_length = self._api.max_body_bytes
        try:
            return request.get_data(cache=False)
        except RequestEntityTooLarge as error:
            raise too_large(self._api.max_body_bytes) from error
        except (ClientDisconnected, OSError, ValueError) as error:
            raise malformed("The body ends before its end, or its chunks cannot be read.") from error

    def _integrate(self, request: GatewayRequest) -> Response:
        """Let the function answer within the integration timeout; after that it may go on unheard."""
        payload = json.dumps(request.event()).encode()
        if len(payload) > MAXIMUM_PAYLOAD:
            raise too_large(MAXIMUM_PAYLOAD)
        timeout = self._api.integration_timeout
        call = _Call(self._function, payload, request.trace_id, timeout, log=self._log)
        if not call.finished.wait(timeout.total_seconds()):
            raise unavailable(f"The function did not answer in {timeout.total_seconds():g} s.")
        try:
            response = response_from(call.answer())
        except FunctionStopped as error:
            raise unavailable("The local system stops.") from error
        except InvocationFailed as error:
            if error.error_type == "TooManyRequestsException":
                raise unavailable("No container became free in time.") from error
            raise failed("The function failed.") from error
        except MalformedAnswer as error:
            raise failed(f"The function's answer is no HTTP response: {error}.") from error
        cors.forget_headers(response)
        return response

    def _health(self) -> Response:
        # Before that the function would only log that it has no database.
        missing = self._missing() if self.open.is_set() else ["database"]
        if missing:
            return _json({"status": "unavailable", "missing": missing}, 503)
        return _json({"status": "ok"})

    def _local(self, request: Request) -> Response:
        # A page elsewhere must not read our mails by pointing its own name at this address.
        if reason := why_page_refused(request.method, request.headers.get):
            raise Refused(403, "forbidden", "Forbidden", f"{reason.capitalize()}.")
        if request.path == MAILS and request.method == "GET":
            try:
                return _json(self._mails()[: request.args.get("limit", type=int)])
            except (OSError, HTTPException, ValueError) as error:
                raise unavailable("The local AWS does not answer.") from error
        if request.path in self._waiting and not self.open.is_set():
            raise unavailable("The local system is starting.")
        if (answer := self._page(request)) is not None:
            return answer
        raise no_route()

    def _logged_route(self, request: Request) -> str:
        """Return where a request went without a word that the client chose: a path may hold an address."""
        if request.path.startswith(_LOCAL):
            return _LOCAL
        route = self._api.routes.find(request.method, request.path)
        return route.key if route else "-"


class _Call:
    """One invocation in a thread of its own, so that the gateway can stop waiting for it."""

    def __init__(self, function: Function, payload: bytes, trace_id: str, timeout: timedelta, *, log: LogBook) -> None:
        self.finished = threading.Event()
        self._result: bytes | InvocationFailed = InvocationFailed("Sandbox.Failed", "no answer")
        start_thread("gateway", partial(self._run, function, payload, trace_id, timeout), log=log)

    def answer(self) -> bytes:
        """Return the answer or raise what went wrong, once `finished`."""
        if isinstance(self._result, InvocationFailed):
            raise self._result
        return self._result

    def _run(self, function: Function, payload: bytes, trace_id: str, timeout: timedelta) -> None:
        try:
            self._result = function.invoke(payload, timeout=timeout, trace_id=trace_id)
        except InvocationFailed as error:
            self._result = error
        finally:
            self.finished.set()


class _QuietHandler(WSGIRequestHandler):
    disable_nagle_algorithm = True
    timeout = 60

    def make_environ(self) -> WSGIEnvironment:
        environ = super().make_environ()
        if isinstance(environ["wsgi.input"], DechunkedInput):
            environ["wsgi.input"] = _WholeChunks(cast(IO[bytes], self.rfile))
        return environ

    def log(self, type: str, message: str, *args: Any) -> None:
        """Say nothing: the function logs its answers, and the gateway its own."""


_HEAD_TOO_LARGE = "Request line and headers are more than a gateway takes."


def _head(request: Request) -> Iterable[str]:
    """Return the request line and the values of the headers, which count together."""
    yield f"{request.method} {request.full_path} {request.environ['SERVER_PROTOCOL']}"
    yield from request.headers.values()


def _is_a_visit(request: Request) -> bool:
    """Tell whether a person opened the bare address in a browser; a program gets what AWS would answer."""
    return (request.method, request.path) == ("GET", "/") and "text/html" in request.headers.get("Accept", "")


class _WholeChunks(DechunkedInput):
    """Fails where the connection ends within a chunk, which would pass for a whole one."""

    def readinto(self, buf: bytearray) -> int:  # type: ignore[override]
        size = len(buf)
        read = super().readinto(buf)
        # It counts what it asked for, and the buffer holds what came.
        if len(buf) < size:
            raise OSError("the chunk ends before its end")
        return read


def _json(value: Any, status: int = 200) -> Response:
    return Response(json.dumps(value, ensure_ascii=False), status, content_type="application/json")
