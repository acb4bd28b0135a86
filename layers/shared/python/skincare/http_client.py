"""HTTP/1.1 to one origin: each request once, within a time for all of it, over connections that are kept.

Certificates are verified. There are no redirects, retries, proxies, cookies or compression.
"""

import http.client
import io
import math
import re
import select
import socket
import ssl
import time
import weakref
from collections.abc import Buffer, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from urllib.parse import urlsplit

_LINE_BREAK = re.compile(r"[\r\n\0]")


@dataclass(frozen=True)
class Timeouts:
    """How long one call may wait: for the connection, and then for each part of the answer."""

    connect: timedelta
    read: timedelta


@dataclass(frozen=True)
class Answer:
    """A complete answer, whatever its status."""

    status: int
    headers: http.client.HTTPMessage = field(repr=False)
    body: bytes = field(repr=False)


class NoAnswer(Exception):
    """There was none, or only a part of one: what was sent may have been acted upon.

    `code` quotes nothing of what was sent: it is one of botocore's, "Deadline" or "AnswerTooLong".
    """

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class HttpClient:
    """Calls one origin. Safe to use from many threads.

    A connection is kept after its answer and belongs to one call at a time, so there are as many as there were calls
    at once. One that the other side closed meanwhile is noticed before it is used.
    """

    def __init__(self, origin: str, *, timeouts: Timeouts, longest_answer: int, resends: bool = False) -> None:
        """`origin` is like "https://api.example.com"; an answer has at most so many bytes.

        `resends`: where a kept connection is closed in the moment of its use, before a byte of the answer, the request
        is sent again on a new one, and may be acted upon twice.
        """
        parts = urlsplit(origin)
        self._is_secure = parts.scheme == "https"
        self._authority, self._host = parts.netloc, parts.hostname or ""
        self._port = parts.port or (http.client.HTTPS_PORT if self._is_secure else http.client.HTTP_PORT)
        self._timeouts = timeouts
        self._longest_answer = longest_answer
        self._resends = resends
        self._kept: list[_Connection] = []
        weakref.finalize(self, _close_all, self._kept)

    def send(
        self, method: str, target: str, body: bytes | None, headers: Mapping[str, str], *, within: float = math.inf
    ) -> Answer:
        """Return the answer to a request; raises `NoAnswer`, at the latest after `within` seconds.

        Only the look-up of the host's addresses cannot be cut short.
        """
        ends_at = time.monotonic() + within
        try:
            request = _request(method, target, {"host": self._authority, **headers}, body)
        except ValueError:
            request = None
        if request is None:
            raise NoAnswer("InvalidHeader")
        kept = self._take_kept()
        if kept is not None:
            try:
                return self._exchange(kept, method, request, ends_at)
            except _ConnectionClosed:
                if not self._resends:
                    raise
        return self._exchange(self._connect(ends_at), method, request, ends_at)

    def _take_kept(self) -> "_Connection | None":
        while True:
            try:
                connection = self._kept.pop()
            except IndexError:
                return None
            if connection.is_silent():
                return connection
            connection.close()

    def _connect(self, ends_at: float) -> "_Connection":
        timeout = self._timeouts.connect.total_seconds()
        try:
            sock = _open(self._host, self._port, timeout, ends_at)
            try:
                if self._is_secure:
                    sock.settimeout(_wait(timeout, ends_at))
                    sock = _tls().wrap_socket(sock, server_hostname=self._host)
                return _Connection(sock, self._timeouts.read.total_seconds())
            except BaseException:
                sock.close()
                raise
        except TimeoutError:
            code = "Deadline" if time.monotonic() >= ends_at else "ConnectTimeoutError"
        except ssl.SSLError:
            code = "SSLError"
        except (OSError, UnicodeError):
            # The latter of a name that the system does not even look up.
            code = "EndpointConnectionError"
        raise NoAnswer(code)

    def _exchange(self, connection: "_Connection", method: str, request: bytes, ends_at: float) -> Answer:
        """Send, read all of the answer, and keep the connection if it can be used again."""
        connection.ends_at = ends_at
        is_reusable = False
        try:
            # It uses of a socket what our connection has.
            with http.client.HTTPResponse(connection, method=method) as response:  # type: ignore[arg-type]
                try:
                    connection.send(request)
                    response.begin()
                except (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError):
                    raise _ConnectionClosed from None
                content = response.read(self._longest_answer + 1)
            # A read of so many bytes does not complain when there are fewer than was announced.
            if len(content) <= self._longest_answer and not response.length:
                is_reusable = not response.will_close
                return Answer(response.status, response.headers, content)
            code = "ResponseStreamingError" if len(content) <= self._longest_answer else "AnswerTooLong"
        except TimeoutError:
            code = "Deadline" if time.monotonic() >= ends_at else "ReadTimeoutError"
        except (OSError, http.client.HTTPException):
            code = "ResponseStreamingError"
        finally:
            if is_reusable:
                self._kept.append(connection)
            else:
                connection.close()
        raise NoAnswer(code)


def _request(method: str, target: str, headers: Mapping[str, str], body: bytes | None) -> bytes:
    """Return a request in one piece, which http.client sends in two packets and with a third more CPU.

    Raises `ValueError` for what a header or the line above them cannot hold.
    """
    fields = {**headers, "accept-encoding": "identity"}
    if body is not None:
        fields["content-length"] = str(len(body))
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    if " " in target or any(_LINE_BREAK.search(line) for line in lines):
        raise ValueError("a space or a line break stands where it would end something")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b"")


class _ConnectionClosed(NoAnswer):
    """The other side closed the connection before a byte of its answer."""

    def __init__(self) -> None:
        super().__init__("ConnectionClosedError")


class _Connection:
    """A connection that stands, with what http.client uses of a socket; no wait goes beyond the end of the call."""

    def __init__(self, sock: socket.socket, timeout: float) -> None:
        """`timeout` is for one wait, in seconds."""
        self._sock = sock
        self._timeout = timeout
        self.ends_at = math.inf
        self.close = sock.close

    def prepare(self) -> None:
        """Limit the wait that follows; raises `TimeoutError` where there is no time for one."""
        self._sock.settimeout(_wait(self._timeout, self.ends_at))

    def send(self, content: bytes) -> None:
        left = memoryview(content)
        while left:
            self.prepare()
            left = left[self._sock.send(left) :]

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_TimedReader(self, self._sock.makefile("rb", buffering=0)))

    def is_silent(self) -> bool:
        """Tell whether nothing came while it was idle: an end, or anything else, makes it useless."""
        poll = select.poll()
        poll.register(self._sock, select.POLLIN)
        return not poll.poll(0)


class _TimedReader(io.RawIOBase):
    def __init__(self, connection: _Connection, raw: socket.SocketIO) -> None:
        self._connection = connection
        self._raw = raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer, /) -> int | None:
        self._connection.prepare()
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


def _wait(timeout: float, ends_at: float) -> float:
    """Return how many seconds may be waited; raises `TimeoutError` where there are none."""
    seconds = min(timeout, ends_at - time.monotonic())
    if seconds <= 0:
        raise TimeoutError
    return seconds


def _open(host: str, port: int, timeout: float, ends_at: float) -> socket.socket:
    """Connect to the first address that lets us: each has its timeout, and all of them the time of the call."""
    failure: OSError | None = None
    for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(_wait(timeout, ends_at))
            sock.connect(address)
            # The last part of a long body does not wait for the parts before it.
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            sock.close()
            failure = error
        else:
            return sock
    raise failure or OSError


def _close_all(connections: list[_Connection]) -> None:
    while connections:
        connections.pop().close()


@cache
def _tls() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
