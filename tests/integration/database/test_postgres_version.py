"""The tests run on the PostgreSQL that was asked for: the local system's (18) or a deployment's (17)."""

import pytest
from psycopg import Connection


def test_the_server_is_the_one_that_was_asked_for(conn: Connection, pytestconfig: pytest.Config) -> None:
    assert str(conn.info.server_version // 10_000) == pytestconfig.getoption("postgres")
