"""A service on a loopback port whose answer has no end."""

import contextlib
import socketserver
import threading
from collections.abc import Iterator
from itertools import repeat


@contextlib.contextmanager
def endless(*, opening: bytes = b"", repeats: bytes = b"", every_s: float = 0.0) -> Iterator[str]:
    """Yield the address of who reads nothing, says something, and then the same again each so many seconds."""
    gone = threading.Event()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError):
                self.request.sendall(opening)
                for content in repeat(repeats) if repeats else ():
                    self.request.sendall(content)
                    if gone.wait(every_s):
                        return
            gone.wait()

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            gone.set()
            server.shutdown()
