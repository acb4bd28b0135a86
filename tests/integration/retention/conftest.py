"""The owner's connection, for years that pass."""

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import Connection


@pytest.fixture
def owner(owner_url: str) -> Iterator[Connection]:
    with psycopg.connect(owner_url, autocommit=True) as connection:
        yield connection
