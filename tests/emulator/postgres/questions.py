"""What tests of the launcher ask a server."""

import os
from typing import Any

import psycopg
import pytest

from emulator.postgres import PostgresFailed, PostgresServer

DEADLINE_S = 20


def ask(dsn: str, statement: str) -> Any:
    with psycopg.connect(dsn, autocommit=True) as conn:
        row = conn.execute(statement.encode()).fetchone()
        return row and row[0]


def run(dsn: str, statement: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as conn:
        conn.execute(statement.encode())


def exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def failure_of_start(server: PostgresServer) -> str:
    with pytest.raises(PostgresFailed) as failure:
        server.start()
    return str(failure.value)
