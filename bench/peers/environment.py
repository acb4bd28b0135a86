"""The environment of the other job queues: their own, so that the product's stays what it ships."""

import subprocess
import sys
from pathlib import Path

from bench.environment import NotMeasured
from local.settings import ROOT

_LOCK = ROOT / "requirements" / "bench.txt"
_HOME = ROOT / ".local" / "bench-peers"


def peer_python() -> Path:
    """Return the interpreter of an environment that holds requirements/bench.txt; make it where it is missing.

    Raises `NotMeasured` where the packages cannot be had.
    """
    python, stamp = _HOME / "bin" / "python", _HOME / "made-of"
    if stamp.exists() and stamp.read_text() == _LOCK.read_text():
        return python
    uv = Path(sys.executable).with_name("uv")
    try:
        _run([str(uv), "venv", "--quiet", "--clear", "--python", sys.executable, str(_HOME)])
        _run([str(uv), "pip", "sync", "--quiet", "--python", str(python), "--require-hashes", str(_LOCK)])
    except (OSError, subprocess.CalledProcessError) as error:
        raise NotMeasured("the packages of requirements/bench.txt cannot be installed") from error
    stamp.write_text(_LOCK.read_text())
    return python


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, env={"UV_PYTHON_DOWNLOADS": "never", "UV_SYSTEM_CERTS": "true", "PATH": ""})
