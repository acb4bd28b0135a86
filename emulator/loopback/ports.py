"""Ports of this machine's own address."""

import errno
import socket

from emulator.settings import LOOPBACK


class PortRefused(Exception):
    """A port cannot be had; the message says why, as `Port 80 may be used by the administrator only`."""


def listen(port: int = 0) -> socket.socket:
    """Take a port, or any free one; raises `PortRefused`."""
    try:
        return socket.create_server((LOOPBACK, port), backlog=128)
    except OSError as error:
        reason = {
            errno.EADDRINUSE: "is taken by another program",
            errno.EACCES: "may be used by the administrator only",
        }.get(error.errno or 0, f"cannot be used ({error.strerror})")
        raise PortRefused(f"Port {port} {reason}") from None


def free_port() -> int:
    """Return a port that nobody used a moment ago."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])
