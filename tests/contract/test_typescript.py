"""TypeScript types made of the document compile, and with them a client that uses them."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.architecture.tree import ROOT

SOURCE = ROOT / "tests" / "typescript"
FILES = ("package.json", "package-lock.json", ".npmrc", "tsconfig.json", "shop.ts", "misuse.ts")

# One process installs the packages for all of these.


class Project:
    """A copy of the TypeScript project whose packages are installed as the lock file says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in FILES:
            shutil.copy(SOURCE / name, folder)

    def run(self, *command: str) -> str:
        """Run a command that must succeed; return what it printed."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=os.environ | {"NO_COLOR": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=170,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def bin(self, name: str) -> str:
        return str(self.folder / "node_modules" / ".bin" / name)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    assert shutil.which("npm"), "npm is missing: install Node.js 20 with npm (Debian: nodejs and npm)"
    project = Project(tmp_path_factory.mktemp("typescript"))
    project.run("npm", "ci", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund")
    project.run(project.bin("openapi-typescript"), str(ROOT / "docs" / "openapi.json"), "--output", "schema.ts")
    return project


class TestTheTypes:
    def test_are_the_committed_ones(self, project: Project) -> None:
        made = (project.folder / "schema.ts").read_text()
        assert made == (SOURCE / "schema.ts").read_text(), "tests/typescript/schema.ts is stale: run `make openapi`"

    def test_compile_with_a_client_that_uses_them_and_refuse_one_that_misuses_them(self, project: Project) -> None:
        assert project.run(project.bin("tsc")) == ""


class TestTheLockFile:
    def test_names_no_registry(self) -> None:
        lock = (SOURCE / "package-lock.json").read_text()
        assert '"resolved"' not in lock
        assert "integrity" in lock
        assert "omit-lockfile-registry-resolved=true" in (SOURCE / ".npmrc").read_text().splitlines()
