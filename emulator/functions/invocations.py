"""Lambda's Invoke API on loopback: https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html

As on AWS nobody invokes a function without the right key: each request is signed, and a web page can sign none.
"""

import hmac
import json
import re
import socket
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from wsgiref.types import StartResponse, WSGIEnvironment

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from werkzeug import Request, Response
from werkzeug.exceptions import ClientDisconnected, RequestEntityTooLarge
from werkzeug.serving import WSGIRequestHandler, make_server

from emulator.functions.function import Function, InvocationFailed
from emulator.functions.runtime_api import MAXIMUM_PAYLOAD
from emulator.log.logbook import LogBook
from emulator.loopback.callers import why_refused
from emulator.processes.threads import start_thread
from emulator.settings import LOOPBACK, REGION, aws_credentials

_PATH = re.compile(r"/2015-03-31/functions/([A-Za-z0-9_-]{1,140})/invocations")
_SIGNATURE = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/,]+)/(?P<day>\d{8})/(?P<region>[^/,]+)/lambda/aws4_request, ?"
    r"SignedHeaders=(?P<headers>[a-z0-9;-]+), ?Signature=(?P<signature>[0-9a-f]{64})"
)
_CLOCK_SKEW = timedelta(minutes=5)
_TIMEOUT = timedelta(seconds=60)


class Invocations:
    """Invokes functions by their names. Who calls signs with `secret_access_key`."""

    def __init__(self, functions: Mapping[str, Function], *, secret_access_key: str, log: LogBook) -> None:
        self._functions = functions
        self._log = log
        self._credentials = Credentials(aws_credentials()["AWS_ACCESS_KEY_ID"], secret_access_key)

    def serve(self) -> None:
        """Answer on a free port, in background threads."""
        self._listener = socket.create_server((LOOPBACK, 0), backlog=16)
        port = self._listener.getsockname()[1]
        self.url = f"http://{LOOPBACK}:{port}"
        self._server = make_server(
            LOOPBACK, port, self, threaded=True, request_handler=_QuietHandler, fd=self._listener.fileno()
        )
        start_thread("invocations", partial(self._server.serve_forever, 0.1), log=self._log)

    def stop(self) -> None:
        """Answer no more."""
        self._server.shutdown()
        self._server.server_close()
        self._listener.close()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = Request(environ)
        request.max_content_length = MAXIMUM_PAYLOAD
        try:
            body = request.get_data()
        except (ClientDisconnected, OSError, ValueError):
            response = _error(400, "InvalidRequestContentException", "The payload ends before its end.")
        except RequestEntityTooLarge:
            response = _error(413, "RequestTooLargeException", f"The payload is larger than {MAXIMUM_PAYLOAD} bytes.")
        else:
            response = self._answer(request, body)
        response.headers["x-amzn-RequestId"] = str(uuid.uuid4())
        return response(environ, start_response)

    def _answer(self, request: Request, body: bytes) -> Response:
        if reason := why_refused(request.headers.get):
            return _error(403, "AccessDeniedException", f"{reason.capitalize()}.")
        if not self._is_signed(request, body):
            return _error(403, "AccessDeniedException", "The request is not signed with this system's key.")
        match = _PATH.fullmatch(request.path)
        function = self._functions.get(match[1]) if match and request.method == "POST" else None
        if function is None:
            return _error(404, "ResourceNotFoundException", "There is no such function.")
        try:
            payload = function.invoke(body, timeout=_TIMEOUT)
        except InvocationFailed as error:
            if error.error_type == "TooManyRequestsException":
                return _error(429, error.error_type, "No container became free in time.")
            failure = json.dumps({"errorType": error.error_type, "errorMessage": error.detail})
            return Response(failure, headers={"X-Amz-Function-Error": "Unhandled"}, content_type="application/json")
        return Response(payload, headers={"X-Amz-Executed-Version": "$LATEST"}, content_type="application/json")

    def _is_signed(self, request: Request, body: bytes) -> bool:
        """Tell whether the request was signed with our key within the last minutes."""
        match = _SIGNATURE.fullmatch(request.headers.get("Authorization", ""))
        moment = request.headers.get("X-Amz-Date", "")
        if match is None or not _is_now(moment):
            return False
        names = match["headers"].split(";")
        if not {"host", "x-amz-date"} <= set(names) or any(name not in request.headers for name in names):
            return False
        again = AWSRequest(
            method=request.method,
            url=request.url,
            data=body,
            headers={name: request.headers[name] for name in names},
        )
        again.context["timestamp"] = moment
        signer = SigV4Auth(self._credentials, "lambda", REGION)
        text = signer.string_to_sign(again, signer.canonical_request(again))
        right_key = match["key"] == self._credentials.access_key and match["region"] == REGION
        return right_key and hmac.compare_digest(signer.signature(text, again), match["signature"])


def _is_now(moment: str) -> bool:
    try:
        signed_at = datetime.strptime(moment, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        return False
    return abs(datetime.now(UTC) - signed_at) <= _CLOCK_SKEW


def _error(status: int, error_type: str, message: str) -> Response:
    body = json.dumps({"Type": "User", "Message": message})
    return Response(body, status, headers={"x-amzn-ErrorType": error_type}, content_type="application/json")


class _QuietHandler(WSGIRequestHandler):
    disable_nagle_algorithm = True
    timeout = 60

    def log(self, type: str, message: str, *args: object) -> None:
        """Say nothing: the function logs what it does."""
