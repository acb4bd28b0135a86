"""Whether our own set-up at SES is why it refuses a mail.

SES answers MessageRejected for a virus in this mail and also for a sender or, in the sandbox, a recipient that
nobody verified; it answers BadRequest for a malformed mail and also for a configuration set that was deleted.
Only its message text tells them apart, so after a refusal we ask SES about ourselves: a mail is given up only
when our set-up is in order.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from skincare.adapters.ses_errors import NOT_FOUND, classify, code_of, status_of
from skincare.addresses import EmailAddress
from skincare.notifications.ports import EmailProviderUnavailable, EmailUndeliverable

if TYPE_CHECKING:
    from types_boto3_sesv2 import SESV2Client


def setup_fault(client: "SESV2Client", sender: EmailAddress, configuration_set: str | None) -> str | None:
    """Return what keeps this account from mailing anybody, or None.

    Needs ses:GetEmailIdentity, ses:GetConfigurationSet and ses:GetAccount. Raises `EmailSendingStopped` where they
    are not granted, `EmailThrottled` and `EmailProviderUnavailable` as sending does.
    """
    if not _is_verified(client, sender):
        return "the sender is not verified"
    if configuration_set is not None:
        answer = _ask(client.get_configuration_set, ConfigurationSetName=configuration_set)
        if answer is None:
            return "the configuration set does not exist"
    account = _ask(client.get_account)
    if account is not None and account.get("ProductionAccessEnabled") is False:
        return "the account is in the sandbox"
    return None


def _is_verified(client: "SESV2Client", sender: EmailAddress) -> bool:
    """Tell whether the address, its domain or a parent domain is verified: any of them is enough for SES."""
    for identity in _identities(sender):
        answer = _ask(client.get_email_identity, EmailIdentity=identity)
        if answer is None:
            continue
        if answer.get("VerifiedForSendingStatus", True) or answer.get("VerificationStatus") == "SUCCESS":
            return True
    return False


def _identities(sender: EmailAddress) -> list[str]:
    labels = sender.domain.split(".")
    return [str(sender), *(".".join(labels[start:]) for start in range(len(labels) - 1))]


def _ask(operation: Callable[..., Mapping[str, Any]], **request: str) -> Mapping[str, Any] | None:
    """Return SES's answer, None where what was asked about does not exist, and nothing in it where SES will not say."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        return operation(**request)
    except (BotoCoreError, ClientError) as error:
        if code_of(error) == NOT_FOUND:
            return None
        failure = classify(error)
        says_nothing = isinstance(failure, EmailUndeliverable | EmailProviderUnavailable)
        if 400 <= status_of(error) < 500 and says_nothing:
            return {}
    raise failure
