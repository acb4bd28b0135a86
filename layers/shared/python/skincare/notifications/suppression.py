"""To which addresses no mail is sent any more, and why.

A full mailbox is emptied some day, and an address that does not exist never takes mail: what providers call
permanent or transient tells these apart badly, the status code (RFC 3463) better.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from skincare.database.connection import Database
from skincare.notifications import repository

_PERMANENT_STATUS = re.compile(r"5\.\d{1,3}\.\d{1,3}")
_FULL = re.compile(r"[45]\.2\.2")
"""RFC 3463, 3.3: X.2.2 is "mailbox full", whatever the first digit says."""


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


def reason_to_suppress(failure: DeliveryFailure) -> str | None:
    """Return why its recipient gets no mail any more, None where the next mail may arrive."""
    if failure.kind is FailureKind.COMPLAINT:
        return "complaint"
    if failure.is_permanent:
        return "permanent bounce"
    status = failure.status or ""
    if failure.cause is not Cause.OTHER or _FULL.fullmatch(status):
        return None
    return f"bounce with status {status}" if _PERMANENT_STATUS.fullmatch(status) else None


def suppress(failures: Sequence[DeliveryFailure], *, database: Database) -> int:
    """Suppress the recipients who shall get no mail any more; return how many were not suppressed before."""
    reasons = [(failure.recipient, reason) for failure in failures if (reason := reason_to_suppress(failure))]
    if not reasons:
        return 0
    with database.connection() as conn:
        return sum(repository.suppress_recipient(conn, recipient, reason=reason) for recipient, reason in reasons)
