"""Fixtures of the tests that use PostgreSQL."""

from collections.abc import Iterator
from secrets import token_hex

import psycopg
import pytest
from psycopg import Connection
from psycopg.pq import TransactionStatus
from psycopg.sql import SQL, Identifier

from emulator.postgres import PostgresServer
from skincare.app import App
from tests.support.aws import aws, aws_endpoint
from tests.support.http import open_app
from tests.support.shop import stock_differs

__all__ = ["aws", "aws_endpoint"]


@pytest.fixture
def conn(database_url: str) -> Iterator[Connection]:
    """A connection of the role `app`, in autocommit. Whatever a test did, stock is the sum of its movements."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection
        if not connection.closed and connection.info.transaction_status == TransactionStatus.IDLE:
            assert not stock_differs(connection)


@pytest.fixture
def app(database_url: str) -> Iterator[App]:
    """An App whose publisher only keeps what it is given."""
    with open_app(database_url) as opened:
        yield opened


@pytest.fixture
def empty(postgres: PostgresServer) -> Iterator[str]:
    """The owner's URL of a database that nothing was done to."""
    name = f"empty_{token_hex(6)}"
    with psycopg.connect(postgres.dsn(), autocommit=True) as admin:
        admin.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
        try:
            yield postgres.dsn(database=name)
        finally:
            admin.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))
