"""What is written down about a confirmation: the order's number, and nothing about its customer.

Canaries stand in every personal field, and everybody logs at DEBUG.
"""

import contextlib
import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from skincare.adapters.aws import AwsSession
from skincare.adapters.ses import SesEmailSender
from skincare.errors import TransientError
from skincare.identifiers import OrderNumber
from skincare.notifications.ports import (
    EmailProviderUnavailable,
    EmailSendingStopped,
    EmailThrottled,
    EmailUndeliverable,
)
from skincare.observability import describe, logger
from tests.support.aws import LONG_TIMEOUTS, aws, aws_endpoint
from tests.support.confirmation_bench import ConfirmationBench, bench

__all__ = ["aws", "aws_endpoint", "bench"]

CANARIES = ("canary.address", "Canaryname", "Canarystreet", "Canarynote")


class Log:
    def __init__(self) -> None:
        self.text = io.StringIO()

    def events(self) -> list[tuple[str, str, str]]:
        """Return level, event and order number of each line of ours."""
        lines: list[dict[str, Any]] = [json.loads(line) for line in self.text.getvalue().splitlines()]
        ours = [line for line in lines if str(line["message"]).startswith("email.")]
        return [(line["level"], line["message"], line["order_number"]) for line in ours]


@pytest.fixture
def log() -> Iterator[Log]:
    """Everything that anybody logs, at every level."""
    log = Log()
    handler = logging.StreamHandler(log.text)
    handler.setFormatter(logger.registered_formatter)
    root, ours = logging.getLogger(), logging.getLogger(logger.service)
    levels = root.level, ours.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    ours.setLevel(logging.DEBUG)
    yield log
    root.removeHandler(handler)
    root.setLevel(levels[0])
    ours.setLevel(levels[1])


def make_order(bench: ConfirmationBench) -> OrderNumber:
    return bench.order(
        email="canary.address@example.com",
        recipient_name="Canaryname",
        shipping_address="Canarystreet 1",
        note="Canarynote",
    )


class TestTheLog:
    @pytest.mark.parametrize(
        ("failure", "level", "event"),
        [
            (None, "INFO", "email.sent"),
            (EmailUndeliverable("refused"), "WARNING", "email.undeliverable"),
            (EmailSendingStopped("paused"), "ERROR", "email.sending_stopped"),
        ],
    )
    def test_of_a_send_tells_the_order(
        self, bench: ConfirmationBench, log: Log, failure: Exception | None, level: str, event: str
    ) -> None:
        number = make_order(bench)
        if failure:
            bench.mail.fail_next(failure)
        with contextlib.suppress(TransientError):
            bench.confirm(number)
        assert log.events() == [(level, event, number)]
        assert not any(canary in log.text.getvalue() for canary in CANARIES)

    @pytest.mark.parametrize("failure", [EmailThrottled("slow"), EmailProviderUnavailable("503"), RuntimeError("bug")])
    def test_of_a_passing_failure_is_left_to_the_runner(
        self, bench: ConfirmationBench, log: Log, failure: Exception
    ) -> None:
        """It logs every retry; an alarm for a passing state would only wake people up."""
        bench.mail.fail_next(failure)
        with pytest.raises(type(failure)):
            bench.confirm(make_order(bench))
        assert log.events() == []

    def test_of_a_job_without_a_mail_tells_why(self, bench: ConfirmationBench, log: Log) -> None:
        cancelled, suppressed, gone = make_order(bench), make_order(bench), OrderNumber("SKN-00000-00000")
        bench.set_status(cancelled, "cancelled")
        bench.suppress("canary.address@example.com")
        for number in (cancelled, suppressed, gone):
            bench.confirm(number)
        assert log.events() == [
            ("INFO", "email.not_sent", cancelled),
            ("WARNING", "email.undeliverable", suppressed),
            ("WARNING", "email.order_gone", gone),
        ]
        assert not any(canary in log.text.getvalue() for canary in CANARIES)


class TestTheProvidersWords:
    """moto, as SES does, names the sender's address in its refusal; here it is a canary too."""

    @pytest.fixture(autouse=True)
    def _verified(self, aws: AwsSession) -> None:
        aws.client("sesv2", LONG_TIMEOUTS).create_email_identity(EmailIdentity="canary.address@verified.example")

    def test_do_not_reach_log_or_error(self, bench: ConfirmationBench, log: Log, aws: AwsSession) -> None:
        sender = SesEmailSender("Canaryname <canary.address@unverified.example>", aws=aws)
        with pytest.raises(EmailSendingStopped) as stopped:
            bench.confirm(make_order(bench), sender)
        written = log.text.getvalue() + describe(stopped.value) + repr(stopped.value)
        assert "MessageRejected" in written
        assert not any(canary in written for canary in CANARIES)

    def test_of_thanks_do_not_either(self, bench: ConfirmationBench, log: Log, aws: AwsSession) -> None:
        number = make_order(bench)
        bench.confirm(number, SesEmailSender("Canaryname <canary.address@verified.example>", aws=aws))
        assert log.events() == [("INFO", "email.sent", number)]
        assert not any(canary in log.text.getvalue() for canary in CANARIES)
