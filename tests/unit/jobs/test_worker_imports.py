"""What a cold start of a worker loads: the mail's template engine and the AWS SDK wait for the first mail."""

import json
import subprocess
import sys

import pytest

TELL = "import json, sys; print(json.dumps(sorted(sys.modules)))"
UNWANTED = [
    "boto3",
    "botocore.session",
    "jinja2",
    "urllib3",
    "aws_xray_sdk",
    "reportlab",
    "hypothesis",
    "aws_lambda_powertools.event_handler",
    "aws_lambda_powertools.utilities.batch",
    "aws_lambda_powertools.utilities.parser",
]


@pytest.fixture(scope="module")
def modules() -> set[str]:
    process = subprocess.run(
        [sys.executable, "-c", f"import worker.lambda_function\n{TELL}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return set(json.loads(process.stdout.splitlines()[-1]))


class TestTheEntryPointOfAWorker:
    @pytest.mark.parametrize("name", UNWANTED)
    def test_loads_nothing_before_the_first_mail_needs_it(self, modules: set[str], name: str) -> None:
        assert name not in modules

    def test_loads_what_every_batch_needs(self, modules: set[str]) -> None:
        assert {"psycopg", "pydantic", "skincare.jobs.worker", "skincare.notifications.service"} <= modules

    def test_loads_nothing_that_draws_documents_for_a_mail_or_a_payment(self) -> None:
        """Only the containers of one queue make documents."""
        code = (
            "import worker.lambda_function, skincare.payments.service, skincare.invoices.service;"
            "from skincare.notifications.order_mail import _environment; _environment();"
            "from skincare.adapters.aws import AwsSession; from skincare.adapters.s3 import S3ObjectStore;"
            "S3ObjectStore('files', aws=AwsSession())"
        )
        process = subprocess.run(
            [sys.executable, "-c", f"{code}\n{TELL}"], capture_output=True, text=True, timeout=120, check=True
        )
        loaded = set(json.loads(process.stdout.splitlines()[-1]))
        assert loaded.isdisjoint({"reportlab", "PIL", "boto3"})
