"""AWS in this process: a moto server on a loopback port, and a clock that its queues follow.

A conftest.py takes the fixtures in by importing them: `from tests.moto_server import aws, aws_endpoint`.
"""

import contextlib
import logging
import time
import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from moto.server import ThreadedMotoServer
from moto.sqs import models as moto_sqs

from local import aws_lock
from skincare.adapters.aws import AwsSession, Timeouts
from skincare.config import AwsKeys

PATIENT = Timeouts(connect=timedelta(seconds=2), read=timedelta(seconds=25))

_SETTINGS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_DEFAULT_REGION": "ap-southeast-3",
    "AWS_EC2_METADATA_DISABLED": "true",
    "NO_PROXY": "127.0.0.1",
}


@pytest.fixture(scope="session")
def aws_endpoint() -> Iterator[str]:
    """Start the server once per test process; return its URL."""
    with running_moto() as url, pytest.MonkeyPatch.context() as environment:
        for name, value in _SETTINGS.items():
            environment.setenv(name, value)
        yield url


@pytest.fixture(scope="session")
def aws(aws_endpoint: str) -> AwsSession:
    """Return a session whose clients talk to the server, with the keys and the region that a function has."""
    keys = AwsKeys(_SETTINGS["AWS_ACCESS_KEY_ID"], _SETTINGS["AWS_SECRET_ACCESS_KEY"])
    return AwsSession(aws_endpoint, keys=keys, region=_SETTINGS["AWS_DEFAULT_REGION"])


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


def create_queue(aws: AwsSession, **attributes: str) -> str:
    """Create a queue with a name of its own and these SQS attributes; return its URL."""
    sqs = aws.client("sqs", PATIENT)
    url: str = sqs.create_queue(QueueName=f"queue-{uuid.uuid4()}", Attributes=attributes)["QueueUrl"]
    return url


def queue_arn(aws: AwsSession, url: str) -> str:
    """Return the ARN of a queue."""
    answer: dict[str, Any] = aws.client("sqs", PATIENT).get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    return str(answer["Attributes"]["QueueArn"])
