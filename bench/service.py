"""A loopback service in a process of its own, so that it takes no time of the process that is measured."""

import contextlib
import multiprocessing
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection as Pipe
from typing import Any


@contextlib.contextmanager
def ignoring_interrupts() -> Iterator[None]:
    """Let processes that are started here ignore a Ctrl-C at the terminal: it is ours to act upon."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def service(talk: Callable[..., None], *arguments: Any) -> Iterator[int]:
    """Yield the port on which `talk(connection, *arguments)` serves each connection in a thread.

    `talk` is a function of a module, for the new process imports it. The process ends with ours, however we end.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, talk, arguments), daemon=True)
    with ignoring_interrupts():
        process.start()
    try:
        yield ours.recv()
    finally:
        process.kill()
        process.join()


def _serve(parent: Pipe, talk: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    threading.Thread(target=_accept, args=(listener, talk, arguments), daemon=True).start()
    parent.send(listener.getsockname()[1])
    with contextlib.suppress(EOFError):
        parent.recv()


def _accept(listener: socket.socket, talk: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=talk, args=(connection, *arguments), daemon=True).start()
