"""A service on a loopback port that answers with the bytes it was told to, or does not."""

import contextlib
import json
import queue
import socket
import socketserver
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

DEADLINE_S = 10


@dataclass(frozen=True)
class Reply:
    """What follows one request. Without bytes and hang-up the caller waits until the service stops."""

    content: bytes = b""
    hang_up: bool = False


def http(status: int, body: bytes | object, headers: Mapping[str, str] | None = None) -> Reply:
    """Return a complete answer; a body that is not bytes becomes JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    fields = {"Content-Length": str(len(content)), **(headers or {})}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return Reply(f"HTTP/1.1 {status} Whatever\r\n{head}\r\n".encode() + content)


@dataclass
class Request:
    headers: dict[str, str]
    body: bytes = field(repr=False)
    line: str = ""
    """The method and the target."""

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def taken(request: Request) -> Reply:
    """Answer as SQS does that takes every entry."""
    return http(200, {"Successful": [{"Id": entry["Id"]} for entry in request.json["Entries"]]})


class ScriptedService:
    """Gives each request the next reply, and takes every entry when there is none left."""

    def __init__(self, *replies: Reply, tls: ssl.SSLContext | None = None) -> None:
        self.replies = list(replies)
        self.requests: list[Request] = []
        self.connections = 0
        self.hung_up: queue.Queue[None] = queue.Queue()
        """Gets an item after each connection that was closed from here."""
        self._stopped = threading.Event()
        service = self

        class Handler(socketserver.StreamRequestHandler):
            def setup(self) -> None:
                if tls is not None:
                    # Without a handshake here: one that fails would leave nobody to close the socket.
                    self.request = tls.wrap_socket(self.request, server_side=True, do_handshake_on_connect=False)
                super().setup()

            def handle(self) -> None:
                service.connections += 1
                with contextlib.suppress(OSError):
                    self.talk()

            def talk(self) -> None:
                while (request := _read(self.rfile)) is not None:
                    service.requests.append(request)
                    reply = service.replies.pop(0) if service.replies else taken(request)
                    self.wfile.write(reply.content)
                    if reply.hang_up:
                        self.request.shutdown(socket.SHUT_RDWR)
                        service.hung_up.put(None)
                        return
                    if not reply.content:
                        service._stopped.wait(DEADLINE_S)
                        return

            def finish(self) -> None:
                super().finish()
                self.request.close()

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            request_queue_size = 32

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> "ScriptedService":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._server.shutdown()
        self._thread.join(DEADLINE_S)
        self._server.server_close()


def _read(stream: Any) -> Request | None:
    line = stream.readline().decode().strip()
    if not line:
        return None
    headers = {}
    while header := stream.readline().decode().strip():
        name, _, value = header.partition(":")
        headers[name.lower()] = value.strip()
    return Request(headers, stream.read(int(headers.get("content-length", 0))), line.rpartition(" ")[0])
