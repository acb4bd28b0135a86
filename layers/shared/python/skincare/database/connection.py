"""Connections to PostgreSQL: few, long-lived, and replaced when they died while we slept."""

import contextlib
import select
import threading
import time
from collections.abc import Iterator
from typing import Any, Protocol

import psycopg
from psycopg import Connection, errors
from psycopg.pq import TransactionStatus

from skincare.errors import TransientError

_CONNECT_OPTIONS: dict[str, Any] = {
    "autocommit": True,
    # A named prepared statement pins the connection behind RDS Proxy.
    "prepare_threshold": None,
    "connect_timeout": 2,
    # Milliseconds that sent data may stay unacknowledged: a peer that vanished is noticed.
    "tcp_user_timeout": 5000,
    "application_name": "skincare",
}

# A connection that nobody used for longer is asked before it is trusted.
_PING_AFTER_S = 60.0


class DatabaseUnavailable(TransientError):
    """PostgreSQL did not answer, or not in time. What was asked may or may not have happened."""

    def __init__(self, cause: BaseException) -> None:
        state = getattr(cause, "sqlstate", None)
        super().__init__(f"database unavailable ({type(cause).__name__}{f', SQLSTATE {state}' if state else ''})")


class LockUnavailable(TransientError):
    """Somebody else held a row longer than `lock_timeout`; nothing was written."""

    def __init__(self) -> None:
        super().__init__("a row stayed locked by somebody else")


class Credentials(Protocol):
    """Where the connection string comes from. `fresh` asks for it anew instead of from a cache."""

    def conninfo(self, *, fresh: bool = False) -> str: ...


class StaticCredentials:
    """A connection string that never changes: the local system and the tests."""

    def __init__(self, conninfo: str) -> None:
        self._conninfo = conninfo

    def conninfo(self, *, fresh: bool = False) -> str:  # noqa: ARG002  the port's shape
        return self._conninfo


class Database:
    """At most `max_connections` connections, lent to one thread at a time, in autocommit.

    Driver errors are translated here and nowhere else: `LockUnavailable` for a lock that was not to
    be had, `DatabaseUnavailable` for everything that means "the database or the way to it failed".
    Errors that say something about our own data (constraints, our own SQLSTATEs) pass untouched.
    """

    def __init__(self, credentials: Credentials, *, max_connections: int = 1) -> None:
        self._credentials = credentials
        self._slots = threading.BoundedSemaphore(max_connections)
        self._lock = threading.Lock()
        self._idle: list[tuple[Connection, float]] = []

    @contextlib.contextmanager
    def connection(self) -> Iterator[Connection]:
        """Lend a working connection; it comes back usable or not at all."""
        with self._slots:
            try:
                conn = self._take_idle() or self._connect()
            except psycopg.OperationalError as error:
                raise DatabaseUnavailable(error) from error
            try:
                yield conn
            except psycopg.Error as error:
                unavailable = _translate(error)
                if unavailable is None:
                    raise
                if not isinstance(unavailable, LockUnavailable):
                    conn.close()
                raise unavailable from error
            finally:
                self._give_back(conn)

    def close(self) -> None:
        """Close what is idle; the database stays usable."""
        with self._lock:
            idle, self._idle = self._idle, []
        for conn, _ in idle:
            conn.close()

    def _take_idle(self) -> Connection | None:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                conn, since = self._idle.pop()
            if _is_alive(conn, idle_s=time.monotonic() - since):
                return conn
            conn.close()

    def _connect(self) -> Connection:
        try:
            return psycopg.connect(self._credentials.conninfo(), **_CONNECT_OPTIONS)
        except psycopg.OperationalError as error:
            # While connecting, psycopg leaves sqlstate empty; the server's code is in its message only
            # for password failures, which is the one case where other credentials can help.
            if not _is_refused_login(error):
                raise
            return psycopg.connect(self._credentials.conninfo(fresh=True), **_CONNECT_OPTIONS)

    def _give_back(self, conn: Connection) -> None:
        if not conn.closed and conn.info.transaction_status != TransactionStatus.IDLE:
            # A handler left a transaction open: what it did not commit must not reach the next one.
            with contextlib.suppress(psycopg.Error):
                conn.rollback()
        if conn.closed or conn.info.transaction_status != TransactionStatus.IDLE:
            conn.close()
            return
        with self._lock:
            self._idle.append((conn, time.monotonic()))


def _is_alive(conn: Connection, *, idle_s: float) -> bool:
    """Tell whether a connection can be trusted, without a round trip unless it slept long.

    An idle server says nothing; readable bytes are its farewell (or a parameter change, which
    `consume_input` takes in).
    """
    if conn.closed:
        return False
    try:
        poll = select.poll()
        poll.register(conn.fileno(), select.POLLIN | select.POLLHUP | select.POLLERR)
        if poll.poll(0):
            conn.pgconn.consume_input()
            if poll.poll(0) or conn.broken:
                return False
        if idle_s > _PING_AFTER_S:
            conn.execute("SELECT 1")
    except (psycopg.Error, OSError):
        return False
    return not conn.broken


def _is_refused_login(error: psycopg.OperationalError) -> bool:
    if error.sqlstate is not None:
        return error.sqlstate in {"28P01", "28000"}
    text = str(error)
    return "password authentication failed" in text or "PAM authentication failed" in text


def _translate(error: psycopg.Error) -> TransientError | None:
    match error:
        case errors.LockNotAvailable() | errors.DeadlockDetected() | errors.SerializationFailure():
            return LockUnavailable()
        case psycopg.OperationalError() | psycopg.InterfaceError() | errors.ReadOnlySqlTransaction():
            # Read-only: after a failover the old writer refuses writes; a new connection finds the new one.
            return DatabaseUnavailable(error)
        case _:
            return None
