"""AWS in this process: a moto server on a loopback port, and a clock that its queues follow."""

import contextlib
import logging
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from moto.server import ThreadedMotoServer
from moto.sqs import models as moto_sqs

from emulator.aws import lock as aws_lock

SETTINGS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_DEFAULT_REGION": "ap-southeast-3",
    "AWS_EC2_METADATA_DISABLED": "true",
    "NO_PROXY": "127.0.0.1",
}
"""The environment of its clients."""


@contextlib.contextmanager
def running_moto() -> Iterator[str]:
    """Run a moto server in this process; yield its URL."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    aws_lock.install()
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        yield f"http://{host}:{port}"
    finally:
        server.stop()
        assert server._server is not None
        server._server.server_close()


class ShiftedClock:
    """The wall clock, moved forward at will: seconds since the epoch."""

    def __init__(self) -> None:
        self._shift_s = 0.0

    def __call__(self) -> float:
        return time.time() + self._shift_s

    def advance(self, by: timedelta) -> None:
        self._shift_s += by.total_seconds()

    @contextlib.contextmanager
    def driving_moto(self) -> Iterator[None]:
        """Let the queues of the server follow this clock."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(moto_sqs, "unix_time", self)
            patch.setattr(moto_sqs, "unix_time_millis", lambda: self() * 1000)
            yield
