"""The local API Gateway: an HTTP API with a JWT authorizer in front of the API function, on loopback only."""

import contextlib
import json
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

from werkzeug import Request, Response
from werkzeug.exceptions import ClientDisconnected, MethodNotAllowed, NotFound, RequestEntityTooLarge
from werkzeug.routing import Map, Rule
from werkzeug.serving import WSGIRequestHandler, make_server

from local.function import Function, InvocationFailed
from local.http_event import GatewayRequest, response_from
from local.logbook import LogBook
from local.runtime_api import MAXIMUM_PAYLOAD
from local.settings import LOOPBACK
from local.tokens import TokenIssuer, Unauthorized

# Routes that the authorizer lets pass. Everything else is one route, $default, that needs a token.
PUBLIC_ROUTES = (
    "GET /health",
    "GET /v1/products",
    "GET /v1/products/{sku}",
    "POST /v1/payments/webhook/{gateway}",
)

_INTEGRATION_TIMEOUT = timedelta(seconds=30)
_LARGEST_BODY = 10_000_000
"""Bytes (AWS: "Quotas for configuring and running an HTTP API")."""

_PUBLIC = Map(
    [
        Rule(
            route.partition(" ")[2].replace("{", "<").replace("}", ">"),
            methods=[route.partition(" ")[0]],
            endpoint=route,
        )
        for route in PUBLIC_ROUTES
    ],
    strict_slashes=False,
    merge_slashes=False,
    redirect_defaults=False,
)


class Gateway:
    """Answers HTTP: `/health` and `/_local/…` itself, everything else through the function."""

    def __init__(
        self,
        function: Function,
        *,
        tokens: TokenIssuer,
        missing: Callable[[], list[str]],
        mails: Callable[[], list[dict[str, Any]]],
        log: LogBook,
    ) -> None:
        """`missing` names the parts of the system that are not ready; `mails` are those sent, newest first."""
        self._function = function
        self._tokens = tokens
        self._missing = missing
        self._mails = mails
        self._log = log
        self.open = threading.Event()
        """Set once the database is migrated: until then only `/health` is answered."""

    def serve(self, listener: socket.socket) -> None:
        """Answer on a listening socket, in background threads."""
        port = listener.getsockname()[1]
        self._server = make_server(
            LOOPBACK, port, self, threaded=True, request_handler=_QuietHandler, fd=listener.fileno()
        )
        threading.Thread(target=self._server.serve_forever, args=(0.1,), name="gateway", daemon=True).start()

    def stop(self) -> None:
        """Answer no more."""
        self._server.shutdown()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = Request(environ)
        started = time.monotonic()
        request_id = str(uuid.uuid4())
        try:
            response = self._answer(request, request_id)
        except ClientDisconnected:
            return []
        if not request.path.startswith(("/_local/", "/health")):
            self._log.event(
                "gateway",
                f"{request.method} {request.path}",
                status=response.status_code,
                ms=round((time.monotonic() - started) * 1000),
            )
        return response(environ, start_response)

    def _answer(self, request: Request, request_id: str) -> Response:
        if request.path == "/health" and request.method in {"GET", "HEAD"}:
            return self._health()
        if request.path.startswith("/_local/"):
            return self._local(request, request_id)
        if not self.open.is_set():
            return _unavailable("The local system is starting.", request_id)
        route, parameters = _public_route(request)
        claims = None
        if route is None:
            try:
                claims = self._tokens.claims(request.headers.get("Authorization"))
            except Unauthorized as refusal:
                response = _problem(401, "unauthenticated", "Please sign in", f"Refused: {refusal}.", request_id)
                response.headers["WWW-Authenticate"] = "Bearer"
                return response
        body = _read_body(request)
        if body is None:
            return _too_large(_LARGEST_BODY, request_id)
        return self._invoke(GatewayRequest(request, body, route or "$default", parameters, claims, request_id))

    def _invoke(self, gateway_request: GatewayRequest) -> Response:
        """Let the function answer within the integration timeout; the function itself may go on after that."""
        request_id = gateway_request.request_id
        payload = json.dumps(gateway_request.event()).encode()
        if len(payload) > MAXIMUM_PAYLOAD:
            return _too_large(MAXIMUM_PAYLOAD, request_id)
        call = _Call(self._function, payload, gateway_request.trace_id)
        if not call.finished.wait(_INTEGRATION_TIMEOUT.total_seconds()):
            return _unavailable("The function did not answer in 30 s.", request_id)
        try:
            return response_from(call.answer())
        except InvocationFailed as error:
            if error.error_type == "TooManyRequestsException":
                return _unavailable("No container became free in time.", request_id)
            return _failed("The function failed.", request_id)
        except ValueError:
            self._log.event("gateway", "response.malformed", level="ERROR", request_id=request_id)
            return _failed("The function's answer is malformed.", request_id)

    def _health(self) -> Response:
        missing = self._missing()
        if missing:
            return _json({"status": "unavailable", "missing": missing}, 503)
        return _json({"status": "ok"})

    def _local(self, request: Request, request_id: str) -> Response:
        # A page elsewhere must not read our mails by pointing its own name at this address.
        if request.host.rpartition(":")[0] not in {LOOPBACK, "localhost"}:
            return _problem(403, "forbidden", "Forbidden", "Only for this machine.", request_id)
        if request.path == "/_local/mails" and request.method == "GET":
            return _json(self._mails())
        return _problem(404, "route_unknown", "No such route", "There is nothing at this path.", request_id)


class _Call:
    """One invocation in a thread of its own, so that the gateway can stop waiting for it."""

    def __init__(self, function: Function, payload: bytes, trace_id: str) -> None:
        self.finished = threading.Event()
        self._result: bytes | Exception = b""
        threading.Thread(target=self._run, args=(function, payload, trace_id), daemon=True).start()

    def answer(self) -> bytes:
        """Return the answer or raise what went wrong, once `finished`."""
        if isinstance(self._result, Exception):
            raise self._result
        return self._result

    def _run(self, function: Function, payload: bytes, trace_id: str) -> None:
        try:
            self._result = function.invoke(payload, patience=_INTEGRATION_TIMEOUT, trace_id=trace_id)
        except InvocationFailed as error:
            self._result = error
        finally:
            self.finished.set()


class _QuietHandler(WSGIRequestHandler):
    disable_nagle_algorithm = True
    timeout = 60

    def log(self, type: str, message: str, *args: Any) -> None:
        """Say nothing: the gateway logs its answers itself."""


def _public_route(request: Request) -> tuple[str | None, Mapping[str, str] | None]:
    with contextlib.suppress(NotFound, MethodNotAllowed):
        route, parameters = _PUBLIC.bind("").match(request.path, method=request.method)
        return str(route), parameters or None
    return None, None


def _read_body(request: Request) -> bytes | None:
    """Return the body; None where it is too large."""
    request.max_content_length = _LARGEST_BODY
    try:
        return request.get_data(cache=False)
    except RequestEntityTooLarge:
        return None


def _json(value: Any, status: int = 200) -> Response:
    return Response(json.dumps(value, ensure_ascii=False), status, content_type="application/json")


def _problem(status: int, code: str, title: str, detail: str, request_id: str) -> Response:
    """Return an RFC 9457 problem with the members that the API function's problems have."""
    problem = {
        "type": f"urn:skincare:problem:{code}",
        "title": title,
        "status": status,
        "detail": detail,
        "instance": f"urn:skincare:request:{request_id}",
        "code": code,
        "request_id": request_id,
    }
    return Response(json.dumps(problem), status, content_type="application/problem+json")


def _unavailable(detail: str, request_id: str) -> Response:
    return _problem(503, "unavailable", "Temporarily unavailable", detail, request_id)


def _failed(detail: str, request_id: str) -> Response:
    return _problem(500, "internal_error", "Something went wrong", detail, request_id)


def _too_large(limit: int, request_id: str) -> Response:
    return _problem(413, "body_too_large", "The body is too large", f"At most {limit} bytes.", request_id)
