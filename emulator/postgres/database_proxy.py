"""The way of the functions to PostgreSQL, which can be slow or cut off, in a process of its own.

`python -m emulator.postgres.database_proxy <listening socket> <port of PostgreSQL> <folder of the switches>`, the
socket as the number of its descriptor.
"""

import asyncio
import contextlib
import socket
import subprocess
import sys
from pathlib import Path

from emulator.processes.children import Children
from emulator.processes.servers import start_server
from emulator.settings import LOOPBACK
from emulator.switches import Fault, Switches

_CHUNK = 65536
_SLOWNESS_S = 0.5
_LOOK_AGAIN_S = 0.1


class DatabaseProxy:
    """Passes bytes on between clients and one PostgreSQL server."""

    def __init__(self, port: int, switches: Switches) -> None:
        self._port = port
        self._switches = switches
        self._writers: set[asyncio.StreamWriter] = set()

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one client until one of the two sides has enough."""
        self._writers.add(writer)
        try:
            if not self._switches.is_on(Fault.DATABASE_GONE):
                with contextlib.suppress(OSError):
                    await self._connect(reader, writer)
        finally:
            self._writers.discard(writer)
            writer.transport.abort()

    async def cut(self) -> None:
        """Cut whoever is connected for as long as the database is gone."""
        while True:
            if self._writers and self._switches.is_on(Fault.DATABASE_GONE):
                for writer in self._writers:
                    writer.transport.abort()
            await asyncio.sleep(_LOOK_AGAIN_S)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection(LOOPBACK, self._port)
        self._writers.add(to_server)
        ways = [
            asyncio.create_task(self._pass_on(reader, to_server, held_back=True)),
            asyncio.create_task(self._pass_on(from_server, writer, held_back=False)),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            self._writers.discard(to_server)
            # Not aborted: what a client said last, such as goodbye, is still to arrive.
            to_server.close()

    async def _pass_on(self, source: asyncio.StreamReader, target: asyncio.StreamWriter, *, held_back: bool) -> None:
        while data := await source.read(_CHUNK):
            # One way only: for a client that waits for each answer it is the round trip.
            if held_back and self._switches.is_on(Fault.DATABASE_SLOW):
                await asyncio.sleep(_SLOWNESS_S)
            target.write(data)
            await target.drain()


async def serve(listener: socket.socket, port: int, switches: Switches) -> None:
    """Serve until cancelled."""
    proxy = DatabaseProxy(port, switches)
    server = await asyncio.start_server(proxy.talk, sock=listener, backlog=128)
    async with server:
        await proxy.cut()


def start_database_proxy(
    children: Children, listener: socket.socket, *, port: int, switches: Path, logs: Path
) -> subprocess.Popen[bytes]:
    """Serve on a listening socket, which is the child's from now on; the log is `database_proxy.log`."""
    arguments = [str(port), str(switches)]
    return start_server(children, __name__, listener, arguments, name="database_proxy", logs=logs)


def main(descriptor: str, port: str, switches_folder: str) -> None:
    """Serve until killed."""
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(socket.socket(fileno=int(descriptor)), int(port), Switches(Path(switches_folder))))


if __name__ == "__main__":
    main(*sys.argv[1:])
