"""HTTP to Lambda and back: payload format 2.0 of API Gateway's HTTP APIs.

https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
"""

import base64
import json
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from werkzeug import Request, Response

from emulator.functions.pool import new_trace_id
from emulator.settings import ACCOUNT_ID

_TEXT_TYPES = ("text/", "application/json", "application/javascript", "application/xml")
_TEXT_SUFFIXES = ("+json", "+xml")


@dataclass(frozen=True)
class GatewayRequest:
    """A request that found its route. `claims` None: the route is public."""

    request: Request
    body: bytes = field(repr=False)
    route_key: str
    path_parameters: Mapping[str, str] | None
    claims: Mapping[str, Any] | None = field(repr=False)
    request_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    trace_id: str = field(default_factory=new_trace_id)

    def event(self) -> dict[str, Any]:
        """Return the event that the function gets."""
        request = self.request
        # The server has joined duplicate headers by a comma, as API Gateway does.
        headers = {name.lower(): value for name, value in request.headers.items() if name.lower() != "cookie"}
        source_ip = request.remote_addr or ""
        headers |= {
            "x-amzn-trace-id": self.trace_id,
            "x-forwarded-for": source_ip,
            "x-forwarded-port": str(request.environ["SERVER_PORT"]),
            "x-forwarded-proto": "http",
        }
        body, is_base64 = _body(self.body, request.headers.get("Content-Type", ""))
        now = datetime.now(UTC)
        event: dict[str, Any] = {
            "version": "2.0",
            "routeKey": self.route_key,
            "rawPath": request.path,
            "rawQueryString": request.query_string.decode("latin-1"),
            "headers": headers,
            "requestContext": {
                "accountId": ACCOUNT_ID,
                "apiId": "local",
                "domainName": request.host,
                "domainPrefix": request.host.partition(".")[0],
                "http": {
                    "method": request.method,
                    "path": request.path,
                    "protocol": str(request.environ["SERVER_PROTOCOL"]),
                    "sourceIp": source_ip,
                    "userAgent": headers.get("user-agent", ""),
                },
                "requestId": self.request_id,
                "routeKey": self.route_key,
                "stage": "$default",
                "time": now.strftime("%d/%b/%Y:%H:%M:%S +0000"),
                "timeEpoch": int(time.time() * 1000),
            },
            "isBase64Encoded": is_base64,
        }
        if cookies := request.headers.get("Cookie"):
            event["cookies"] = [cookie.strip() for cookie in cookies.replace(",", ";").split(";") if cookie.strip()]
        if request.args:
            event["queryStringParameters"] = {name: ",".join(request.args.getlist(name)) for name in request.args}
        if self.path_parameters:
            event["pathParameters"] = dict(self.path_parameters)
        if self.claims is not None:
            claims = {name: _claim(value) for name, value in self.claims.items()}
            event["requestContext"]["authorizer"] = {"jwt": {"claims": claims, "scopes": None}}
        if body is not None:
            event["body"] = body
        return event


class MalformedAnswer(Exception):
    """A function answered what is no HTTP response."""


def response_from(answer: bytes) -> Response:
    """Return the HTTP response that a function's answer stands for; raises `MalformedAnswer`.

    An answer without `statusCode` is itself the JSON body of a 200.
    """
    try:
        value = json.loads(answer)
    except ValueError as error:
        raise MalformedAnswer("it is not JSON") from error
    if not isinstance(value, dict) or "statusCode" not in value:
        return Response(json.dumps(value), 200, content_type="application/json")
    status, headers, body = value["statusCode"], value.get("headers") or {}, value.get("body") or ""
    if type(status) is not int or not 100 <= status <= 599:
        raise MalformedAnswer("statusCode is no HTTP status")
    if not isinstance(headers, dict) or not isinstance(body, str):
        raise MalformedAnswer("headers is no object or body is no string")
    response = Response(_bytes(body, is_base64=value.get("isBase64Encoded") is True), status)
    response.headers.clear()
    response.headers["Content-Length"] = str(len(response.data))
    for name, text in headers.items():
        if name.lower() != "content-length":
            response.headers[name] = str(text)
    for cookie in value.get("cookies") or []:
        response.headers.add("Set-Cookie", str(cookie))
    return response


def _bytes(body: str, *, is_base64: bool) -> bytes:
    if not is_base64:
        return body.encode()
    try:
        return base64.b64decode(body, validate=True)
    except ValueError as error:
        raise MalformedAnswer("the body is not base64") from error


def _body(body: bytes, content_type: str) -> tuple[str | None, bool]:
    if not body:
        return None, False
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type.startswith(_TEXT_TYPES) or media_type.endswith(_TEXT_SUFFIXES):
        try:
            return body.decode(), False
        except UnicodeDecodeError:
            pass
    return base64.b64encode(body).decode(), True


def _claim(value: Any) -> str:
    """Return a claim as the authorizer hands it on: always a string, a list in brackets without commas."""
    match value:
        case bool():
            return "true" if value else "false"
        case list():
            return f"[{' '.join(map(str, value))}]"
        case _:
            return str(value)
