"""How code becomes what AWS gets: the layer and the functions' folders, built here without a container."""

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import aws_cdk as cdk
import jsii
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


@dataclass(frozen=True)
class Build:
    """What is built, and for what. `layer=False` makes a stub of the layer, for templates alone."""

    architecture: Architecture
    layer: bool = True
    release: str | None = None

    @property
    def lambda_architecture(self) -> lambda_.Architecture:
        return lambda_.Architecture.ARM_64 if self.architecture == "arm64" else lambda_.Architecture.X86_64

    def function_code(self, package: str) -> lambda_.Code:
        """Return a function's folder as it lies below `functions/`, so that imports are the same everywhere."""
        siblings = sorted(entry.name for entry in _FUNCTIONS.iterdir() if entry.name != package)
        return lambda_.Code.from_asset(str(_FUNCTIONS), exclude=[*siblings, *_UNWANTED])

    def layer_code(self) -> lambda_.Code:
        """Return the layer: the locked packages and the shared one, with bytecode."""
        if not self.layer:
            return lambda_.Code.from_asset(
                str(_SHARED), exclude=["python", *_UNWANTED], asset_hash_type=cdk.AssetHashType.SOURCE
            )
        return lambda_.Code.from_asset(
            str(_SHARED),
            exclude=_UNWANTED,
            asset_hash_type=cdk.AssetHashType.OUTPUT,
            bundling=cdk.BundlingOptions(
                image=cdk.DockerImage.from_registry("none"), local=_LayerBundling(self.architecture)
            ),
        )


@jsii.implements(cdk.ILocalBundling)
class _LayerBundling:
    """Builds on this machine; the image of the options above is never asked for."""

    def __init__(self, architecture: Architecture) -> None:
        self._architecture: Architecture = architecture

    def try_bundle(self, output_dir: str, options: Any, **_: Any) -> bool:  # noqa: ARG002  the CDK's signature
        build_layer(Path(output_dir), self._architecture)
        return True


def build_layer(folder: Path, architecture: Architecture) -> None:
    """Fill a folder with what Lambda unpacks at /opt; the same bytes wherever and whenever it is built.

    Bytecode is of the kind that is never compared with its source: a zip file's times and the paths on
    this machine would make every other kind useless or different each time.
    """
    target = folder / "python"
    _run(
        [
            uv.find_uv_bin(),
            "pip",
            "install",
            "--quiet",
            "--no-config",
            "--require-hashes",
            "--no-deps",
            "--only-binary=:all:",
            "--python-version=3.13",
            f"--python-platform={_PLATFORMS[architecture]}",
            # A hard link would share its bytes with uv's cache.
            "--link-mode=copy",
            f"--target={target}",
            f"--requirements={_SHARED / 'requirements.txt'}",
        ]
    )
    (target / ".lock").unlink(missing_ok=True)
    shutil.rmtree(target / "bin", ignore_errors=True)
    shutil.copytree(
        _SHARED / "python" / "skincare", target / "skincare", ignore=shutil.ignore_patterns("__pycache__", "*.pyc")
    )
    # A process of its own: in this one its workers would begin the app again.
    _run(
        [
            sys.executable,
            "-m",
            "compileall",
            "-q",
            "-j2",
            "--invalidation-mode=unchecked-hash",
            f"-s{folder}",
            "-p/opt",
            str(target),
        ]
    )


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=ROOT, timeout=300)
