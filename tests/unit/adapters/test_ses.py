"""What SES's answers become."""

from collections.abc import Iterator
from typing import Any, ClassVar

import boto3
import pytest
from botocore.client import BaseClient
from botocore.exceptions import (
    BotoCoreError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    NoCredentialsError,
    NoRegionError,
    ReadTimeoutError,
)
from botocore.stub import ANY, Stubber

from skincare.adapters.aws import AwsSession, Timeouts
from skincare.adapters.ses import SesEmailSender
from skincare.adapters.ses_errors import SendFailure
from skincare.errors import ConfigurationError
from skincare.notifications.ports import (
    Email,
    EmailProviderUnavailable,
    EmailSendingStopped,
    EmailThrottled,
    EmailUndeliverable,
)

CANARY = "canary@example.com"
MAIL = Email(to=CANARY, to_name="Canary", subject="s", text="t\n", html="<p>h</p>\n")
VERIFIED = {"VerifiedForSendingStatus": True, "VerificationStatus": "SUCCESS"}
UNVERIFIED = {"VerifiedForSendingStatus": False, "VerificationStatus": "FAILED"}
IN_PRODUCTION = {"ProductionAccessEnabled": True}


class ScriptedSes(AwsSession):
    """Answers calls in the order in which they were announced; another call, or one too few, is an error."""

    def __init__(self, client: BaseClient) -> None:
        super().__init__()
        self._ses = client
        self.script = Stubber(client)

    def client(self, service: str, timeouts: Timeouts, *, attempts: int = 1) -> Any:
        assert (service, attempts) == ("sesv2", 1)
        return self._ses

    def refuse(self, operation: str, code: str, status: int) -> None:
        self.script.add_client_error(
            operation,
            service_error_code=code,
            service_message=f"Address is not verified: {CANARY}",
            http_status_code=status,
            response_meta={"RequestId": "request-1"},
        )

    def answer(self, operation: str, answer: dict[str, Any], **request: Any) -> None:
        self.script.add_response(operation, answer, request)


@pytest.fixture(scope="module")
def client() -> BaseClient:
    session = boto3.session.Session(
        aws_access_key_id="testing", aws_secret_access_key="testing", region_name="ap-southeast-3"
    )
    return session.client("sesv2")


@pytest.fixture
def ses(client: BaseClient) -> Iterator[ScriptedSes]:
    ses = ScriptedSes(client)
    with ses.script:
        yield ses


def failure_of(ses: ScriptedSes, *, sender: str = "orders@example.com", configuration_set: str | None = None) -> Any:
    """Send a mail that must fail; return the error, which is one of ours and says nothing personal."""
    with pytest.raises(tuple(SendFailure.__value__.__args__)) as failed:
        SesEmailSender(sender, aws=ses, configuration_set=configuration_set).send(MAIL)
    ses.script.assert_no_pending_responses()
    assert "anary" not in str(failed.value)
    assert failed.value.__context__ is None
    return failed.value


class TestARefusal:
    @pytest.mark.parametrize(
        ("code", "status"),
        [
            ("TooManyRequestsException", 429),
            ("LimitExceededException", 400),
            ("ThrottlingException", 400),
            ("AnythingAtAll", 429),
        ],
    )
    def test_for_being_too_fast_is_throttled(self, ses: ScriptedSes, code: str, status: int) -> None:
        ses.refuse("send_email", code, status)
        assert type(failure_of(ses)) is EmailThrottled

    @pytest.mark.parametrize(
        ("code", "status"),
        [
            ("SendingPausedException", 400),
            ("AccountSuspendedException", 400),
            ("MailFromDomainNotVerifiedException", 400),
            ("NotFoundException", 404),
            ("AccessDeniedException", 403),
            ("ExpiredTokenException", 403),
            ("ExpiredTokenException", 400),
            ("UnrecognizedClientException", 403),
            ("InvalidSignatureException", 403),
            ("AnythingAtAll", 401),
        ],
    )
    def test_of_the_account_or_its_configuration_stops_sending(self, ses: ScriptedSes, code: str, status: int) -> None:
        ses.refuse("send_email", code, status)
        assert type(failure_of(ses)) is EmailSendingStopped

    @pytest.mark.parametrize(
        ("code", "status"),
        [("InternalServiceErrorException", 500), ("ServiceUnavailable", 503), ("502", 502), ("SomethingNew", 400)],
    )
    def test_that_is_not_understood_is_taken_for_an_outage(self, ses: ScriptedSes, code: str, status: int) -> None:
        ses.refuse("send_email", code, status)
        assert type(failure_of(ses)) is EmailProviderUnavailable

    def test_is_told_by_code_status_and_request_id(self, ses: ScriptedSes) -> None:
        ses.refuse("send_email", "TooManyRequestsException", 429)
        expected = "the mail provider refused with TooManyRequestsException (HTTP 429, request request-1)"
        assert str(failure_of(ses)) == expected

    def test_with_a_code_that_is_no_token_is_told_without_it(self, ses: ScriptedSes) -> None:
        ses.refuse("send_email", f"Rejected {CANARY}", 400)
        assert "refused with unknown (HTTP 400" in str(failure_of(ses))


class TestARejectedMail:
    """MessageRejected and BadRequest are the mail's fault only where our own set-up is in order."""

    CODES: ClassVar = ["MessageRejected", "BadRequestException"]

    @pytest.mark.parametrize("code", CODES)
    def test_is_undeliverable_where_everything_of_ours_is_in_order(self, ses: ScriptedSes, code: str) -> None:
        ses.refuse("send_email", code, 400)
        ses.answer("get_email_identity", VERIFIED, EmailIdentity="orders@example.com")
        ses.answer("get_configuration_set", {}, ConfigurationSetName="mail")
        ses.answer("get_account", IN_PRODUCTION)
        assert type(failure_of(ses, configuration_set="mail")) is EmailUndeliverable

    @pytest.mark.parametrize("code", CODES)
    def test_stops_sending_where_neither_sender_nor_domain_is_verified(self, ses: ScriptedSes, code: str) -> None:
        ses.refuse("send_email", code, 400)
        ses.refuse("get_email_identity", "NotFoundException", 404)
        ses.answer("get_email_identity", UNVERIFIED, EmailIdentity="mail.example.com")
        ses.refuse("get_email_identity", "NotFoundException", 404)
        failure = failure_of(ses, sender="orders@mail.example.com")
        assert type(failure) is EmailSendingStopped
        assert str(failure).endswith("the sender is not verified")

    def test_is_undeliverable_where_a_parent_domain_is_verified(self, ses: ScriptedSes) -> None:
        ses.refuse("send_email", "MessageRejected", 400)
        ses.refuse("get_email_identity", "NotFoundException", 404)
        ses.refuse("get_email_identity", "NotFoundException", 404)
        ses.answer("get_email_identity", VERIFIED, EmailIdentity="example.com")
        ses.answer("get_account", IN_PRODUCTION)
        assert type(failure_of(ses, sender="orders@mail.example.com")) is EmailUndeliverable

    @pytest.mark.parametrize("code", CODES)
    def test_stops_sending_where_the_configuration_set_is_gone(self, ses: ScriptedSes, code: str) -> None:
        ses.refuse("send_email", code, 400)
        ses.answer("get_email_identity", VERIFIED, EmailIdentity="orders@example.com")
        ses.refuse("get_configuration_set", "NotFoundException", 404)
        failure = failure_of(ses, configuration_set="mail")
        assert type(failure) is EmailSendingStopped
        assert str(failure).endswith("the configuration set does not exist")

    def test_stops_sending_where_the_account_is_still_in_the_sandbox(self, ses: ScriptedSes) -> None:
        ses.refuse("send_email", "MessageRejected", 400)
        ses.answer("get_email_identity", VERIFIED, EmailIdentity="orders@example.com")
        ses.answer("get_account", {"ProductionAccessEnabled": False})
        failure = failure_of(ses)
        assert type(failure) is EmailSendingStopped
        assert str(failure).endswith("the account is in the sandbox")

    def test_stops_sending_where_we_may_not_ask(self, ses: ScriptedSes) -> None:
        ses.refuse("send_email", "MessageRejected", 400)
        ses.refuse("get_email_identity", "AccessDeniedException", 403)
        assert type(failure_of(ses)) is EmailSendingStopped

    @pytest.mark.parametrize(
        ("code", "status", "expected"),
        [
            ("TooManyRequestsException", 429, EmailThrottled),
            ("InternalServiceErrorException", 500, EmailProviderUnavailable),
        ],
    )
    def test_is_not_given_up_while_ses_does_not_answer(
        self, ses: ScriptedSes, code: str, status: int, expected: type
    ) -> None:
        ses.refuse("send_email", "MessageRejected", 400)
        ses.refuse("get_email_identity", code, status)
        assert type(failure_of(ses)) is expected

    def test_is_undeliverable_where_ses_has_nothing_to_say_about_us(self, ses: ScriptedSes) -> None:
        """An emulator that lacks these calls: SES's own word stands."""
        ses.refuse("send_email", "MessageRejected", 400)
        ses.refuse("get_email_identity", "404", 404)
        ses.refuse("get_account", "BadRequestException", 400)
        assert type(failure_of(ses)) is EmailUndeliverable


class TestNoAnswer:
    @pytest.mark.parametrize(
        ("error", "expected"),
        [
            (EndpointConnectionError(endpoint_url=f"https://{CANARY}"), EmailProviderUnavailable),
            (ConnectTimeoutError(endpoint_url=f"https://{CANARY}"), EmailProviderUnavailable),
            (ReadTimeoutError(endpoint_url=f"https://{CANARY}"), EmailProviderUnavailable),
            (HTTPClientError(error=CANARY, response=object()), EmailProviderUnavailable),
            (NoCredentialsError(), EmailSendingStopped),
            (NoRegionError(), EmailSendingStopped),
        ],
    )
    def test_is_an_outage_unless_nothing_is_configured(
        self, ses: ScriptedSes, monkeypatch: pytest.MonkeyPatch, error: BotoCoreError, expected: type
    ) -> None:
        def fail(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr(ses, "client", fail)
        failure = failure_of(ses)
        assert type(failure) is expected
        assert type(error).__name__ in str(failure)

    def test_without_an_id_is_not_taken_for_a_sent_mail(self, ses: ScriptedSes) -> None:
        ses.answer("send_email", {}, Destination=ANY, Content=ANY)
        assert type(failure_of(ses)) is EmailProviderUnavailable


class TestTheRequest:
    def test_names_one_recipient_and_leaves_the_sender_to_its_header(self, ses: ScriptedSes) -> None:
        """FromEmailAddress would replace the From header, and the sender's name with it."""
        ses.answer(
            "send_email",
            {"MessageId": "id-1"},
            Destination={"ToAddresses": [CANARY]},
            Content=ANY,
            ConfigurationSetName="mail",
        )
        assert SesEmailSender("Shop <orders@example.com>", aws=ses, configuration_set="mail").send(MAIL) == "id-1"

    def test_waits_two_seconds_for_a_connection_and_five_for_an_answer_and_tries_once(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("AWS_DEFAULT_REGION", "ap-southeast-3")
        config: Any = SesEmailSender("orders@example.com", aws=AwsSession())._client().meta.config
        assert (config.connect_timeout, config.read_timeout) == (2, 5)
        assert config.retries["total_max_attempts"] == 1
        assert config.max_pool_connections >= 10


class TestTheSender:
    @pytest.mark.parametrize("sender", ["", "Shop", "jörg@example.com", "Shop <>", "a@example.com, b@example.com"])
    def test_must_be_an_address(self, sender: str) -> None:
        with pytest.raises(ConfigurationError):
            SesEmailSender(sender, aws=AwsSession())
