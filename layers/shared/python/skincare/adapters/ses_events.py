"""What SES tells about mails that it sent: bounces and complaints as EventBridge delivers them.

Source: "Examples of event data that Amazon SES sends to Amazon EventBridge" and "Contents of event data" in the SES
Developer Guide.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from email.utils import parseaddr
from typing import Any

from skincare.addresses import parse_email
from skincare.errors import InvalidInput, PermanentError
from skincare.notifications.suppression import Cause, DeliveryFailure, FailureKind

_CAUSES = {
    "MailboxFull": Cause.MAILBOX_FULL,
    "MessageTooLarge": Cause.THIS_MAIL,
    "ContentRejected": Cause.THIS_MAIL,
    "AttachmentRejected": Cause.THIS_MAIL,
}
_NO_COMPLAINT = "not-spam"


class MailEventMalformed(PermanentError):
    """An event that is not one of SES; the message names what is wrong and quotes nothing."""


def message_id_of(event: Any) -> str | None:
    """Return the id that SES gave the mail, as the notification has it."""
    mail = _member(_member(event, "detail"), "mail")
    found = mail.get("messageId")
    return found if isinstance(found, str) else None


def failures_in(event: Any) -> list[DeliveryFailure]:
    """Return what an event says about its recipients; nothing for a delivery and other good news.

    Raises `MailEventMalformed`.
    """
    detail = _member(event, "detail")
    match detail.get("eventType"):
        case "Bounce":
            return list(_bounces(_member(detail, "bounce")))
        case "Complaint":
            complaint = _member(detail, "complaint")
            if complaint.get("complaintFeedbackType") == _NO_COMPLAINT:
                return []
            addresses = _addresses(complaint, "complainedRecipients")
            at = _time_of(complaint)
            return [DeliveryFailure(address, FailureKind.COMPLAINT, happened_at=at) for address, _ in addresses]
        case str():
            return []
        case _:
            raise MailEventMalformed("eventType is missing")


def _bounces(bounce: Mapping[str, Any]) -> Iterator[DeliveryFailure]:
    for address, recipient in _addresses(bounce, "bouncedRecipients"):
        status = recipient.get("status")
        yield DeliveryFailure(
            address,
            FailureKind.BOUNCE,
            is_permanent=bounce.get("bounceType") == "Permanent",
            cause=_CAUSES.get(str(bounce.get("bounceSubType")), Cause.OTHER),
            status=status.strip() if isinstance(status, str) else None,
            happened_at=_time_of(bounce),
        )


def _time_of(part: Mapping[str, Any]) -> datetime | None:
    """Return when a bounce or complaint was sent; None where SES does not say so in a way that we can read."""
    try:
        moment = datetime.fromisoformat(str(part.get("timestamp")))
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def _addresses(part: Mapping[str, Any], name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    recipients = part.get(name)
    if not isinstance(recipients, list):
        raise MailEventMalformed(f"{name} is no list")
    for recipient in recipients:
        address = recipient.get("emailAddress") if isinstance(recipient, dict) else None
        if not isinstance(address, str):
            raise MailEventMalformed(f"{name} holds no address")
        try:
            yield str(parse_email(parseaddr(address)[1])), recipient
        except InvalidInput:
            raise MailEventMalformed(f"{name} holds what is no address") from None


def _member(value: Any, name: str) -> Mapping[str, Any]:
    found = value.get(name) if isinstance(value, dict) else None
    if not isinstance(found, dict):
        raise MailEventMalformed(f"{name} is no object")
    return found
