"""The emulator that is deployed to: one process on loopback, from an environment of its own."""

import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import boto3

from emulator.loopback.ports import free_port
from emulator.processes.children import Children
from emulator.settings import LOOPBACK
from local.settings import ROOT

ACCOUNT = "210987654321"
"""Also the access key, by which it knows accounts. Not the one of other emulators: the CDK remembers whose a key is."""
REGION = "ap-southeast-3"

_HOME = ROOT / ".local" / "deploy-check"
_LOCK = ROOT / "requirements" / "deploy-check.txt"
_LONGEST_START_S = 60


class Emulator:
    """AWS on a free port of this machine. Everything that it writes goes below `folder`."""

    def __init__(self, folder: Path, children: Children) -> None:
        self._folder = folder
        self._children = children
        self.port = free_port()
        self.url = f"http://{LOOPBACK}:{self.port}"

    @property
    def credentials(self) -> dict[str, str]:
        """The environment of whoever talks to it, and sees no account of this machine's user."""
        return {
            "AWS_ACCESS_KEY_ID": ACCOUNT,
            "AWS_SECRET_ACCESS_KEY": "of-nobody",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_ENDPOINT_URL": self.url,
        }

    def start(self) -> None:
        """Start it and wait until it answers."""
        python = _python()
        for name in ("home", "tmp"):
            (self._folder / name).mkdir(parents=True)
        with (self._folder / "emulator.log").open("wb") as log:
            process = self._children.start(
                "emulator",
                [str(python), "-m", "ministack"],
                environment={
                    "PATH": f"{python.parent}:{os.defpath}",
                    "HOME": str(self._folder / "home"),
                    "TMPDIR": str(self._folder / "tmp"),
                    # Its default is every address of this machine.
                    "BIND_HOST": LOOPBACK,
                    "GATEWAY_PORT": str(self.port),
                    "MINISTACK_ACCOUNT_ID": ACCOUNT,
                    "MINISTACK_REGION": REGION,
                },
                folder=self._folder,
                output=log.fileno(),
            )
        deadline = time.monotonic() + _LONGEST_START_S
        while True:
            try:
                self.fetch("/_ministack/health")
            except OSError:
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"the emulator did not start: {self._folder / 'emulator.log'}") from None
                time.sleep(0.1)
            else:
                return

    def client(self, service: Any) -> Any:
        """An SDK client for it."""
        session = boto3.session.Session(ACCOUNT, "of-nobody", region_name=REGION)
        return session.client(service, endpoint_url=self.url)

    def fetch(self, path: str) -> Any:
        """Return what one of its own pages says."""
        with urllib.request.urlopen(f"{self.url}{path}", timeout=5) as answer:
            return json.loads(answer.read())


def _python() -> Path:
    """Return the interpreter of an environment of requirements/deploy-check.txt; make it where it is missing."""
    python, stamp = _HOME / "bin" / "python", _HOME / "made-of"
    if stamp.exists() and stamp.read_text() == _LOCK.read_text():
        return python
    uv = str(Path(sys.executable).with_name("uv"))
    environment = {**os.environ, "UV_PYTHON_DOWNLOADS": "never", "UV_SYSTEM_CERTS": "true"}
    for command in (
        [uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(_HOME)],
        [uv, "pip", "sync", "--quiet", "--python", str(python), "--require-hashes", str(_LOCK)],
    ):
        subprocess.run(command, check=True, env=environment, stdin=subprocess.DEVNULL, timeout=600)
    stamp.write_text(_LOCK.read_text())
    return python
