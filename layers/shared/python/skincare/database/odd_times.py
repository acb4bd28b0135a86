"""Times that Python has no value for: read as the first or last day that it has, and never an error.

PostgreSQL knows infinity, years before Christ and years after 9999. One such value, which nothing of ours writes, must
not make unreadable whatever is read along with it: the relay's whole take, the on-call engineer's whole list.
"""

from datetime import UTC, datetime

import psycopg
from psycopg import Connection
from psycopg.abc import AdaptContext, Buffer
from psycopg.adapt import Loader
from psycopg.pq import Format

# A day from the ends, so that every time zone can show them.
EARLIEST = datetime(1, 1, 2, tzinfo=UTC)
LATEST = datetime(9999, 12, 30, tzinfo=UTC)


class TolerantTimes(Loader):
    """Loads a timestamptz."""

    def __init__(self, oid: int, context: AdaptContext | None = None) -> None:
        super().__init__(oid, context)
        usual = psycopg.adapters.get_loader(oid, Format.TEXT)
        assert usual is not None  # noqa: S101  psycopg knows the type
        self._usual = usual(oid, context)

    def load(self, data: Buffer) -> datetime:
        try:
            found: datetime = self._usual.load(data)
        except psycopg.DataError:
            text = bytes(data)
            return EARLIEST if text.startswith(b"-") or text.endswith(b"BC") else LATEST
        return found


def tolerate_odd_times(conn: Connection) -> None:
    """Let a connection read every time that PostgreSQL can hold."""
    conn.adapters.register_loader("timestamptz", TolerantTimes)
