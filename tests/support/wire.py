"""A wire between a client and PostgreSQL that tells what the client says, and breaks where it is told to."""

import contextlib
import re
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Self
from urllib.parse import urlsplit

_SSL_REQUEST = 80877103

# What pins a connection of RDS Proxy to one client. AWS: "Avoiding pinning an RDS Proxy".
_PINS = re.compile(
    rb"^\s*(SET|RESET|LISTEN|PREPARE|EXECUTE|DEALLOCATE|DISCARD|DECLARE|CREATE\s+TEMP\w*)\b"
    rb"|\b(set_config|nextval|currval|lastval|setval|pg_(try_)?advisory_\w+)\s*\(",
    re.IGNORECASE,
)


class Break(Enum):
    """Where a link is cut once it carries the text waited for."""

    BEFORE_THE_SERVER = "the server never sees it"
    AFTER_THE_SERVER = "the server answers, and the client never hears of it"


@dataclass(eq=False)
class _Link:
    client: socket.socket
    server: socket.socket
    sent: bytearray = field(default_factory=bytearray)
    silent: bool = False
    """While true, nothing is forwarded and nobody is told."""
    answer_is_lost: bool = False

    def cut(self) -> None:
        for end in (self.client, self.server):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)


class Wire:
    """Forwards a loopback port to the server of a database URL; `url` is the way through it."""

    def __init__(self, database_url: str) -> None:
        parts = urlsplit(database_url)
        assert parts.port is not None
        self._server = (str(parts.hostname), parts.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        login = parts.netloc.rpartition("@")[0]
        self.url = parts._replace(netloc=f"{login}@127.0.0.1:{self._listener.getsockname()[1]}").geturl()
        self.links: list[_Link] = []
        self.silent = False
        """The same for all links, also new ones."""
        self._trap: tuple[bytes, Break] | None = None
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join(timeout=5)
        for link in self.links:
            link.client.close()
            link.server.close()

    def cut(self) -> None:
        """Hang up on everybody, without a farewell."""
        for link in self.links:
            link.cut()

    def cut_at(self, text: str, where: Break) -> None:
        """Cut the next link that carries this text from the client."""
        self._trap = (text.encode(), where)

    def said(self) -> list[tuple[str, bytes]]:
        """Return what the clients said: message type and content, in the order of each connection."""
        return [message for link in self.links for message in _messages(bytes(link.sent))]

    def pins(self) -> list[bytes]:
        """Return what would pin a connection behind RDS Proxy: named statements and words that change a session."""
        return [content for kind, content in self.said() if _pins(kind, content)]

    def _start(self, target: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                link = _Link(client, socket.create_connection(self._server))
                self.links.append(link)
                self._start(self._forward_client, link)
                self._start(self._forward_server, link)

    def _forward_client(self, link: _Link) -> None:
        with contextlib.suppress(OSError):
            while data := link.client.recv(65536):
                if self.silent or link.silent:
                    continue
                link.sent += data
                if self._trap and self._trap[0] in data:
                    (_, where), self._trap = self._trap, None
                    if where is Break.BEFORE_THE_SERVER:
                        break
                    link.answer_is_lost = True
                link.server.sendall(data)
        link.cut()

    def _forward_server(self, link: _Link) -> None:
        with contextlib.suppress(OSError):
            while data := link.server.recv(65536):
                if link.answer_is_lost:
                    break
                if not (self.silent or link.silent):
                    link.client.sendall(data)
        link.cut()


def _messages(sent: bytes) -> Iterator[tuple[str, bytes]]:
    """Split what a client sent. Source: PostgreSQL, "Message Formats"."""
    while int.from_bytes(sent[4:8]) == _SSL_REQUEST:
        sent = sent[8:]
    sent = sent[int.from_bytes(sent[:4]) :]
    while len(sent) >= 5:
        length = int.from_bytes(sent[1:5])
        yield chr(sent[0]), sent[5 : 1 + length]
        sent = sent[1 + length :]


def _pins(kind: str, content: bytes) -> bool:
    match kind:
        case "P":
            name, query, _ = content.split(b"\0", 2)
            return bool(name) or bool(_PINS.search(query))
        case "B":
            portal, statement, _ = content.split(b"\0", 2)
            return bool(portal) or bool(statement)
        case "Q":
            return bool(_PINS.search(content))
        case _:
            return False
