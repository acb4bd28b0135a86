"""An AWS service that speaks the AWS JSON protocol 1.0, called without the SDK.

For calls that a customer waits for: signing and sending them so takes a tenth of the SDK's time (decision 0022).
It leaves out what these need not: retries, proxies, redirects, and looking for credentials.
Source: "AWS JSON 1.0 protocol" in the Smithy documentation.
"""

import http.client
import json
import select
import ssl
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache

from skincare.adapters.sigv4 import signed_headers
from skincare.config import AwsKeys

LONGEST_ANSWER = 262_144
"""Bytes; SQS answers ten entries with three thousand."""


@dataclass(frozen=True)
class Timeouts:
    """How long one call may wait: for the connection, and then for each part of the answer."""

    connect: timedelta
    read: timedelta


@dataclass(frozen=True)
class Origin:
    """Where a service is; `scheme` is http or https."""

    scheme: str
    host: str
    """With its port, where that is not the usual one."""
    service: str
    region: str


@dataclass(frozen=True)
class Answer:
    """A complete answer, whatever its status."""

    status: int
    headers: http.client.HTTPMessage = field(repr=False)
    body: bytes = field(repr=False)


class NoAnswer(Exception):
    """There was none, or only a part of one: what was sent may have been acted upon. `code` is one of botocore's."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class JsonApi:
    """Calls one service, each time once. Safe to use from many threads.

    A connection is kept after its answer and belongs to one call at a time, so there are as many as there
    were calls at once. One that the service closed meanwhile is noticed before it is used. If it closes in that
    very moment, before a byte of the answer, the call is sent again on a new one, and what is sent may
    be acted upon twice: this is for operations that bear that, as sending a message does.
    """

    def __init__(self, origin: Origin, *, keys: AwsKeys, timeouts: Timeouts) -> None:
        self.origin = origin
        self._keys = keys
        self._timeouts = timeouts
        self._kept: list[http.client.HTTPConnection] = []
        weakref.finalize(self, _close_all, self._kept)

    def post(self, operation: str, request: object) -> Answer:
        """Call an operation, named like "AmazonSQS.SendMessageBatch". Raises `NoAnswer`."""
        body = json.dumps(request).encode()
        headers = signed_headers(
            {
                "content-type": "application/x-amz-json-1.0",
                "host": self.origin.host,
                "x-amz-target": operation,
                # SQS then tells the code of an error by the name it had before there was this protocol.
                "x-amzn-query-mode": "true",
            },
            body,
            service=self.origin.service,
            region=self.origin.region,
            keys=self._keys,
            now=datetime.now(UTC),
        )
        kept = self._take_kept()
        if kept is not None:
            try:
                return self._exchange(kept, headers, body)
            except _ConnectionClosed:
                pass
        try:
            return self._exchange(self._connect(), headers, body)
        except _ConnectionClosed:
            code = "ConnectionClosedError"
        raise NoAnswer(code)

    def _take_kept(self) -> http.client.HTTPConnection | None:
        while True:
            try:
                connection = self._kept.pop()
            except IndexError:
                return None
            if _is_silent(connection):
                return connection
            connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        timeout = self._timeouts.connect.total_seconds()
        if self.origin.scheme == "https":
            connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                self.origin.host, timeout=timeout, context=_tls()
            )
        else:
            connection = http.client.HTTPConnection(self.origin.host, timeout=timeout)
        try:
            connection.connect()
        except TimeoutError:
            code = "ConnectTimeoutError"
        except ssl.SSLError:
            code = "SSLError"
        except OSError:
            code = "EndpointConnectionError"
        else:
            connection.sock.settimeout(self._timeouts.read.total_seconds())
            return connection
        connection.close()
        raise NoAnswer(code)

    def _exchange(self, connection: http.client.HTTPConnection, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send, read all of the answer, and keep the connection if it can be used again."""
        done = False
        try:
            try:
                # In one piece, which http.client's own `request` sends in two packets and with a third more CPU.
                connection.send(_request(headers, body))
                response = http.client.HTTPResponse(connection.sock, method="POST")
                response.begin()
            except (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError):
                raise _ConnectionClosed from None
            content = response.read(LONGEST_ANSWER + 1)
            # A read of so many bytes does not complain when there are fewer than was announced.
            if len(content) <= LONGEST_ANSWER and not response.length:
                done = not response.will_close
                return Answer(response.status, response.headers, content)
            code = "ResponseStreamingError"
        except TimeoutError:
            code = "ReadTimeoutError"
        except (OSError, http.client.HTTPException):
            code = "ResponseStreamingError"
        except ValueError:
            # A key or region that no header can hold.
            code = "InvalidHeader"
        finally:
            if done:
                self._kept.append(connection)
            else:
                connection.close()
        raise NoAnswer(code)


def _request(headers: Mapping[str, str], body: bytes) -> bytes:
    """Return the bytes of a POST to `/`; raises `ValueError` for a header that would become two."""
    values = {**headers, "accept-encoding": "identity", "content-length": str(len(body))}
    if any("\r" in value or "\n" in value for value in values.values()):
        raise ValueError("a header has a line break")
    head = "".join(f"{name}: {value}\r\n" for name, value in values.items())
    return f"POST / HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body


class _ConnectionClosed(Exception):
    """The service closed the connection before a byte of its answer."""


def _is_silent(connection: http.client.HTTPConnection) -> bool:
    """Tell whether nothing came on an idle connection: an end, or anything else, makes it useless."""
    poll = select.poll()
    poll.register(connection.sock, select.POLLIN)
    return not poll.poll(0)


def _close_all(connections: list[http.client.HTTPConnection]) -> None:
    while connections:
        connections.pop().close()


@cache
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()
