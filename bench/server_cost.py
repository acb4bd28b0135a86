"""What statements cost the server: CPU time of the sessions that ran them, bytes of WAL, and how updates were made."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from psycopg import Connection

from bench.environment import NotMeasured

_NS_PER_US = 1000


@dataclass(frozen=True)
class Cost:
    """What was used up between two looks: CPU in µs, WAL in bytes."""

    cpu_us: float
    wal_bytes: float

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.cpu_us + other.cpu_us, self.wal_bytes + other.wal_bytes)

    def per(self, number: int) -> "Cost":
        """Return the share of each of `number` calls."""
        return Cost(self.cpu_us / number, self.wal_bytes / number)


class ServerCost:
    """Counts from its making on what the server spends on these sessions, and what all of them write to the WAL.

    Raises `NotMeasured` where the kernel does not say what a process has used.
    """

    def __init__(self, owner: Connection, sessions: Sequence[Connection]) -> None:
        self._owner = owner
        self._backends = [session.info.backend_pid for session in sessions]
        self._cpu_ns, self._wal = self._now()

    def lap(self) -> Cost:
        """Return the cost since the last lap or the making, and begin the next lap."""
        cpu_ns, wal = self._now()
        cost = Cost((cpu_ns - self._cpu_ns) / _NS_PER_US, wal - self._wal)
        self._cpu_ns, self._wal = cpu_ns, wal
        return cost

    def _now(self) -> tuple[int, int]:
        row = self._owner.execute("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint").fetchone()
        assert row is not None
        return sum(map(_cpu_ns, self._backends)), row[0]


def _cpu_ns(pid: int) -> int:
    """Return the nanoseconds that a process has run; its ticks of 10 ms are too coarse."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])
    except (OSError, ValueError, IndexError) as error:
        raise NotMeasured("the kernel does not say for how long a process ran (/proc/PID/schedstat)") from error


def never_vacuumed(owner: Connection) -> None:
    """Switch autovacuum off for all tables, so that it neither helps nor hinders in the middle of a measurement."""
    tables = owner.execute("SELECT format('%I', relname) FROM pg_stat_user_tables").fetchall()
    for (table,) in tables:
        owner.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = off)".encode())


def hot_share(owner: Connection, table: str, session: Connection) -> float:
    """Return which share of all updates of a table needed no index entry; the session's last ones are counted too."""
    session.execute("SELECT pg_stat_force_next_flush()")
    session.execute("SELECT 1")
    row = owner.execute(
        "SELECT n_tup_hot_upd, n_tup_upd FROM pg_stat_user_tables WHERE relname = %(table)s", {"table": table}
    ).fetchone()
    if row is None or row[1] == 0:
        raise LookupError(f"no update of {table} was counted")
    return float(row[0] / row[1])
