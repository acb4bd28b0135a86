"""During a deploy, and after a rollback, an earlier release works on the tables and functions of this one."""

import json
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import errors
from psycopg.sql import SQL, Identifier

from skincare.database.migrate import migrate
from skincare.database.sql_files import Migration, migrations
from tests.architecture.tree import ROOT
from tests.support.database import TemplateDatabase
from tests.support.releases import PACKAGES, SCRIPT, recorded, unpack

MIGRATE = "import sys; from skincare.database.migrate import migrate; print(migrate(sys.argv[1]))"


class Release:
    """The code of a release, run in processes of their own."""

    def __init__(self, code: Path, script: Path) -> None:
        self._path = ":".join(str(code / package) for package in PACKAGES)
        self._script = script

    def migrate(self, owner_url: str) -> str:
        """Run this release's migrator and return the names of what it applied."""
        return self._run("-c", MIGRATE, owner_url)

    def begin(self, database_url: str) -> dict[str, Any]:
        return dict(json.loads(self._run(str(self._script), "begin", database_url).splitlines()[-1]))

    def finish(self, database_url: str, left: dict[str, Any]) -> dict[str, Any]:
        said = self._run(str(self._script), "finish", database_url, given=json.dumps(left))
        return dict(json.loads(said.splitlines()[-1]))

    def _run(self, *words: str, given: str = "") -> str:
        environment = {"PYTHONPATH": self._path, "AWS_DEFAULT_REGION": "ap-southeast-3"}
        done = subprocess.run(
            [sys.executable, "-P", *words], input=given, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
        return done.stdout.strip()


THIS = Release(ROOT, SCRIPT)
FAILS = Migration("9999_fails.sql", "SELECT 1 / 0")


def interruptions() -> Iterator[tuple[str, int]]:
    """Each earlier release with the numbers of migrations after which the migrator may have stopped."""
    names = [each.name[:4] for each in migrations()]
    for release in recorded():
        own = names.index(release) + 1
        yield from ((release, count) for count in range(own, max(len(names), own + 1)))


@pytest.fixture(scope="module", params=recorded())
def former(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Release:
    code = unpack(request.param, tmp_path_factory.mktemp("release-"))
    return Release(code, code / SCRIPT.name)


@pytest.fixture
def database(template_database: TemplateDatabase) -> Iterator[tuple[str, str]]:
    """An empty database, as its owner and as the functions reach it."""
    name = f"neighbours_{secrets.token_hex(6)}"
    template_database.admin.execute(SQL("CREATE DATABASE {}").format(Identifier(name)))
    yield template_database.server.dsn(database=name), template_database.app_url(name)
    template_database.admin.execute(SQL("DROP DATABASE {} WITH (FORCE)").format(Identifier(name)))


def stock(owner_url: str) -> None:
    with psycopg.connect(owner_url) as conn:
        conn.execute("INSERT INTO products (sku, name, price_rupiah, stock) VALUES ('SERUM', 'Serum', 150000, 100)")


def assert_all_is_done(done: dict[str, Any], owner_url: str) -> None:
    assert done["orders"] == {"paid": "paid", "cancelled": "cancelled", "late": "pending"}
    assert done["relayed"] > 0
    with psycopg.connect(owner_url) as conn:
        rows = conn.execute(
            "SELECT job_type, state, count(*) FROM jobs WHERE queue <> 'documents' GROUP BY 1, 2"
        ).fetchall()
    states = {(job_type, state): count for job_type, state, count in rows}
    assert states["send_confirmation_email", "completed"] == 4
    assert states["process_payment", "completed"] == 1
    assert states["send_payment_received_email", "completed"] == 1
    assert states["send_order_cancelled_email", "completed"] == 1
    assert [key for key in states if key[1] in {"dead_letter", "retry_waiting", "processing"}] == []


def test_this_release_finishes_what_it_began(database: tuple[str, str]) -> None:
    owner, app = database
    migrate(owner)
    stock(owner)
    assert_all_is_done(THIS.finish(app, THIS.begin(app)), owner)


class TestAnEarlierRelease:
    def test_finishes_on_the_new_schema_what_it_began_on_its_own(
        self, former: Release, database: tuple[str, str]
    ) -> None:
        owner, app = database
        former.migrate(owner)
        stock(owner)
        left = former.begin(app)
        migrate(owner)
        assert_all_is_done(former.finish(app, left), owner)

    @pytest.mark.parametrize(("former", "count"), list(interruptions()), indirect=["former"])
    def test_goes_on_between_any_two_migrations(self, former: Release, count: int, database: tuple[str, str]) -> None:
        """With its own functions: those of the new release come with the last migration, which fails here."""
        owner, app = database
        former.migrate(owner)
        stock(owner)
        left = former.begin(app)
        with pytest.raises(errors.DivisionByZero):
            migrate(owner, [*migrations()[:count], FAILS])
        assert_all_is_done(former.finish(app, left), owner)

    def test_leaves_work_that_this_one_finishes(self, former: Release, database: tuple[str, str]) -> None:
        owner, app = database
        former.migrate(owner)
        stock(owner)
        left = former.begin(app)
        migrate(owner)
        assert_all_is_done(THIS.finish(app, left), owner)

    def test_finishes_what_this_one_began(self, former: Release, database: tuple[str, str]) -> None:
        """After a rollback; its own migrator has run again and left everything as it is."""
        owner, app = database
        migrate(owner)
        stock(owner)
        assert former.migrate(owner) == "[]"
        assert_all_is_done(former.finish(app, THIS.begin(app)), owner)


def test_an_earlier_release_is_recorded_and_its_migrations_are_the_first_of_ours() -> None:
    numbers = [each.name[:4] for each in migrations()]
    assert recorded()
    assert set(recorded()) <= set(numbers)
