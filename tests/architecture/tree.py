"""The files of the work tree that are, or are about to be, under version control."""

import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

LAMBDA_CODE = ("functions/", "layers/shared/python/")
"""Where code lives that runs inside a Lambda function."""

PRODUCT_CODE = (*LAMBDA_CODE, "emulator/", "local/", "cli/", "infra/", "bench/")


@cache
def tracked_files() -> tuple[str, ...]:
    """Return paths relative to the root: tracked ones and new ones that are not ignored, without deleted ones."""
    # A clone may belong to somebody else than who runs its tests; git would refuse to list it.
    listing = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return tuple(sorted({name for name in listing.split("\0") if name and (ROOT / name).is_file()}))


def python_modules(folders: tuple[str, ...] = PRODUCT_CODE) -> list[str]:
    """Return the paths of the Python modules below these folders."""
    return [name for name in tracked_files() if name.endswith(".py") and name.startswith(folders)]


def text_of(name: str) -> str:
    """Return the text of a tracked file; what is not UTF-8 is replaced."""
    return (ROOT / name).read_text(encoding="utf-8", errors="replace")
