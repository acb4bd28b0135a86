"""Connections to PostgreSQL: few, long-lived, and replaced when they died while we slept."""

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Protocol

import psycopg
from psycopg import Connection, errors
from psycopg.pq import TransactionStatus

from skincare.database.session import Session, may_be_refused_login
from skincare.errors import TransientError

__all__ = [
    "Connection",
    "Credentials",
    "Database",
    "DatabaseUnavailable",
    "LockUnavailable",
    "StatementTooLong",
    "StaticCredentials",
]
"""Connection: for services whose caller owns the transaction."""

# How long a thread waits for one of the connections to become free.
_TURN_WITHIN_S = 10.0


class DatabaseUnavailable(TransientError):
    """PostgreSQL did not answer, or not in time. What was asked may or may not have happened."""

    def __init__(self, cause: BaseException) -> None:
        state = getattr(cause, "sqlstate", None)
        super().__init__(f"database unavailable ({type(cause).__name__}{f', SQLSTATE {state}' if state else ''})")


class StatementTooLong(DatabaseUnavailable):
    """A statement of ours took longer than `statement_timeout`; it changed nothing, and the database is well."""

    def __init__(self) -> None:
        TransientError.__init__(self, "a statement took longer than it may (statement_timeout)")


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
    """At most `max_connections` connections, used by one thread at a time, in autocommit.

    Driver errors are translated here and nowhere else: `LockUnavailable` for a lock that was not to
    be had, `StatementTooLong` for one of ours that takes too long, `DatabaseUnavailable` for everything that means "the
    database or the way to it failed".
    Errors that say something about our own data (constraints, our own SQLSTATEs) pass untouched.
    """

    def __init__(self, credentials: Credentials, *, max_connections: int = 1) -> None:
        self._credentials = credentials
        self._slots = threading.BoundedSemaphore(max_connections)
        self._lock = threading.Lock()
        self._idle: list[tuple[Session, float]] = []
        self._renewing = threading.Lock()

    @contextlib.contextmanager
    def connection(self, *, answer_within_s: float | None = None) -> Iterator[Connection]:
        """Check out a working connection; it returns to the pool usable or not at all.

        With `answer_within_s` a server that hangs is given up after so long, instead of longer than any
        statement may take. A thread that asks for a second one while it has the first may wait for itself: do not.
        """
        if not self._slots.acquire(timeout=_TURN_WITHIN_S):
            raise DatabaseUnavailable(TimeoutError())
        try:
            try:
                conn = self._take_idle() or self._connect()
            except psycopg.OperationalError as error:
                raise DatabaseUnavailable(error) from error
            try:
                with conn.with_timeout(answer_within_s) if answer_within_s else contextlib.nullcontext():
                    yield conn
            except psycopg.Error as error:
                unavailable = _translate(error, conn)
                if unavailable is None:
                    raise
                if not isinstance(error, _HARMLESS):
                    conn.close()
                raise unavailable from error
            finally:
                self._give_back(conn)
        finally:
            self._slots.release()

    def close(self) -> None:
        """Close what is idle; the database stays usable."""
        with self._lock:
            idle, self._idle = self._idle, []
        for conn, _ in idle:
            conn.close()

    def _take_idle(self) -> Session | None:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                conn, since = self._idle.pop()
            if conn.is_alive(idle_s=time.time() - since):
                return conn
            conn.close()

    def _connect(self) -> Session:
        refused = self._credentials.conninfo()
        try:
            return Session.open(refused)
        except psycopg.OperationalError as error:
            if not may_be_refused_login(error):
                raise
            with self._renewing:
                # Whoever was refused at the same time may have been here before us.
                renewed = self._credentials.conninfo()
                if renewed == refused:
                    renewed = self._credentials.conninfo(fresh=True)
            if renewed == refused:
                raise
        return Session.open(renewed)

    def _give_back(self, conn: Session) -> None:
        if not conn.closed and conn.info.transaction_status != TransactionStatus.IDLE:
            # A handler left a transaction open: what it did not commit must not reach the next one.
            with contextlib.suppress(psycopg.Error):
                conn.rollback()
        if conn.info.transaction_status != TransactionStatus.IDLE:
            conn.close()
            return
        with self._lock:
            # The wall clock, because a monotonic one may stand still while the container is frozen.
            self._idle.append((conn, time.time()))


# After these the session is as good as before.
_HARMLESS = (errors.LockNotAvailable, errors.DeadlockDetected, errors.SerializationFailure, errors.QueryCanceled)


def _translate(error: psycopg.Error, conn: Connection) -> TransientError | None:
    match error:
        case errors.LockNotAvailable() | errors.DeadlockDetected() | errors.SerializationFailure():
            return LockUnavailable()
        case errors.QueryCanceled():
            return StatementTooLong()
        case psycopg.OperationalError() | psycopg.InterfaceError() | errors.ReadOnlySqlTransaction():
            # ReadOnlySqlTransaction: after a failover the old writer refuses writes; a new session finds the new one.
            return DatabaseUnavailable(error)
        case _ if conn.closed or error.diag.severity_nonlocalized in {"FATAL", "PANIC"}:
            # The server hung up or is about to: idle_in_transaction_session_timeout is an InternalError.
            return DatabaseUnavailable(error)
        case _:
            return None
