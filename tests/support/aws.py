"""AWS in this process, as the adapters of the shop see it.

A conftest.py takes the fixtures in by importing them: `from tests.support.aws import aws, aws_endpoint`.
"""

import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from skincare.adapters.aws import AwsSession, Timeouts
from skincare.config import AwsKeys
from tests.support.moto import SETTINGS, ShiftedClock, running_moto

__all__ = ["ShiftedClock", "running_moto"]

LONG_TIMEOUTS = Timeouts(connect=timedelta(seconds=2), read=timedelta(seconds=25))


@pytest.fixture(scope="session")
def aws_endpoint() -> Iterator[str]:
    """Start the server once per test process; return its URL."""
    with running_moto() as url, pytest.MonkeyPatch.context() as environment:
        for name, value in SETTINGS.items():
            environment.setenv(name, value)
        yield url


@pytest.fixture(scope="session")
def aws(aws_endpoint: str) -> AwsSession:
    """Return a session whose clients talk to the server, with the keys and the region that a function has."""
    keys = AwsKeys(SETTINGS["AWS_ACCESS_KEY_ID"], SETTINGS["AWS_SECRET_ACCESS_KEY"])
    return AwsSession(aws_endpoint, keys=keys, region=SETTINGS["AWS_DEFAULT_REGION"])


def create_queue(aws: AwsSession, **attributes: str) -> str:
    """Create a queue with a name of its own and these SQS attributes; return its URL."""
    sqs = aws.client("sqs", LONG_TIMEOUTS)
    url: str = sqs.create_queue(QueueName=f"queue-{uuid.uuid4()}", Attributes=attributes)["QueueUrl"]
    return url


def queue_arn(aws: AwsSession, url: str) -> str:
    """Return the ARN of a queue."""
    answer: dict[str, Any] = aws.client("sqs", LONG_TIMEOUTS).get_queue_attributes(
        QueueUrl=url, AttributeNames=["QueueArn"]
    )
    return str(answer["Attributes"]["QueueArn"])
