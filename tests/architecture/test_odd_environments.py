"""The tests pass in whatever surroundings a person has: tried with those that depend on them most."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from emulator.postgres.binaries import wheel_folder
from tests.architecture.tree import ROOT

# Programs that another account runs, files that it reads, times and texts that a locale would change.
SELECTION = [
    "tests/emulator/postgres/test_account.py::TestClosedFolders",
    "tests/emulator/postgres/test_programs.py::TestOtherBinaries",
    "tests/unit/local/test_state.py::TestStateFolder",
    "tests/unit/text/test_moments.py",
    "tests/unit/invoices/test_invoice_pdf.py::TestTheSameInvoice",
]


def test_a_closed_checkout_a_narrow_umask_and_a_strange_environment_change_nothing(tmp_path: Path) -> None:
    # As in a checkout below a folder of mode 700, with blanks in its name: the account that runs PostgreSQL for root
    # may not enter. A copy of its programs stands for the whole environment, which would be a gigabyte.
    closed = tmp_path / "closed to others"
    package = wheel_folder().parents[1]
    for part in (package, package.with_name(f"{package.name}.libs")):
        if part.exists():
            shutil.copytree(part, closed / part.name, symlinks=True)
    closed.chmod(0o700)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "no home"),
        "PYTHONPATH": str(closed),
        "TZ": "Asia/Jakarta",
        "LC_ALL": "C",
        "PGPORT": "1",
        "PGOPTIONS": "-c nonsense=1",
        "PIP_USER": "1",
        "AWS_PROFILE": "nobody",
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *SELECTION],
        cwd=ROOT,
        env=environment,
        umask=0o077,
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
