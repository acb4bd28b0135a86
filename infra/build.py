"""How code becomes what AWS gets: the layer and the functions' folders, built here without a container."""

import shutil
import subprocess
import sys
import tempfile
import weakref
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import uv
from aws_cdk import aws_lambda as lambda_

ROOT = Path(__file__).resolve().parents[1]

type Architecture = Literal["arm64", "x86_64"]

# Amazon Linux 2023, on which the runtime python3.13 stands, has glibc 2.34. An older tag makes uv fall back
# to older releases without saying so.
_PLATFORMS: dict[Architecture, str] = {"arm64": "aarch64-manylinux_2_34", "x86_64": "x86_64-manylinux_2_34"}

_FUNCTIONS = ROOT / "functions"
_SHARED = ROOT / "layers" / "shared"
_UNWANTED = ["**/__pycache__", "**/*.pyc"]
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc")


@dataclass(frozen=True)
class Build:
    """What is built, and for what. `code=False` leaves out packages and bytecode: enough for templates."""

    architecture: Architecture
    code: bool = True
    release: str | None = None

    @property
    def lambda_architecture(self) -> lambda_.Architecture:
        return lambda_.Architecture.ARM_64 if self.architecture == "arm64" else lambda_.Architecture.X86_64

    def function_code(self, package: str, packages: str | None = None) -> lambda_.Code:
        """Return a function's folder as it lies below `functions/`, so that imports are the same everywhere.

        `packages` is the file in requirements/ with what it has beside the layer.
        """
        if not self.code:
            siblings = sorted(entry.name for entry in _FUNCTIONS.iterdir() if entry.name != package)
            return lambda_.Code.from_asset(str(_FUNCTIONS), exclude=[*siblings, *_UNWANTED])
        folder = self._scratch / f"{package}-{packages or 'alone'}"
        if not folder.exists():
            folder.mkdir()
            if packages:
                _install(ROOT / "requirements" / f"{packages}.txt", folder, self.architecture)
            build_function(folder, package)
        return lambda_.Code.from_asset(str(folder))

    def layer_code(self) -> lambda_.Code:
        """Return the layer: the locked packages and the shared one, with bytecode."""
        if not self.code:
            return lambda_.Code.from_asset(str(_SHARED), exclude=_UNWANTED)
        folder = self._scratch / "layer"
        if not folder.exists():
            folder.mkdir()
            build_layer(folder, self.architecture)
        return lambda_.Code.from_asset(str(folder))

    @cached_property
    def _scratch(self) -> Path:
        """A folder that goes with this process; the CDK copies what is built there."""
        folder = tempfile.TemporaryDirectory(prefix="skincare-build-")
        weakref.finalize(self, folder.cleanup)
        return Path(folder.name)


def build_function(folder: Path, package: str) -> None:
    """Fill a folder with one function's package and its bytecode."""
    source = _FUNCTIONS / package
    if source.is_dir():
        shutil.copytree(source, folder / package, ignore=_LEFT_OUT)
    _compile(folder, folder, at="/var/task")


def build_layer(folder: Path, architecture: Architecture) -> None:
    """Fill a folder with what Lambda unpacks at /opt; the same bytes wherever and whenever it is built."""
    target = folder / "python"
    _install(_SHARED / "requirements.txt", target, architecture)
    shutil.copytree(_SHARED / "python" / "skincare", target / "skincare", ignore=_LEFT_OUT)
    _compile(target, folder, at="/opt")


def _install(requirements: Path, target: Path, architecture: Architecture) -> None:
    """Install locked packages for Lambda, from uv's cache where scripts/setup filled it."""
    install = [
        uv.find_uv_bin(),
        *("pip", "install", "--quiet", "--no-config", "--require-hashes", "--no-deps", "--only-binary=:all:"),
        *("--python-version=3.13", f"--python-platform={_PLATFORMS[architecture]}"),
        # A hard link would share its bytes with uv's cache.
        "--link-mode=copy",
        f"--target={target}",
        f"--requirements={requirements}",
    ]
    try:
        _run([*install, "--offline"], quiet=True)
    except subprocess.CalledProcessError:
        # Somebody emptied it since.
        _run(install)
    (target / ".lock").unlink(missing_ok=True)
    shutil.rmtree(target / "bin", ignore_errors=True)


def _compile(folder: Path, root: Path, *, at: str) -> None:
    """Add bytecode that is never compared with its source.

    The times in a zip file and the paths on this machine would make every other kind useless or different each time.
    In a process of its own, for in this one the workers of compileall would begin the app again.
    """
    options = ("-q", "-j2", "--invalidation-mode=unchecked-hash", f"-s{root}", f"-p{at}")
    _run([sys.executable, "-m", "compileall", *options, str(folder)])


def _run(command: list[str], *, quiet: bool = False) -> None:
    subprocess.run(  # noqa: S603  our own commands
        command,
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL if quiet else None,
        cwd=ROOT,
        timeout=300,
    )
