"""Copies of the product, to add something to."""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.architecture.tree import ROOT, tracked_files


def copy_of_the_product(folder: Path) -> Path:
    """Copy all but tests, pictures and benchmarks into a folder, and return it."""
    for name in tracked_files():
        if not name.startswith(("tests/", "docs/images/", "bench/")):
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target)
    (folder / ".venv").symlink_to(ROOT / ".venv")
    return folder


def run(tree: Path, script: str, *words: str) -> str:
    """Run a script in a copy, with nothing of the original on its path, and return what it prints."""
    path = ":".join(str(tree / folder) for folder in ("", "functions", "layers/shared/python"))
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        cwd=tree,
        env={"PYTHONPATH": path, "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(tree)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout
