"""A way to a loopback port that takes time: round trips of a chosen length, in a process of its own."""

import contextlib
import multiprocessing
import socket
import threading
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection as Pipe
from urllib.parse import urlsplit


@contextlib.contextmanager
def delayed(url: str, *, milliseconds: float) -> Iterator[str]:
    """Yield the URL of the same database behind a proxy that holds back what clients say for that long.

    The whole delay lies on the way to the server: for a client that waits for each answer it is the round trip.
    The proxy also costs time of its own, so a difference of two delays tells more than one of them.
    """
    parts = urlsplit(url)
    assert parts.port is not None
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(
        target=_serve, args=((str(parts.hostname), parts.port), milliseconds / 1000, theirs), daemon=True
    )
    process.start()
    try:
        port = ours.recv()
        yield parts._replace(netloc=f"{parts.netloc.rpartition('@')[0]}@127.0.0.1:{port}").geturl()
    finally:
        process.kill()
        process.join()


def _serve(server: tuple[str, int], delay_s: float, parent: Pipe) -> None:
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    parent.send(listener.getsockname()[1])
    while True:
        client, _ = listener.accept()
        upstream = socket.create_connection(server)
        for end in (client, upstream):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for source, target, pause_s in ((client, upstream, delay_s), (upstream, client, 0.0)):
            threading.Thread(target=_forward, args=(source, target, pause_s), daemon=True).start()


def _forward(source: socket.socket, target: socket.socket, pause_s: float) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            if pause_s:
                time.sleep(pause_s)
            target.sendall(data)
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
