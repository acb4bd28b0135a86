"""Sends mail through Amazon SES (API v2)."""

from datetime import UTC, datetime, timedelta
from email.utils import parseaddr
from typing import TYPE_CHECKING, Any

from skincare.adapters.aws import AwsSession, Timeouts
from skincare.adapters.ses_errors import classify
from skincare.adapters.ses_setup import setup_fault
from skincare.addresses import parse_email
from skincare.config import require
from skincare.errors import ConfigurationError, InvalidInput
from skincare.notifications.ports import (
    Email,
    EmailProviderUnavailable,
    EmailSendingStopped,
    EmailUndeliverable,
)

if TYPE_CHECKING:
    from types_boto3_sesv2 import SESV2Client

# One try per call: the job is retried, and a second try here could send a second mail within seconds.
_TIMEOUTS = Timeouts(connect=timedelta(seconds=2), read=timedelta(seconds=5))


class SesEmailSender:
    """The `EmailSender` of production. May be used by many threads at once.

    `sender` is an address with or without a name, as in `Shop <orders@example.com>`; SES must have verified
    it or its domain. Raises `ConfigurationError` where it is not an address; most functions send no mail, and a
    missing one is a `ConfigurationError` of the first use.
    """

    def __init__(self, sender: str | None, *, aws: AwsSession, configuration_set: str | None = None) -> None:
        self._sender_name, address = parseaddr(sender or "")
        try:
            self._sender = None if sender is None else parse_email(address)
        except InvalidInput as error:
            raise ConfigurationError(f"the sender of mails {error.message}") from None
        self._aws = aws
        self._configuration_set = configuration_set

    def send(self, email: Email) -> str:
        """Send one mail and return SES's message id; raises the errors of `notifications.ports`."""
        from botocore.exceptions import BotoCoreError, ClientError

        from skincare.adapters.mime import raw_message, recipient

        sender = require(self._sender, "MAIL_FROM")
        message = raw_message(email, sender=sender, sender_name=self._sender_name, date=datetime.now(UTC))
        # No FromEmailAddress: SES would put it in the place of the From header and drop the sender's name.
        request: dict[str, Any] = {
            "Destination": {"ToAddresses": [str(recipient(email))]},
            "Content": {"Raw": {"Data": message}},
        }
        if self._configuration_set is not None:
            request["ConfigurationSetName"] = self._configuration_set
        try:
            message_id = self._client().send_email(**request).get("MessageId")
        except (BotoCoreError, ClientError) as error:
            failure = classify(error)
        else:
            if message_id:
                return message_id
            failure = EmailProviderUnavailable("the mail provider answered without a message id")
        # Raised out here, so that no foreign error hangs on it as its context: those quote addresses.
        if isinstance(failure, EmailUndeliverable) and (fault := self._setup_fault()):
            raise EmailSendingStopped(f"{failure}: {fault}")
        raise failure

    def _setup_fault(self) -> str | None:
        return setup_fault(self._client(), require(self._sender, "MAIL_FROM"), self._configuration_set)

    def _client(self) -> "SESV2Client":
        client: SESV2Client = self._aws.client("sesv2", _TIMEOUTS)
        return client
