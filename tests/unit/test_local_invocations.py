"""The local Invoke API: only who has this system's key invokes anything, through the client that AWS is called with."""

import http.client
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from local.function import InvocationFailed
from local.invocations import Invocations, invocation_secret
from local.logbook import LogBook
from local.settings import REGION
from local.state import Secrets
from skincare.adapters.aws import AwsSession
from skincare.adapters.functions import FunctionFailed, FunctionUnreachable, LambdaFunctions

SECRETS = Secrets("password-of-a-test", {})
type Change = Callable[[dict[str, str]], dict[str, str]]

PATH = "/2015-03-31/functions/skincare-local-oncall/invocations"


class Echo:
    """A function that answers with what it was asked."""

    def __init__(self) -> None:
        self.asked: list[bytes] = []
        self.fails: InvocationFailed | None = None
        self.answer: bytes | None = None

    def invoke(self, payload: bytes, *, patience: timedelta, trace_id: str | None = None) -> bytes:
        self.asked.append(payload)
        if self.fails:
            raise self.fails
        return payload if self.answer is None else self.answer


@pytest.fixture
def function() -> Echo:
    return Echo()


@pytest.fixture
def url(function: Echo, tmp_path: Path) -> Iterator[str]:
    invocations = Invocations({"skincare-local-oncall": function}, secrets=SECRETS, log=LogBook(tmp_path, None))
    invocations.serve()
    yield invocations.url
    invocations.stop()


@pytest.fixture
def functions(url: str, monkeypatch: pytest.MonkeyPatch) -> LambdaFunctions:
    return client(url, invocation_secret(SECRETS), monkeypatch)


def client(url: str, secret: str, monkeypatch: pytest.MonkeyPatch) -> LambdaFunctions:
    settings = {
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_MAX_ATTEMPTS": "1",
        "NO_PROXY": "127.0.0.1",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
    return LambdaFunctions(AwsSession(url))


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
    signer = SigV4Auth(Credentials("local", secret or invocation_secret(SECRETS)), "lambda", REGION)
    text = signer.string_to_sign(request, signer.canonical_request(request))
    scope = f"Credential={signer.scope(request)}, SignedHeaders=host;x-amz-date"
    signature = signer.signature(text, request)
    return {"X-Amz-Date": moment, "Authorization": f"AWS4-HMAC-SHA256 {scope}, Signature={signature}"}


class TestASignedInvocation:
    def test_reaches_its_function_and_brings_its_answer(self, functions: LambdaFunctions, function: Echo) -> None:
        assert functions.invoke("skincare-local-oncall", {"operation": "list_dead"}) == {"operation": "list_dead"}
        assert len(function.asked) == 1

    def test_that_fails_in_the_function_is_told_without_its_words(
        self, functions: LambdaFunctions, function: Echo
    ) -> None:
        function.fails = InvocationFailed("KeyError", "canary7f3a")
        with pytest.raises(FunctionFailed, match=r"Unhandled") as caught:
            functions.invoke("skincare-local-oncall", {})
        assert "canary7f3a" not in str(caught.value)

    def test_that_is_answered_with_no_json_is_a_failure(self, functions: LambdaFunctions, function: Echo) -> None:
        function.answer = b"<html>"
        with pytest.raises(FunctionFailed, match="no JSON"):
            functions.invoke("skincare-local-oncall", {})

    def test_of_another_function_is_not_found(self, functions: LambdaFunctions) -> None:
        with pytest.raises(FunctionUnreachable, match="ResourceNotFoundException"):
            functions.invoke("skincare-prod-oncall", {})

    def test_by_hand_is_taken(self, url: str) -> None:
        assert post(url, b"{}", signed(url, b"{}")) == 200


class TestAnUnauthorisedInvocation:
    def test_with_another_key_is_refused_by_name(
        self, url: str, function: Echo, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(FunctionUnreachable, match="AccessDeniedException"):
            client(url, "another", monkeypatch).invoke("skincare-local-oncall", {})
        assert function.asked == []

    @pytest.mark.parametrize(
        "change",
        [
            lambda headers: {},
            lambda headers: headers | {"Authorization": "Bearer x"},
            lambda headers: headers | {"Authorization": headers["Authorization"][:-1] + "g"},
            lambda headers: headers | {"X-Amz-Date": "yesterday"},
            lambda headers: headers | {"Host": "skincare.example.com"},
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


def test_nobody_there_is_told_by_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FunctionUnreachable, match="EndpointConnectionError") as caught:
        client("http://127.0.0.1:9", "x", monkeypatch).invoke("skincare-local-oncall", json.loads("{}"))
    assert caught.value.__context__ is None
