"""Fixtures of the tests that use PostgreSQL."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import Connection

from skincare.app import App
from tests.http import open_app
from tests.moto_server import aws, aws_endpoint

__all__ = ["aws", "aws_endpoint"]


@pytest.fixture
def conn(database_url: str) -> Iterator[Connection]:
    """A connection of the role `app`, in autocommit."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def app(database_url: str) -> Iterator[App]:
    """An App whose publisher only keeps what it is given."""
    with open_app(database_url) as opened:
        yield opened
