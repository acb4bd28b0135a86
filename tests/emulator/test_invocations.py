"""The Invoke API: only who has the right key invokes anything."""

import http.client
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from emulator.functions.function import InvocationFailed
from emulator.functions.invocations import Invocations
from emulator.log.logbook import LogBook
from emulator.settings import REGION

SECRET = "key of a test"
type Change = Callable[[dict[str, str]], dict[str, str]]

PATH = "/2015-03-31/functions/example/invocations"


class Echo:
    """A function that answers with what it was asked."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self.fails: InvocationFailed | None = None
        self.answer: bytes | None = None

    def invoke(self, payload: bytes, *, timeout: timedelta, trace_id: str | None = None) -> bytes:
        self.asked.append(payload)
        if self.fails:
            raise self.fails
        return payload if self.answer is None else self.answer


@pytest.fixture
def function() -> Echo:
    return Echo()


@pytest.fixture
def url(function: Echo, tmp_path: Path) -> Iterator[str]:
    invocations = Invocations({"example": function}, secret_access_key=SECRET, log=LogBook(tmp_path, None))
    invocations.serve()
    yield invocations.url
    invocations.stop()


def client(url: str, secret: str = SECRET) -> Any:
    once = Config(retries={"total_max_attempts": 1}, proxies={})
    return boto3.client(
        "lambda",
        endpoint_url=url,
        region_name=REGION,
        aws_access_key_id="local",
        aws_secret_access_key=secret,
        config=once,
    )


def post(url: str, body: bytes, headers: dict[str, str], *, path: str = PATH) -> int:
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=10)
    connection.request("POST", path, body, headers)
    status = connection.getresponse().status
    connection.close()
    return status


def signed(url: str, body: bytes, *, secret: str = "", at: datetime | None = None) -> dict[str, str]:
    request = AWSRequest("POST", url + PATH, data=body, headers={"Host": urlsplit(url).netloc})
    moment = (at or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")
    request.context["timestamp"] = moment
    request.headers["X-Amz-Date"] = moment
    signer = SigV4Auth(Credentials("local", secret or SECRET), "lambda", REGION)
    text = signer.string_to_sign(request, signer.canonical_request(request))
    scope = f"Credential={signer.scope(request)}, SignedHeaders=host;x-amz-date"
    signature = signer.signature(text, request)
    return {"X-Amz-Date": moment, "Authorization": f"AWS4-HMAC-SHA256 {scope}, Signature={signature}"}


class TestASignedInvocation:
    def test_reaches_its_function_and_brings_its_answer(self, url: str, function: Echo) -> None:
        answer = client(url).invoke(FunctionName="example", Payload=b'{"operation": "list"}')
        assert (answer["StatusCode"], answer["Payload"].read()) == (200, b'{"operation": "list"}')
        assert "FunctionError" not in answer
        assert len(function.asked) == 1

    def test_that_fails_in_the_function_is_told_as_lambda_tells_it(self, url: str, function: Echo) -> None:
        function.fails = InvocationFailed("KeyError", "no such thing")
        answer = client(url).invoke(FunctionName="example", Payload=b"{}")
        assert answer["FunctionError"] == "Unhandled"
        assert json.loads(answer["Payload"].read()) == {"errorType": "KeyError", "errorMessage": "no such thing"}

    def test_that_finds_no_container_is_throttled(self, url: str, function: Echo) -> None:
        function.fails = InvocationFailed("TooManyRequestsException", "")
        with pytest.raises(ClientError, match="TooManyRequestsException"):
            client(url).invoke(FunctionName="example", Payload=b"{}")

    def test_of_another_function_is_not_found(self, url: str) -> None:
        with pytest.raises(ClientError, match="ResourceNotFoundException"):
            client(url).invoke(FunctionName="another", Payload=b"{}")

    def test_by_hand_is_taken(self, url: str) -> None:
        assert post(url, b"{}", signed(url, b"{}")) == 200


class TestAnUnauthorisedInvocation:
    def test_with_another_key_is_refused_by_name(self, url: str, function: Echo) -> None:
        with pytest.raises(ClientError, match="AccessDeniedException"):
            client(url, "another").invoke(FunctionName="example", Payload=b"{}")
        assert function.asked == []

    @pytest.mark.parametrize(
        "change",
        [
            lambda headers: {},
            lambda headers: headers | {"Authorization": "Bearer x"},
            lambda headers: headers | {"Authorization": headers["Authorization"][:-1] + "g"},
            lambda headers: headers | {"X-Amz-Date": "yesterday"},
            lambda headers: headers | {"Host": "elsewhere.example.com"},
            lambda headers: headers | {"Authorization": headers["Authorization"].replace("host;x-amz-date", "host")},
        ],
    )
    def test_by_hand_reaches_no_function(self, url: str, function: Echo, change: Change) -> None:
        assert post(url, b"{}", change(signed(url, b"{}"))) == 403
        assert function.asked == []

    def test_with_another_body_old_or_by_another_secret_reaches_no_function(self, url: str, function: Echo) -> None:
        old = datetime.now(UTC) - timedelta(minutes=6)
        assert post(url, b"[]", signed(url, b"{}")) == 403
        assert post(url, b"{}", signed(url, b"{}", at=old)) == 403
        assert post(url, b"{}", signed(url, b"{}", secret="other")) == 403
        assert function.asked == []
