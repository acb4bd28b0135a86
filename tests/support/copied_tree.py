"""A copy of the tree in which a test makes a change, to prove in how many places it is made."""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.architecture.tree import ROOT, tracked_files


def copied_tree(copy: Path, *, whole: bool = False) -> Path:
    """Copy the product into a folder and return it; without tests and what only they read, unless it is `whole`."""
    for name in tracked_files():
        if whole or not name.startswith(("tests/", "docs/images/", "bench/")):
            target = copy / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target)
    (copy / ".venv").symlink_to(ROOT / ".venv")
    return copy


def replace_once(file: Path, before: str, after: str) -> None:
    """Change the one place of a file that reads so."""
    text = file.read_text()
    assert text.count(before) == 1, f"{before!r} stands {text.count(before)} times in {file.name}"
    file.write_text(text.replace(before, after))


def run(tree: Path, script: str, *words: str) -> str:
    """Run a script in the copy, with nothing of the original on its path."""
    path = ":".join(str(tree / folder) for folder in ("", "functions", "layers/shared/python"))
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        cwd=tree,
        env={"PYTHONPATH": path, "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(tree)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout
