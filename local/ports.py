"""Ports of this machine's own address."""

import errno
import socket

from local.errors import LocalSystemError
from local.settings import LOOPBACK


def listen(port: int) -> socket.socket:
    """Take a port; raises `LocalSystemError` with what a person can do where it cannot be had."""
    try:
        return socket.create_server((LOOPBACK, port), backlog=128)
    except OSError as error:
        reason = {
            errno.EADDRINUSE: "is taken by another program",
            errno.EACCES: "may be used by the administrator only",
        }.get(error.errno or 0, f"cannot be used ({error.strerror})")
        raise LocalSystemError(f"Port {port} {reason}: choose another one, as in `PORT={port + 1} make run`.") from None


def free_port() -> int:
    """Return a port that nobody used a moment ago."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])
