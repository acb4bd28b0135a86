"""The CDK command line, as people use it, on an assembly that is there."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from local.settings import ROOT

_LONGEST_S = 240


class Cdk:
    """Runs scripts/cdk and keeps what it said. `home` has its caches, so that it remembers nothing from before."""

    def __init__(self, assembly: Path, home: Path, credentials: Mapping[str, str]) -> None:
        self._assembly = assembly
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "CI": "true",
            "NO_COLOR": "1",
            "CDK_DISABLE_CLI_TELEMETRY": "1",
            **credentials,
        }

    def run(self, *arguments: str) -> str:
        """Return what a command said; raises `CalledProcessError` where it failed, once it is shown."""
        started = time.monotonic()
        done = subprocess.run(
            [
                str(ROOT / "scripts" / "cdk"),
                *("--app", str(self._assembly), "--no-notices", "--no-version-reporting"),
                *arguments,
            ],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_LONGEST_S,
            check=False,
        )
        if done.returncode != 0:
            sys.stderr.write(done.stdout)
        done.check_returncode()
        print(f"$ cdk {' '.join(arguments)}    ({time.monotonic() - started:.0f} s)")
        for line in done.stdout.splitlines():
            if line.startswith((" ✅", "✅", "✨", "Skincare-dev-Api.", "There were no")):
                print(f"  {line.strip()}")
        return done.stdout


def fetch() -> None:
    """Let scripts/cdk fetch the command line where it is missing: later it runs without the user's own settings."""
    command = [str(ROOT / "scripts" / "cdk"), "--version"]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=_LONGEST_S)
