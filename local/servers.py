"""Servers of the local system that run as processes of their own, on a socket that is bound for them."""

import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from local.processes import Children
from local.settings import ROOT, aws_credentials, inherited_environment


def start_server(
    children: Children, module: str, listener: socket.socket, arguments: Sequence[str], *, logs: Path
) -> subprocess.Popen[bytes]:
    """Start `python -m <module> <descriptor> <arguments>`, and close our copy of its socket.

    With that copy open, calls to a dead server would hang instead of being refused.
    """
    name = module.rpartition(".")[2]
    descriptor = listener.fileno()
    with listener, (logs / f"{name}.log").open("a") as output:
        return children.start(
            name,
            [sys.executable, "-m", module, str(descriptor), *arguments],
            environment={**inherited_environment(), **aws_credentials(), "MOTO_DISABLE_GLOBAL_CORS": "true"},
            folder=ROOT,
            output=output.fileno(),
            pass_fds=[descriptor],
        )
