"""Servers of the emulator that run as processes of their own, on a socket that is bound for them."""

import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from emulator.processes.children import Children
from emulator.settings import aws_credentials, inherited_environment

_IMPORTABLE = Path(__file__).resolve().parents[2]
"""The folder that `emulator` is imported from."""


def start_server(
    children: Children, module: str, listener: socket.socket, arguments: Sequence[str], *, name: str, logs: Path
) -> subprocess.Popen[bytes]:
    """Start `python -m <module> <descriptor> <arguments>`, and close our copy of its socket.

    Its output goes to `<name>.log` in `logs`. With our copy open, calls to a dead server would hang instead of being
    refused.
    """
    descriptor = listener.fileno()
    with listener, (logs / f"{name}.log").open("a") as output:
        return children.start(
            name,
            [sys.executable, "-m", module, str(descriptor), *arguments],
            environment={**inherited_environment(), **aws_credentials(), "MOTO_DISABLE_GLOBAL_CORS": "true"},
            folder=_IMPORTABLE,
            output=output.fileno(),
            pass_fds=[descriptor],
        )
