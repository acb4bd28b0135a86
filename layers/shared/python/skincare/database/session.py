"""One session with PostgreSQL: how it is opened, how long it waits for an answer, and whether it still lives."""

import contextlib
import select
from collections.abc import Iterator
from typing import Any, Self

import psycopg
from psycopg import Connection
from psycopg.abc import RV, PQGen

from skincare.database.odd_times import tolerate_odd_times
from skincare.errors import ConfigurationError

_OPTIONS: dict[str, Any] = {
    "autocommit": True,
    # A named prepared statement pins the connection behind RDS Proxy.
    "prepare_threshold": None,
    "connect_timeout": 2,
    # Milliseconds that sent data may stay unacknowledged: a peer that vanished is noticed.
    "tcp_user_timeout": 2000,
    "application_name": "skincare",
}

# Longer than the role's statement_timeout: only a server that hangs without hanging up is given up.
_ANSWER_WITHIN_S = 6.0

# A session that nobody used for longer is asked before it is trusted, and has this long to answer:
# together with a new session's two seconds that is the time in which an outage must be noticed.
_PING_AFTER_S = 60.0
_PING_WITHIN_S = 0.5


class Session(Connection):
    """A connection in autocommit that does not wait for an answer for ever: then it raises OperationalError."""

    _timeout_s = _ANSWER_WITHIN_S

    @contextlib.contextmanager
    def with_timeout(self, answer_within_s: float) -> Iterator[None]:
        """Give each answer less time than usual: for who answers somebody that waits no longer either."""
        self._timeout_s = answer_within_s
        try:
            yield
        finally:
            self._timeout_s = _ANSWER_WITHIN_S

    @classmethod
    def open(cls, conninfo: str) -> Self:
        """Log in. Raises psycopg's OperationalError, and `ConfigurationError` for a malformed `conninfo`."""
        try:
            session = cls.connect(conninfo, **_OPTIONS)
        except (psycopg.ProgrammingError, UnicodeError):
            # psycopg quotes what it cannot read, password included.
            raise ConfigurationError("DATABASE_URL is not a connection string that PostgreSQL understands") from None
        tolerate_odd_times(session)
        return session

    def is_alive(self, *, idle_s: float) -> bool:
        """Tell whether the session can be trusted, without a round trip unless it slept long.

        An idle server says nothing: readable bytes are its farewell, even while its hanging up is on the way.
        News such as a notice look the same, and cost a new session.
        """
        if self.closed:
            return False
        try:
            poll = select.poll()
            poll.register(self.fileno(), select.POLLIN | select.POLLHUP | select.POLLERR)
            if poll.poll(0):
                return False
            # A clock that was set back says nothing about the time that passed.
            if not 0 <= idle_s <= _PING_AFTER_S:
                self._timeout_s = _PING_WITHIN_S
                self.execute("SELECT 1")
                self._timeout_s = _ANSWER_WITHIN_S
        except (psycopg.Error, OSError):
            return False
        return not self.closed

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        """Run one exchange with the server; everything that psycopg sends goes through here."""
        return super().wait(gen, interval, self._timeout_s if timeout is None else timeout)


def may_be_refused_login(error: psycopg.OperationalError) -> bool:
    """Tell whether a server hung up on us after it had asked for our password.

    psycopg knows no SQLSTATE (28P01) of a session that was never made, and the message is in the server's
    language. So a server with too many connections looks the same: that costs one look at the secret.
    """
    return error.pgconn is not None and error.pgconn.used_password
