"""To which addresses no mail is sent any more, and why.

A full mailbox is emptied some day, an address that does not exist never takes mail, and a mail that is refused
because of us says nothing about its recipient: what providers call permanent or transient tells these apart badly, the
status code better.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from skincare.database.connection import Database
from skincare.notifications import repository
from skincare.notifications.delivery_status import About, about


class FailureKind(StrEnum):
    """What came back."""

    BOUNCE = "bounce"
    COMPLAINT = "complaint"


class Cause(StrEnum):
    """What the provider says about the reason, as far as it matters here."""

    OTHER = "other"
    MAILBOX_FULL = "mailbox_full"
    THIS_MAIL = "this_mail"
    """Its size, content or attachments were refused: another mail may be taken."""


@dataclass(frozen=True)
class DeliveryFailure:
    """That one recipient did not get a mail, or did not want it. `status` is as in RFC 3463, such as `5.1.1`."""

    recipient: str = field(repr=False)
    kind: FailureKind
    is_permanent: bool = False
    """The provider's own word."""
    cause: Cause = Cause.OTHER
    status: str | None = None
    happened_at: datetime | None = None
    """When the bounce or complaint was sent, with its zone."""


def reason_to_suppress(failure: DeliveryFailure) -> str | None:
    """Return why its recipient gets no mail any more, None where the next mail may arrive.

    The provider's "permanent" counts, unless the status says that we are the reason.
    """
    if failure.kind is FailureKind.COMPLAINT:
        return "complaint"
    what = about(failure.status)
    if what is About.US:
        return None
    if failure.is_permanent:
        return "permanent bounce"
    if failure.cause is Cause.OTHER and what is About.ADDRESS:
        return f"bounce with status {failure.status}"
    return None


def is_our_fault(failure: DeliveryFailure) -> bool:
    """Tell whether a mail came back because of us or of the way that it took: others will follow it."""
    if failure.kind is not FailureKind.BOUNCE:
        return False
    match about(failure.status):
        case About.US:
            return True
        case About.THE_WAY:
            return failure.cause is Cause.OTHER and not failure.is_permanent
        case _:
            return False


def suppress(failures: Sequence[DeliveryFailure], *, database: Database) -> int:
    """Suppress the recipients who shall get no mail any more; return how many were not suppressed before."""
    reasons = [(failure, reason) for failure in failures if (reason := reason_to_suppress(failure))]
    if not reasons:
        return 0
    with database.connection() as conn:
        return sum(
            repository.suppress_recipient(conn, failure.recipient, reason=reason, happened_at=failure.happened_at)
            for failure, reason in reasons
        )
