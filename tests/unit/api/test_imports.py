"""What a cold start of the API loads: every module that it does not need costs each first request."""

import json
import os
import subprocess
import sys

import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext

from api.lambda_function import lambda_handler
from skincare.deployment.functions import API, queue_url
from tests.support.http import http_event, make_app
from tests.support.scripted_service import ScriptedService

TELL = "import json, sys; print(json.dumps(sorted(sys.modules)))"

# Powertools' event handler is its own routing: we match a handful of paths ourselves. Payments and invoices are loaded
# by the first request that is about them.
UNWANTED = [
    "boto3",
    "botocore.session",
    "jinja2",
    "urllib3",
    "requests",
    "aws_xray_sdk",
    "reportlab",
    "hypothesis",
    "idna",
    "aws_lambda_powertools.event_handler",
    "skincare.payments.service",
    "skincare.payments.repository",
    "skincare.payments.gateways.http",
    "skincare.payments.gateways.midtrans.webhook",
    "skincare.invoices.service",
]


SEND = """
import api.lambda_function
from skincare.bootstrap import get_app
from skincare.deployment.functions import API
from skincare.jobs.ports import OutgoingMessage
from skincare.deployment.queues import QueueName
assert get_app(API).queues[QueueName.NOTIFICATIONS].source.enqueue([OutgoingMessage("a")]) == []
"""


def modules_after(code: str, **environment: str) -> set[str]:
    process = subprocess.run(
        [sys.executable, "-c", f"{code}\n{TELL}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env=os.environ | environment,
    )
    return set(json.loads(process.stdout.splitlines()[-1]))


@pytest.fixture(scope="module")
def modules() -> set[str]:
    return modules_after("import api.lambda_function")


class TestTheEntryPoint:
    @pytest.mark.parametrize("name", UNWANTED)
    def test_loads_nothing_that_no_checkout_needs(self, modules: set[str], name: str) -> None:
        assert name not in modules

    def test_loads_what_every_checkout_needs(self, modules: set[str]) -> None:
        """A first request should not pay for what the start could have loaded."""
        assert {"psycopg", "pydantic", "skincare.orders.repository", "api.schemas"} <= modules

    @pytest.mark.parametrize("function", ["api", "worker"])
    def test_leaves_the_collector_at_work_and_without_what_stays_for_good(self, function: str) -> None:
        tell = "import gc; assert gc.isenabled(); assert gc.get_freeze_count() > 10_000"
        modules_after(f"import {function}.lambda_function; {tell}")

    def test_answers_with_the_containers_app(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("api.lambda_function.get_app", lambda _: make_app())
        answer = lambda_handler(http_event("GET", "/health"), LambdaContext())
        assert (answer["statusCode"], answer["headers"]["retry-after"]) == (503, "1")

    def test_needs_no_setting_and_no_network_to_be_imported(self) -> None:
        code = "import socket; socket.socket.connect = None; import os; os.environ.clear(); import api.lambda_function"
        assert "api.lambda_function" in modules_after(code)


@pytest.fixture(scope="module")
def modules_of_a_sender() -> set[str]:
    with ScriptedService() as service:
        urls = {queue_url(name): f"{service.url}/1/{name}" for name in API.sends_to}
        modules = modules_after(
            SEND,
            **urls,
            DATABASE_URL="postgresql://app@127.0.0.1:1/shop",
            INVOICE_BUCKET="invoices",
            SERVES_CUSTOMERS="true",
            AWS_ENDPOINT_URL=service.url,
            AWS_ACCESS_KEY_ID="testing",
            AWS_SECRET_ACCESS_KEY="testing",
            AWS_REGION="ap-southeast-3",
        )
        assert len(service.requests) == 1
    return modules


class TestSendingAMessage:
    @pytest.mark.parametrize("name", UNWANTED)
    def test_loads_nothing_of_that_either(self, modules_of_a_sender: set[str], name: str) -> None:
        assert name not in modules_of_a_sender
