"""A way to a loopback port that takes time: round trips of a chosen length."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

from bench.service import service


@contextlib.contextmanager
def delayed(url: str, *, milliseconds: float) -> Iterator[str]:
    """Yield the URL of the same database behind a proxy that holds back what clients say for that long.

    The whole delay lies on the way to the server: for a client that waits for each answer it is the round trip.
    The proxy also costs time of its own, so a difference of two delays tells more than one of them.
    """
    parts = urlsplit(url)
    login = parts.netloc.rpartition("@")[0]
    with service(_talk, str(parts.hostname), parts.port, milliseconds / 1000) as port:
        yield parts._replace(netloc=f"{login}@127.0.0.1:{port}").geturl()


def _talk(client: socket.socket, host: str, port: int, delay_s: float) -> None:
    server = socket.create_connection((host, port))
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=_forward, args=(server, client, 0.0), daemon=True).start()
    _forward(client, server, delay_s)


def _forward(source: socket.socket, target: socket.socket, pause_s: float) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            if pause_s:
                time.sleep(pause_s)
            target.sendall(data)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
