"""The local API Gateway: an HTTP API with a JWT authorizer in front of the API function, on loopback only."""

import contextlib
import json
import socket
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from http.client import HTTPException
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

from werkzeug import Request, Response
from werkzeug.exceptions import ClientDisconnected, MethodNotAllowed, NotFound, RequestEntityTooLarge
from werkzeug.routing import Map, Rule
from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.utils import redirect

from api.http_settings import HTTP, HttpSettings
from local import cors
from local.function import Function, FunctionStopped, InvocationFailed
from local.http_event import GatewayRequest, MalformedAnswer, response_from
from local.logbook import LogBook
from local.mailbox import MAILS
from local.page import STATE
from local.problems import Refused, failed, too_large, unavailable
from local.runtime_api import MAXIMUM_PAYLOAD
from local.settings import LOOPBACK
from local.tokens import TokenIssuer, Unauthorized

# Routes that the authorizer lets pass. Everything else is one route, $default, that needs a token.
PUBLIC_ROUTES = (
    "GET /health",
    "GET /v1/products",
    "GET /v1/products/{sku}",
    "POST /v1/payments/webhook",
    "POST /v1/payments/webhook/{gateway}",
)


_LOCAL = "/_local/"
"""What is below this path is for this machine only: no page of another origin may read it."""


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
        page: Callable[[Request], Response | None] = lambda _: None,
        http: HttpSettings = HTTP,
    ) -> None:
        """`missing` names the parts of the system that are not ready; `mails` are those sent, newest first.

        `page` answers what is below `/_local/` beside the mails, None where there is nothing.
        """
        self._function = function
        self._tokens = tokens
        self._missing = missing
        self._mails = mails
        self._page = page
        self._log = log
        self._http = http
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
        request_id = str(uuid.uuid4())
        try:
            response = self._answer(request, request_id)
        except Refused as refusal:
            response = refusal.response(request_id)
            self._log.event(
                "gateway",
                "http.refused",
                route=_logged_route(request),
                status=refusal.status,
                code=refusal.code,
                request_id=request_id,
            )
        except ClientDisconnected:
            return []
        response.headers.setdefault("X-Request-Id", request_id)
        if not request.path.startswith(_LOCAL):
            cors.add_headers(request, response, self._http.cors)
        return response(environ, start_response)

    def _answer(self, request: Request, request_id: str) -> Response:
        if request.path == "/health" and request.method in {"GET", "HEAD"}:
            return self._health()
        if request.path.startswith(_LOCAL):
            return self._local(request)
        if f"{request.path}/" == _LOCAL:
            return redirect(_LOCAL, 308)
        if (answer := cors.preflight(request, self._http.cors)) is not None:
            return answer
        if not self.open.is_set():
            raise unavailable("The local system is starting.")
        route, parameters = _public_route(request)
        claims = self._claims(request) if route is None else None
        body = self._read_body(request)
        return self._integrate(GatewayRequest(request, body, route or "$default", parameters, claims, request_id))

    def _claims(self, request: Request) -> Mapping[str, Any]:
        try:
            return self._tokens.claims(request.headers.get("Authorization"))
        except Unauthorized as refusal:
            raise Refused(401, "unauthenticated", "Please sign in", f"Refused: {refusal}.") from refusal

    def _read_body(self, request: Request) -> bytes:
        request.max_content_length = self._http.gateway_max_body_bytes
        try:
            return request.get_data(cache=False)
        except RequestEntityTooLarge as error:
            raise too_large(self._http.gateway_max_body_bytes) from error

    def _integrate(self, request: GatewayRequest) -> Response:
        """Let the function answer within the integration timeout; after that it may go on unheard."""
        payload = json.dumps(request.event()).encode()
        if len(payload) > MAXIMUM_PAYLOAD:
            raise too_large(MAXIMUM_PAYLOAD)
        patience = self._http.integration_timeout
        call = _Call(self._function, payload, request.trace_id, patience)
        if not call.finished.wait(patience.total_seconds()):
            raise unavailable(f"The function did not answer in {patience.total_seconds():g} s.")
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
        if request.host.partition(":")[0] not in {LOOPBACK, "localhost"}:
            raise Refused(403, "forbidden", "Forbidden", "Only for this machine.")
        if request.path == MAILS and request.method == "GET":
            try:
                return _json(self._mails()[: request.args.get("limit", type=int)])
            except (OSError, HTTPException, ValueError) as error:
                raise unavailable("The local AWS does not answer.") from error
        if request.path == STATE and not self.open.is_set():
            raise unavailable("The local system is starting.")
        if (answer := self._page(request)) is not None:
            return answer
        raise Refused(404, "route_unknown", "No such route", "There is nothing at this path.")


class _Call:
    """One invocation in a thread of its own, so that the gateway can stop waiting for it."""

    def __init__(self, function: Function, payload: bytes, trace_id: str, patience: timedelta) -> None:
        self.finished = threading.Event()
        self._result: bytes | InvocationFailed = b""
        threading.Thread(target=self._run, args=(function, payload, trace_id, patience), daemon=True).start()

    def answer(self) -> bytes:
        """Return the answer or raise what went wrong, once `finished`."""
        if isinstance(self._result, InvocationFailed):
            raise self._result
        return self._result

    def _run(self, function: Function, payload: bytes, trace_id: str, patience: timedelta) -> None:
        try:
            self._result = function.invoke(payload, patience=patience, trace_id=trace_id)
        except InvocationFailed as error:
            self._result = error
        finally:
            self.finished.set()


class _QuietHandler(WSGIRequestHandler):
    disable_nagle_algorithm = True
    timeout = 60

    def log(self, type: str, message: str, *args: Any) -> None:
        """Say nothing: the function logs its answers, and the gateway its own."""


_PUBLIC = Map(
    [
        Rule(path.replace("{", "<").replace("}", ">"), methods=[method], endpoint=f"{method} {path}")
        for method, path in (route.split(" ") for route in PUBLIC_ROUTES)
    ],
    merge_slashes=False,
    redirect_defaults=False,
)


def _public_route(request: Request) -> tuple[str | None, Mapping[str, str] | None]:
    """Return the public route that a request matches, and its path parameters."""
    with contextlib.suppress(NotFound, MethodNotAllowed):
        route, parameters = _PUBLIC.bind("").match(request.path, method=request.method)
        return str(route), parameters or None
    return None, None


def _logged_route(request: Request) -> str:
    """Return where a request went without a word that the client chose: a path may hold an address."""
    if request.path.startswith(_LOCAL):
        return _LOCAL
    return _public_route(request)[0] or "$default"


def _json(value: Any, status: int = 200) -> Response:
    return Response(json.dumps(value, ensure_ascii=False), status, content_type="application/json")
