"""Connections to a payment gateway that are cut off at the deadline, however slowly bytes still come."""

import contextlib
import socket
import threading
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from skincare.payments.deadline import seconds_left
from skincare.payments.errors import GatewayUnavailable

if TYPE_CHECKING:
    from urllib3 import PoolManager

CONNECT_S = 1.0
READ_S = 3.0
"""For each part of an answer. A gateway that sends a byte now and then is stopped by the deadline."""

_calling = threading.local()
"""What cuts off the call that a thread makes."""


class Connections:
    """Sends to one gateway, each request once. Safe to use from many threads."""

    def __init__(self, gateway: str, *, longest_answer: int) -> None:
        self._gateway = gateway
        self._longest_answer = longest_answer
        self._lock = threading.Lock()
        self._pool: PoolManager | None = None

    def send(self, method: str, url: str, body: bytes | None, headers: Mapping[str, str]) -> tuple[int, bytes]:
        """Return status and body of the answer; raises `GatewayUnavailable`, at the latest at the deadline."""
        from urllib3.exceptions import HTTPError

        left = seconds_left()
        if left <= 0:
            raise GatewayUnavailable(self._gateway, "there is no time left to ask it")
        cut = _Cut()
        # Nothing of urllib3 limits a whole call: its timeouts begin anew with each byte.
        timer = threading.Timer(min(left, threading.TIMEOUT_MAX), cut)
        timer.daemon = True
        timer.start()
        _calling.cut = cut
        try:
            response = self._pooled().request(method, url, body=body, headers=headers, preload_content=False)
            try:
                content = response.read(self._longest_answer + 1, decode_content=True)
            finally:
                # One that was read to its end went back to the pool.
                response.close()
        except HTTPError as error:
            # Its message may quote the request.
            raise GatewayUnavailable(self._gateway, "Deadline" if cut.done else type(error).__name__) from None
        finally:
            timer.cancel()
            _calling.cut = None
        if cut.done:
            # What ends with its connection looks whole when that is cut off.
            raise GatewayUnavailable(self._gateway, "Deadline")
        if len(content) > self._longest_answer:
            raise GatewayUnavailable(self._gateway, "its answer is too long")
        return response.status, content

    def _pooled(self) -> "PoolManager":
        # Loaded here for the cold start.
        from urllib3 import PoolManager, Timeout

        with self._lock:
            if self._pool is None:
                # Certificates are verified by default. A payment that is asked for twice is two payments: no retries.
                # A redirect would take the key to whoever the answer names.
                self._pool = PoolManager(timeout=Timeout(connect=CONNECT_S, read=READ_S), retries=False)
                self._pool.pool_classes_by_scheme = _pool_classes()
            return self._pool


class _Cut:
    """Ends the connection that a call uses, from another thread."""

    def __init__(self) -> None:
        self.done = False
        self._connection: Any = None

    def uses(self, connection: Any) -> None:
        self._connection = connection

    def __call__(self) -> None:
        self.done = True
        lever = getattr(self._connection, "lever", None)
        if lever is not None:
            with contextlib.suppress(OSError):
                lever.shutdown(socket.SHUT_RDWR)


@cache
def _pool_classes() -> dict[str, Any]:
    """Return urllib3's pools with connections that can be cut off."""
    from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
    from urllib3.connection import HTTPConnection, HTTPSConnection

    class Plain(_Lever, HTTPConnection):
        pass

    class Secure(_Lever, HTTPSConnection):
        pass

    class PlainPool(HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(HTTPSConnectionPool):
        ConnectionCls = Secure

    return {"http": PlainPool, "https": SecurePool}


class _Lever:
    """What a connection needs to be cut off by another thread at any time.

    `lever` is a second handle of its socket: while TLS is being agreed upon, nobody else can reach the first.
    """

    lever: socket.socket | None = None

    def _new_conn(self) -> socket.socket:
        sock: socket.socket = super()._new_conn()  # type: ignore[misc]
        self.lever = sock.dup()
        return sock

    def connect(self) -> None:
        _calling.cut.uses(self)
        super().connect()  # type: ignore[misc]
        if _calling.cut.done:
            # It passed before there was anything to cut off.
            self.close()
            raise TimeoutError

    def request(self, *args: Any, **options: Any) -> None:
        _calling.cut.uses(self)
        super().request(*args, **options)  # type: ignore[misc]

    def close(self) -> None:
        super().close()  # type: ignore[misc]
        if self.lever is not None:
            self.lever.close()
            self.lever = None
