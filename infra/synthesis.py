"""A synthesis in a process of its own, as the CDK's command line asks for it: for what runs the code that is built."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_LONGEST_S = 300


def synthesize_for_this_machine(folder: Path, *, stage: str) -> None:
    """Fill a folder with a stage's assembly, its layer built for the processor of this machine.

    Raises `subprocess.SubprocessError` where that fails.
    """
    context = json.loads((_ROOT / "cdk.json").read_text())["context"]
    architecture = "arm64" if platform.machine() in {"arm64", "aarch64"} else "x86_64"
    asked = json.dumps(context | {"stage": stage, "architecture": architecture})
    environment = {**os.environ, "CDK_OUTDIR": str(folder), "CDK_CONTEXT_JSON": asked}
    command = [sys.executable, "-m", "infra"]
    subprocess.run(command, check=True, cwd=_ROOT, env=environment, stdin=subprocess.DEVNULL, timeout=_LONGEST_S)  # noqa: S603
