"""The client of the on-call function at the local Invoke API."""

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from emulator.functions.function import InvocationFailed
from emulator.functions.invocations import Invocations
from emulator.log.logbook import LogBook
from emulator.settings import REGION
from local.state import Secrets
from skincare.adapters.aws import AwsSession
from skincare.adapters.functions import FunctionFailed, FunctionUnreachable, LambdaFunctions

SECRETS = Secrets("password-of-a-test", {})


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
    invocations = Invocations(
        {"skincare-local-oncall": function}, secret_access_key=SECRETS.invocation_key, log=LogBook(tmp_path, None)
    )
    invocations.serve()
    yield invocations.url
    invocations.stop()


@pytest.fixture
def functions(url: str, monkeypatch: pytest.MonkeyPatch) -> LambdaFunctions:
    return client(url, SECRETS.invocation_key, monkeypatch)


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


class TestAnUnauthorisedInvocation:
    def test_with_another_key_is_refused_by_name(
        self, url: str, function: Echo, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with pytest.raises(FunctionUnreachable, match="AccessDeniedException"):
            client(url, "another", monkeypatch).invoke("skincare-local-oncall", {})
        assert function.asked == []


def test_nobody_there_is_told_by_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FunctionUnreachable, match="EndpointConnectionError") as caught:
        client("http://127.0.0.1:9", "x", monkeypatch).invoke("skincare-local-oncall", json.loads("{}"))
    assert caught.value.__context__ is None
