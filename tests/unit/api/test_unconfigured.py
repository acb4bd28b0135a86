"""The API of a container that lacks a setting: not ready, and the log says what is missing."""

import json
from collections.abc import Iterator
from typing import Any, cast

import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext

from api.lambda_function import lambda_handler
from skincare.bootstrap import get_app
from skincare.deployment.functions import API
from skincare.errors import ConfigurationError
from tests.support.http import FakeContext, http_event
from tests.support.log import recorded_log

CANARY = "postgresql://app:canary@127.0.0.1:1/shop"


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    get_app.cache_clear()
    for name in API.needs:
        monkeypatch.delenv(name, raising=False)
    yield monkeypatch
    get_app.cache_clear()


def call(path: str) -> tuple[dict[str, Any], dict[str, Any]]:
    answer = lambda_handler(http_event("GET", path), cast(LambdaContext, FakeContext()))
    return answer, json.loads(answer["body"])


class TestUnconfigured:
    @pytest.mark.parametrize("path", ["/health", "/v1/products"])
    def test_every_route_is_503_and_tells_nothing(self, environment: pytest.MonkeyPatch, path: str) -> None:
        environment.setenv("DATABASE_URL", CANARY)
        answer, body = call(path)
        assert answer["statusCode"] == 503
        assert answer["headers"]["retry-after"] == "60"
        assert body["code"] == "unavailable"
        assert "QUEUE" not in answer["body"]
        assert "canary" not in answer["body"]

    @pytest.mark.parametrize(("given", "missing"), [({}, "DATABASE_URL"), ({"DATABASE_URL": CANARY}, "INVOICE_BUCKET")])
    def test_the_log_names_the_setting_and_no_value(
        self, environment: pytest.MonkeyPatch, given: dict[str, str], missing: str
    ) -> None:
        for name, value in given.items():
            environment.setenv(name, value)
        with recorded_log() as log:
            call("/health")
        (line,) = [line for line in log.lines if line["level"] == "ERROR"]
        assert missing in line["error"]
        assert "canary" not in log.text

    def test_a_worker_says_so_by_failing_its_batch(self, environment: pytest.MonkeyPatch) -> None:
        from worker import lambda_function as worker

        with pytest.raises(ConfigurationError, match="DATABASE_URL"):
            worker.lambda_handler({"Records": []}, cast(LambdaContext, FakeContext()))
