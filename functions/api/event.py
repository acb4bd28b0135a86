"""The HTTP request inside a Lambda event (API Gateway HTTP API, payload format 2.0)."""

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from api.errors import RequestMalformed

# What API Gateway makes ("JKJaXmPLvHcESHA="); anything else could break a header or a log line.
_REQUEST_ID = re.compile(r"[A-Za-z0-9+/=_.:-]{1,128}")
# AWS, "Tracing header": Root=1-5759e988-bd862e3fe1be46a994272793;Parent=…;Sampled=1
_TRACE_ROOT = re.compile(r"(?:^|;)Root=(1-[0-9a-f]{8}-[0-9a-f]{24})(?:;|$)")
_PLAIN_PATH = re.compile(r"[A-Za-z0-9/_.~-]*")
_METHOD = re.compile(r"[A-Za-z]{1,20}")


@dataclass(frozen=True)
class HttpEvent:
    """A request as it arrived. Header names are lower case; `path` is percent-encoded and has no stage in it."""

    method: str
    path: str
    query_string: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    claims: Mapping[str, Any] = field(repr=False)
    body: str | None = field(repr=False)
    is_base64: bool
    trace_id: str | None = None
    """X-Ray's, where the gateway says which trace the request belongs to."""


def request_id_of(event: object) -> str:
    """Return the gateway's request id, or a new one where the event has none that can be printed."""
    given = _members(_members(event).get("requestContext")).get("requestId")
    return given if isinstance(given, str) and _REQUEST_ID.fullmatch(given) else str(uuid.uuid4())


def read_event(event: object) -> HttpEvent:
    """Read an event; raises `RequestMalformed` for anything but payload format 2.0."""
    members = _members(event)
    if members.get("version") != "2.0":
        raise RequestMalformed("the event is not an HTTP API event of payload format 2.0")
    context = _members(members.get("requestContext"))
    method = _members(context.get("http")).get("method")
    path = members.get("rawPath")
    query_string = members.get("rawQueryString") or ""
    body = members.get("body")
    if not isinstance(method, str) or not _METHOD.fullmatch(method):
        raise RequestMalformed("the event has no method")
    if not isinstance(path, str) or not isinstance(query_string, str):
        raise RequestMalformed("the event has no path")
    if body is not None and not isinstance(body, str):
        raise RequestMalformed("the body is not text")
    headers = _headers(members.get("headers"))
    return HttpEvent(
        method=method.upper(),
        path=_canonical(_without_stage(path, context.get("stage"))),
        query_string=query_string,
        headers=headers,
        claims=_members(_members(_members(context.get("authorizer")).get("jwt")).get("claims")),
        body=body,
        is_base64=members.get("isBase64Encoded") is True,
        trace_id=_trace_id(headers.get("x-amzn-trace-id", "")),
    )


def _trace_id(header: str) -> str | None:
    root = _TRACE_ROOT.search(header)
    return root.group(1) if root else None


def _members(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _headers(value: object) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, text in _members(value).items():
        if isinstance(text, str):
            # The gateway joins duplicates by comma; names that differ in case are duplicates too.
            lower = name.lower()
            headers[lower] = f"{headers[lower]},{text}" if lower in headers else text
    return headers


def _without_stage(path: str, stage: object) -> str:
    """Cut a named stage off, which is in the path on the gateway's own host and not behind a custom domain."""
    if not isinstance(stage, str) or stage in {"", "$default"}:
        return path
    rest = path.removeprefix(f"/{stage}")
    return rest if rest.startswith("/") else path


def _canonical(path: str) -> str:
    """Percent-encode whatever is not plain in a segment, whether or not the gateway decoded it before.

    Routing then sees the same text in both cases, and no character that a pattern would stumble over.
    """
    if _PLAIN_PATH.fullmatch(path):
        return path
    segments = path.encode("utf-8", "surrogatepass").split(b"/")
    return "/".join(quote(unquote_to_bytes(segment), safe="") for segment in segments)
