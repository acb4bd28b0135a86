"""What SES's refusals mean.

The codes are those of SendEmail in the SES API v2 model. SES tells by them whether to wait (throttled),
whether the account may not send at all (stopped) or whether it is this mail (undeliverable); anything else
is taken for a failure that passes. Its message texts are never repeated: they quote addresses.
"""

import re
from typing import TYPE_CHECKING, Any

from skincare.notifications.ports import (
    EmailProviderUnavailable,
    EmailSendingStopped,
    EmailThrottled,
    EmailUndeliverable,
)

if TYPE_CHECKING:
    from botocore.exceptions import BotoCoreError, ClientError

type SendFailure = EmailThrottled | EmailSendingStopped | EmailUndeliverable | EmailProviderUnavailable

NOT_FOUND = "NotFoundException"

_THROTTLED = frozenset({"TooManyRequestsException", "LimitExceededException", "ThrottlingException"})
_STOPPED = frozenset(
    {
        "SendingPausedException",
        "AccountSuspendedException",
        "MailFromDomainNotVerifiedException",
        # Of all that a SendEmail names, only the configuration set can be missing: ours, not the recipient's.
        NOT_FOUND,
        # Credentials that some services refuse with 400 instead of 403.
        "ExpiredTokenException",
        "IncompleteSignatureException",
    }
)
_UNDELIVERABLE = frozenset({"MessageRejected", "BadRequestException"})
_UNCONFIGURED = frozenset({"NoCredentialsError", "PartialCredentialsError", "NoRegionError", "InvalidRegionError"})

_TOKEN = re.compile(r"[A-Za-z0-9._-]{1,64}")


def classify(error: "BotoCoreError | ClientError") -> SendFailure:
    """Return the error of ours that a failed call of SES amounts to: code, HTTP status and request id."""
    code, status = code_of(error), status_of(error)
    if code is None:
        message = f"the mail provider could not be asked ({type(error).__name__})"
        if type(error).__name__ in _UNCONFIGURED:
            return EmailSendingStopped(message)
        return EmailProviderUnavailable(message)
    message = f"the mail provider refused with {code} (HTTP {status}, request {_request_id(error)})"
    if status == 429 or code in _THROTTLED:
        return EmailThrottled(message)
    if status in {401, 403} or code in _STOPPED:
        return EmailSendingStopped(message)
    if code in _UNDELIVERABLE:
        return EmailUndeliverable(message)
    return EmailProviderUnavailable(message)


def code_of(error: Exception) -> str | None:
    """Return SES's error code, "unknown" for one that is not a token, None where SES did not answer."""
    answer = _answer(error)
    return None if answer is None else _token(answer.get("Error", {}).get("Code"))


def status_of(error: Exception) -> int:
    """Return the HTTP status of SES's answer; 0 where there was none."""
    return int(_metadata(error).get("HTTPStatusCode", 0))


def _request_id(error: Exception) -> str:
    return _token(_metadata(error).get("RequestId"))


def _metadata(error: Exception) -> dict[str, Any]:
    metadata: dict[str, Any] = (_answer(error) or {}).get("ResponseMetadata", {})
    return metadata


def _answer(error: Exception) -> dict[str, Any] | None:
    """Return what SES answered; errors of the connection may have a `response` too, which is not one."""
    response = getattr(error, "response", None)
    return response if isinstance(response, dict) else None


def _token(value: object) -> str:
    return value if isinstance(value, str) and _TOKEN.fullmatch(value) else "unknown"
