"""Fixtures of the tests of the emulator, which know no shop."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import boto3
import pytest

from tests.support.moto import SETTINGS, running_moto

if TYPE_CHECKING:
    from types_boto3_sqs import SQSClient


@pytest.fixture(scope="session")
def sqs() -> Iterator["SQSClient"]:
    """A client of a moto server in this process."""
    key, secret = SETTINGS["AWS_ACCESS_KEY_ID"], SETTINGS["AWS_SECRET_ACCESS_KEY"]
    session = boto3.session.Session(key, secret, region_name=SETTINGS["AWS_DEFAULT_REGION"])
    with running_moto() as url:
        yield session.client("sqs", endpoint_url=url)
